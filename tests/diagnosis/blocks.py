"""Diagnose from stacked blocks in memory: what `verify` finds, without a call per case or a file.

The core vectors are loaded once, and which cases of one of their blocks catch a variant is found once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, cached_property

import numpy as np
import shipped
from diagnosis.wrong import THEMES

from grucible import Report
from grucible.cases.dtypes import Array, Arrays
from grucible.cases.operators import OPERATORS
from grucible.check.diagnosis.contradictions import Passing
from grucible.check.diagnosis.diagnose import diagnose
from grucible.check.diagnosis.failing import failing_blocks
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.judging.grade import Grade
from grucible.check.judging.judge import judge_block
from grucible.check.observed.source import Observed
from grucible.check.reports.formats import report_json
from grucible.gen.variants.evaluate import catches, stacks_of, variant_outputs
from grucible.gen.variants.known import variant_called
from grucible.vectors.block import Block

BlockRuntime = Callable[[Block], Mapping[str, Array]]
"""What gives the stacked outputs of a whole block."""


@cache
def core_blocks(operator: str, dtype: str = "float32") -> tuple[Block, ...]:
    """List an operator's blocks of a dtype of THEMES, without the plain questions; larger sizes come last."""
    themes = tuple(f"{operator}/{theme}/" for theme in THEMES if theme.startswith("core"))
    found = [block for block in shipped.core_blocks() if block.ids[0].startswith(themes)]
    some = [block for block in found if block.dtype == dtype]
    return tuple(sorted(some, key=lambda block: "i17" in block.ids[0]))


def report_on(blocks: Sequence[Block], run: BlockRuntime) -> Report:
    """Judge a runtime of whole blocks, and diagnose it."""
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
            failing += failing_blocks(block.rows(wrong), given, criteria[block.dtype])
        passed.append((block, np.array([r.decides and r.verdict == "passed" for r in found])))
    arithmetic = {r.id: r.arithmetic for r in results if r.verdict == "failed"}
    report = Report(
        runtime="in memory",
        runtime_version="",
        vectors="the core vectors",
        origins={},
        grades=grades,
        results=results,
        diagnosis=diagnose(failing, arithmetic, InMemory(passed)),
    )
    assert json.loads(report_json(report))  # infinite numbers are written as text
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
        """Find, for each variant and each of `blocks`, which cases would have caught it."""
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
    blocks = core_blocks(operator, path.partition("/")[0])
    [block] = [one for one in blocks if one.path == path]
    found = [caught for _, caught in catches(block, {name})]
    return found[0] if found else None


def variants_run(*names: str) -> BlockRuntime:
    """Make a runtime that is wrong in the way of some variants at once, rounding to float32 at the end."""

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


def changed(
    change: Callable[[Array, Array, np.random.Generator], Array], run: BlockRuntime | None = None
) -> BlockRuntime:
    """Make a runtime whose outputs are changed: of each, given what `run` gives, the answer and randomness."""

    def whole(block: Block) -> Arrays:
        rng, right = np.random.default_rng(3), block.answer.outputs
        given = run(block) if run else right
        return {
            name: np.asarray(change(given[name].copy(), right[name], rng)).astype(right[name].dtype)
            for name in right
        }

    return whole


def names(report: Report) -> set[tuple[str, ...]]:
    """Collect everything the diagnosis names, alternatives included."""
    return {
        named
        for finding in report.diagnosis.findings
        for named in (finding.names, *finding.alternatives)
    }
