"""What is told of a wrong GRU is scored by what is true of it, and the page says how."""

from __future__ import annotations

import json

import pytest

from .run import KEPT, PAGE, page
from .said import Said
from .score import Mark, mark
from .told import Sentence, Told

SAID = Said(("clip ignored", "R transposed"), also=("R of z transposed",))
ONE_PLACE = Said(("B ignored",), place="in the last row")


def told(*sentences: Sentence, hints: tuple[str, ...] = ()) -> Told:
    return Told(failed=9, unexplained=0, sentences=sentences, hints=hints)


def sure(text: str, *others: str, where: str = "") -> Sentence:
    return Sentence(text, certain=True, explains=9, others=others, where=where)


def perhaps(text: str) -> Sentence:
    return Sentence(text, certain=False, explains=9)


@pytest.mark.parametrize(
    ("said", "what", "expected"),
    [
        (SAID, told(sure("clip ignored; and R transposed")), "right"),
        (SAID, told(sure("clip ignored"), sure("R transposed")), "right"),
        (SAID, told(sure("clip ignored")), "in part"),
        (SAID, told(sure("clip ignored"), perhaps("R transposed")), "in part"),
        (SAID, told(perhaps("clip ignored; and R transposed")), "in part"),
        (SAID, told(perhaps("B ignored")), "silent"),
        (SAID, told(), "silent"),
        (SAID, told(sure("B ignored")), "wrong"),
        (SAID, told(sure("clip ignored"), sure("B ignored")), "wrong"),
        # a part that is not true, and what may be as well
        (SAID, told(sure("clip ignored; and B ignored")), "wrong"),
        (SAID, told(sure("clip ignored; and B ignored", "B ignored; and clip ignored")), "wrong"),
        (SAID, told(sure("B ignored", "clip ignored; and R of z transposed")), "in part"),
        # a place, in a finding or as what is known of the unexplained
        (ONE_PLACE, told(sure("B ignored", where="in the last row")), "right"),
        (ONE_PLACE, told(hints=("steps go wrong only in the last row",)), "right"),
        (ONE_PLACE, told(hints=("steps go wrong only in reverse",)), "silent"),
    ],
)  # fmt: skip
def test_marks(said: Said, what: Told, expected: Mark) -> None:
    assert mark(what, said) == expected


def test_an_expression_may_say_that_nothing_stands_behind_it() -> None:
    assert mark(told(sure("R transposed")), Said((r"R transposed$",))) == "right"


def test_the_page_is_that_of_what_was_kept() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert "\n".join(page(kept)) + "\n" == PAGE.read_text(encoding="utf-8")
