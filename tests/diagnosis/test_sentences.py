"""What a right diagnosis says is written down for every wrong GRU, in expressions that tell sentences apart."""

from __future__ import annotations

import re

import pytest

from grucible.cases.operators.known import OPERATORS
from grucible.gen.variants.catalogue import CATALOGUE
from grucible.gen.variants.known import UNLISTED as BEYOND

from .heldout import HELD_OUT
from .last import LAST
from .listed import LISTED
from .sentences import SENTENCES
from .sentences_beyond import (
    SAID_OF_PRECISION,
    SAID_OF_SEVERAL,
    SAID_OF_SOMEWHERE,
)
from .sentences_heldout import SAID_OF_HELD_OUT
from .sentences_last import SAID_OF_LAST
from .sentences_listed import SAID_OF_LISTED
from .sentences_unlisted import SAID_OF_ADDRESSING, SAID_OF_FORMULAS
from .unlisted import UNLISTED
from .wrong_gru import WrongGru

EVERYONE = [*UNLISTED, *LISTED, *HELD_OUT, *LAST]
MOST_SENTENCES = 3
"""A mistake is told by no more of the sentences that have no number than this."""


def matched(pattern: str, operator: str) -> list[str]:
    """The sentences without a number, in an operator's words, that a regular expression is found in."""
    found = re.compile(pattern, re.IGNORECASE)
    known = (*CATALOGUE.values(), *BEYOND.values())
    words = OPERATORS[operator]
    told = [one.about_for(words) for one in known if one.means_something_for(words)]
    return [sentence for sentence in dict.fromkeys(told) if found.search(sentence)]


def test_every_wrong_gru_has_sentences() -> None:
    assert set(SENTENCES) == {wrong.name for wrong in EVERYONE}
    assert set(SAID_OF_LISTED) == {wrong.name for wrong in LISTED}
    groups = (
        SAID_OF_FORMULAS,
        SAID_OF_ADDRESSING,
        SAID_OF_SEVERAL,
        SAID_OF_SOMEWHERE,
        SAID_OF_PRECISION,
        SAID_OF_HELD_OUT,
        SAID_OF_LAST,
    )
    assert sum(map(len, (*groups, SAID_OF_LISTED))) == len(SENTENCES)


@pytest.mark.parametrize("wrong", EVERYONE, ids=lambda wrong: wrong.name)
def test_one_expression_for_each_mistake(wrong: WrongGru) -> None:
    said = SENTENCES[wrong.name]
    assert len(said.mistakes) == len(wrong.mistakes)
    assert bool(said.place) or wrong.kind not in ("place", "data")
    for pattern in (*said.mistakes, *said.also, *([said.place] if said.place else [])):
        assert not re.search(pattern, ""), f"{pattern!r} is found in any sentence"


@pytest.mark.parametrize("wrong", EVERYONE, ids=lambda wrong: wrong.name)
def test_a_mistake_is_told_by_few_sentences(wrong: WrongGru) -> None:
    for pattern in SENTENCES[wrong.name].mistakes:
        told = matched(pattern, wrong.operator)
        assert len(told) <= MOST_SENTENCES, told
        assert told or wrong not in LISTED, f"no sentence has {pattern!r}"


def test_mistakes_of_one_wrong_gru_are_told_apart() -> None:
    for wrong in LISTED:
        told = [set(matched(one, wrong.operator)) for one in SENTENCES[wrong.name].mistakes]
        assert sum(map(len, told)) == len(set().union(*told)), wrong.name
