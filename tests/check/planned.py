"""Vectors with two cases of everything that may be found of one, and a source that says so by their ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

from judged import judge_source

from grucible import Question, Report
from grucible.check.judging.expectations import Expectation
from grucible.check.protocol.header import Reply, Status

from .made import make_block, name_of, write_vectors
from .numpy_gru import run

# What may be true of a case, by a word of its id. `expected` is what the expectations name.
KINDS = (
    "passed",
    "failed",
    "error",
    "missing",
    "unsupported",
    "expected-failed",
    "expected-error",
    "expected-passed",
    "nonportable-failed",
    "nonportable-missing",
)
EXPECTATIONS = [Expectation("*/expected-*", "known", "https://example.org/1")]


class Planned:
    """A source of which every id says what comes of its case.

    What fails is off by the number at the end of its id.
    """

    name, version = "planned", "1.0"

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        for question in questions:
            name = name_of(question.id)
            word = name.split("/")[0].split("-")[-1]
            outputs = run(question)
            if word == "failed":
                outputs["Ho"] = outputs["Ho"] + int(name[-1])
            status: Any = word if word in get_args(Status) else "ok"
            yield Reply(status, outputs if status == "ok" else {}, f"about {name}")

    def close(self) -> None:
        pass


def write_all_kinds(path: Path) -> Path:
    """A vector file with two cases of every kind."""
    ids = [f"{kind}/{number}" for kind in KINDS for number in (1, 2)]
    special = [case_id for case_id in ids if case_id.startswith("nonportable")]
    write_vectors(
        path,
        make_block(sorted(set(ids) - set(special))),
        make_block(sorted(special), tier="nonportable"),
    )
    return path


def judged(path: Path, present: set[str]) -> Report:
    select = [f"*/made/*/{kind}/*" for kind in present]
    return judge_source(path, Planned(), select, expectations=EXPECTATIONS, diagnose=False)
