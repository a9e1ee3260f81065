"""Diagnosing from stacked blocks in memory: what `verify` finds, without a call per case or a file.

The core vectors are loaded once, and which cases of one of their blocks catch a variant is found once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from grucible import Question, Report
from grucible.cases.dtypes import Arrays
from grucible.cases.operators.known import OPERATORS
from grucible.check.diagnosis.contradictions import Passing
from grucible.check.diagnosis.diagnose import diagnose
from grucible.check.diagnosis.failing import FailingBlock
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.judging.grade import Grade
from grucible.check.judging.judge import judge_block
from grucible.check.observed.source import Observed
from grucible.check.reports.json import report_json
from grucible.gen.variants.evaluate import catches, stacks_of, variant_outputs
from grucible.gen.variants.known import variant_called
from grucible.vectors.block import Block
from grucible.vectors.find import find_vectors
from grucible.vectors.reader import open_vectors

Array = npt.NDArray[Any]
CORE_THEMES = ("*/core*/*",)
BlockRuntime = Callable[[Block], Mapping[str, Array]]
"""What gives the stacked outputs of a whole block."""


@cache
def core_blocks(operator: str, dtype: str) -> tuple[Block, ...]:
    """The blocks of the core vectors of an operator and dtype, but for the plain questions; those of larger
    sizes last."""
    found: list[Block] = []
    for file, relative in find_vectors(None, CORE_THEMES):
        with open_vectors(file, relative) as vectors:
            if vectors.operator == operator and vectors.theme.startswith("core"):
                stored = [block for block in vectors.blocks() if block.dtype == dtype]
                found += [block.read(0, len(block)) for block in stored]
    return tuple(sorted(found, key=lambda block: "i17" in block.ids[0]))


def report_on(blocks: Sequence[Block], run: BlockRuntime) -> Report:
    """The report on a runtime of whole blocks, its diagnosis included."""
    criteria = chosen_criteria()
    grades: dict[str, Grade] = {}
    results, failing, passed = [], [], []
    for block in blocks:
        outputs = dict(run(block))
        observed = Observed(["ok"] * len(block), [""] * len(block), outputs)
        grade = grades.setdefault(block.dtype, Grade(block.dtype, criteria[block.dtype]))
        found = judge_block(block.path, block, observed, grade)
        results += found
        wrong = np.array([r.decides and r.verdict == "failed" for r in found])
        if wrong.any():
            given = {name: array[wrong] for name, array in outputs.items()}
            failing.append(FailingBlock(block.rows(wrong), given, criteria[block.dtype]))
        right = np.array([r.decides and r.verdict == "passed" for r in found])
        passed.append((block, right))
    held = {r.id: r.arithmetic for r in results if r.verdict == "failed"}
    diagnosis = diagnose(failing, held, InMemory(passed))
    report = Report(
        runtime="in memory",
        runtime_version="",
        vectors="the core vectors",
        origins={},
        grades=grades,
        results=results,
        diagnosis=diagnosis,
    )
    assert json.loads(report_json(report))  # of whatever numbers a finding has
    return report


class InMemory(Passing):
    """The cases of core blocks that passed; which of them catch a variant is known from other runs."""

    def __init__(self, passed: Sequence[tuple[Block, Array]]) -> None:
        super().__init__(())
        self._whole = [(block, right) for block, right in passed if right.any()]
        for block, right in self._whole:
            self.counts[block.dtype] += int(right.sum())

    @cached_property
    def blocks(self) -> list[Block]:
        """The cases that passed."""
        return [block.rows(right) for block, right in self._whole]

    def caught(self, names: Collection[str]) -> dict[str, list[Array]]:
        """By name of a variant, and of each of `blocks`, which cases would have caught it."""
        found: dict[str, list[Array]] = {}
        for name in names:
            masks = [_caught(block.operator, block.path, name) for block, _ in self._whole]
            found[name] = [
                np.zeros(int(right.sum()), bool) if caught is None else caught[right]
                for (_, right), caught in zip(self._whole, masks, strict=True)
            ]
        return found


@cache
def _caught(operator: str, path: str, name: str) -> Array | None:
    """(n,) which cases of a core block catch a variant; None where it means nothing there."""
    [block] = [b for b in core_blocks(operator, path.partition("/")[0]) if b.path == path]
    found = [caught for _, caught in catches(block, {name})]
    return found[0] if found else None


def selected(blocks: Iterable[Block], glob: str) -> list[Block]:
    """The cases of blocks whose ids match, without the blocks that have none."""
    masks = [(block, np.array([fnmatchcase(i, glob) for i in block.ids])) for block in blocks]
    return [block.rows(mask) for block, mask in masks if mask.any()]


def variants_run(*names: str) -> BlockRuntime:
    """A runtime that is wrong in the way of those of some variants that mean something for it.

    It computes all of them at once, in float64, and rounds to float32 at the end.
    """

    def run(block: Block) -> Arrays:
        operator = OPERATORS[block.operator]
        meant = [v for v in map(variant_called, names) if v.means_something_for(operator)]
        found = variant_outputs(block, stacks_of(block), [meant])
        with np.errstate(over="ignore"):
            return {
                name: array[0].astype(np.float32).astype(block.answer.outputs[name].dtype)
                for name, array in found.items()
            }

    return run


def by_question(run: Callable[[Question], Mapping[str, Array]]) -> BlockRuntime:
    """A runtime of questions, asked every question of a block."""

    def whole(block: Block) -> Arrays:
        rows = [run(question) for question in block.questions()]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    return whole


def names(report: Report) -> set[tuple[str, ...]]:
    """Everything the diagnosis names, alternatives included."""
    return {
        named
        for finding in report.diagnosis.findings
        for named in (finding.names, *finding.alternatives)
    }
