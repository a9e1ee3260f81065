"""Vectors with two cases of everything that may be found of one, and a source that says so by their ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import get_args

from grucible import Report
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.judging.expectations import Expectation
from grucible.check.observed.source import Observed, Status
from grucible.check.verdict import judge
from grucible.vectors.block import Block
from grucible.vectors.reader import VectorFile

from .made import make_block, name_of, write_vectors

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
REQUIRED = chosen_criteria()


class Planned:
    """A source of observed outputs in which every id says what comes of its case.

    What fails is off by the number at the end of its id.
    """

    name, version = "planned", "1.0"
    needs_inputs = True
    ahead = 1

    def check_blocks(self, vectors: VectorFile) -> None:
        """Any blocks will do."""

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """Any ids will do."""

    def ask(self, relative: str, block: Block) -> Callable[[], Observed]:  # noqa: ARG002
        return partial(self._observed, block)

    def _observed(self, block: Block) -> Observed:
        names = [name_of(case_id) for case_id in block.ids]
        words = [name.split("/")[0].split("-")[-1] for name in names]
        outputs = {name: array.copy() for name, array in block.answer.outputs.items()}
        for row, word in enumerate(words):
            if word == "failed":
                outputs["Ho"][row] += int(names[row][-1])
        status = [word if word in get_args(Status) else "ok" for word in words]
        return Observed(status, [f"about {name}" for name in names], outputs)  # type: ignore[arg-type]


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
    return judge(path, Planned(), REQUIRED, select, EXPECTATIONS, diagnosis=False)
