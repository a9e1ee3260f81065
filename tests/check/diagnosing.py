"""Diagnosing from stacked blocks in memory: what `verify` finds, without a call per case or a file.

The core vectors are loaded once, and which cases of one of their blocks catch a variant is found once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from grucible import Question, Report
from grucible.cases.dtypes import Arrays
from grucible.cases.operators.known import OPERATORS
from grucible.check.diagnosis.diagnose import diagnose
from grucible.check.diagnosis.failing import FailingBlock
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.judging.grade import Grade
from grucible.check.judging.judge import judge_block
from grucible.check.observed.source import Observed
from grucible.gen.variants.catalogue import CATALOGUE, variants_of
from grucible.gen.variants.evaluate import catches, stacks_of, variant_outputs
from grucible.vectors.block import Block
from grucible.vectors.find import find_vectors
from grucible.vectors.reader import open_vectors

Array = npt.NDArray[Any]
CORE_THEMES = ("*/core*/*",)
BlockRuntime = Callable[[Block], Mapping[str, Array]]
"""What gives the stacked outputs of a whole block."""


@cache
def core_blocks(operator: str, dtype: str) -> tuple[Block, ...]:
    """The blocks of the core vectors of an operator and dtype, but for the plain questions."""
    found: list[Block] = []
    for file, relative in find_vectors(None, CORE_THEMES):
        with open_vectors(file, relative) as vectors:
            if vectors.operator == operator and vectors.theme.startswith("core"):
                stored = [block for block in vectors.blocks() if block.dtype == dtype]
                found += [block.read(0, len(block)) for block in stored]
    return tuple(found)


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
    diagnosis = diagnose(failing, held, lambda names: contradicted(passed, names))
    return Report(
        runtime="in memory",
        runtime_version="",
        vectors="the core vectors",
        origins={},
        grades=grades,
        results=results,
        diagnosis=diagnosis,
    )


def contradicted(passed: Iterable[tuple[Block, Array]], names: Collection[str]) -> Counter[str]:
    """By name of a variant, how many of the cases that passed would have caught it."""
    found: Counter[str] = Counter()
    for block, right in passed:
        for name in names:
            caught = _caught(block.operator, block.path, name)
            found[name] += 0 if caught is None else int((caught & right).sum())
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
        known = variants_of(OPERATORS[block.operator])
        meant = [CATALOGUE[name] for name in names if CATALOGUE[name] in known]
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
