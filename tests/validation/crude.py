"""How many cases let a crude mistake pass: `python tests/validation/crude.py [VECTORS]`.

Each mistake is made of the exact outputs of VECTORS (without them, the core vectors), or computed in float64
from changed inputs, and rounded once. The judge tells of each class of arithmetic in how many of the deciding
cases that the mistake changes it passes: by the accumulated tolerance alone, and as cases are judged now, with
their single steps; and in the required class, how many of these get no remark upon their noise. With --precision, the mistakes are the catalogue's approximations and losses of precision.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from grucible.cases.dtypes import FLOAT_TYPES, Array, Arrays
from grucible.cases.operators.layout import GruInputs
from grucible.cases.operators.semantics import StackedSemantics
from grucible.check.judging.case_result import DECIDING
from grucible.check.judging.criterion import Demanded, Differences
from grucible.check.judging.grade import Grade
from grucible.check.judging.judge import judge_block
from grucible.check.judging.noise import Noise, remark
from grucible.check.observed.source import Observed
from grucible.gen.gru import (
    as_meant,
    in_order,
    processing_order,
    states_before,
    step_numbers,
    turned,
)
from grucible.gen.tolerances.classes import CLASSES
from grucible.gen.variants.catalogue import CATALOGUE
from grucible.gen.variants.emulated import TYPES, Rounding
from grucible.gen.variants.evaluate import batches, can_be_caught, stacks_of, variant_outputs
from grucible.gen.variants.variant import Evaluated, Outputs, Variant
from grucible.vectors.block import Block
from grucible.vectors.case import REQUIRED
from grucible.vectors.vector_set import open_set

TO_BFLOAT16 = TYPES["bfloat16"][1]
GRADES = ("before", "now")


def _in_8_bits(values: Array) -> Array:
    """Round (n, …) to 127 steps up to the largest magnitude of each case, and as many down."""
    step = np.abs(values).reshape(len(values), -1).max(axis=1) / 127
    step = np.where(step > 0, step, 1.0).reshape(-1, *[1] * (values.ndim - 1))
    return np.asarray(np.round(values / step) * step)


def _of_outputs(change: Rounding) -> Callable[[Evaluated], Outputs]:
    return lambda e: (change(e.y), change(e.ho))


def _of_each(value: Callable[[Array], Any]) -> Rounding:
    """Put one number in place of all states that are not 0, as padding is."""

    def change(values: Array) -> Array:
        each = [np.full_like(one, value(one[one != 0])) if one.any() else one for one in values]
        return np.where(values == 0, 0.0, each)

    return change


def _unmoved(e: Evaluated) -> Outputs:
    """Return the state before the first step in place of every state."""
    h0 = np.broadcast_to(e.inputs.h0[..., None, :], e.y.shape)
    return np.where(e.y == 0, 0.0, h0), np.where(e.ho == 0, 0.0, e.inputs.h0)


def _late(e: Evaluated) -> Outputs:
    """Return the state before each step in place of the state after it."""
    seen, y, ho = turned(e.semantics, e.y), np.empty_like(e.y), np.empty_like(e.ho)
    lengths, time = e.inputs.lengths, e.y.shape[-2]
    last = np.maximum(lengths - 1, 0)[..., None, None]
    for d, direction in enumerate(e.semantics.directions):
        numbers = step_numbers(direction, e.inputs, time)
        order = processing_order(numbers, lengths)
        before = states_before(seen[:, d], e.inputs.h0[:, d].astype(np.float64), order)
        taken = (numbers >= 0) & (numbers < lengths[..., None])
        y[:, d] = np.where(taken[..., None], before, 0.0)
        ho[:, d] = np.take_along_axis(in_order(before, order), last, axis=-2)[..., 0, :]
    return turned(e.semantics, y), ho


def _weights(change: Rounding, inputs: GruInputs, _: StackedSemantics) -> GruInputs:
    """Change W and R, each of them as one tensor."""

    def changed(gates: Arrays) -> Arrays:
        one = change(np.stack([gates[gate] for gate in gates], axis=1).astype(np.float64))
        return {gate: one[:, place] for place, gate in enumerate(gates)}

    return replace(inputs, w=changed(inputs.w), r=changed(inputs.r))


def _narrow(inputs: GruInputs, meant: StackedSemantics) -> GruInputs:
    return replace(_weights(TO_BFLOAT16, inputs, meant), h0=TO_BFLOAT16(inputs.h0))


NARROW_STATE = {"state": lambda q: TO_BFLOAT16(q["state"])}


def _without(parts: tuple[str, ...], inputs: GruInputs, meant: StackedSemantics) -> GruInputs:
    inputs = as_meant(meant, inputs)
    return replace(inputs, b={part: b for part, b in inputs.b.items() if part not in parts})


def _dropped() -> Iterator[Variant]:
    apart = partial(replace, biases="apart")
    for name in ("Wbz", "Wbr", "Wbh", "Rbz", "Rbr", "Rbh"):
        part = name.replace("b", "").lower()
        parts = (part, part[1:]) if name[0] == "W" else (part,)
        yield Variant(name, f"no {name}", inputs=partial(_without, parts), semantics=apart)


def _changed_outputs(name: str, change: Rounding) -> Variant:
    return Variant(name, name, outputs=_of_outputs(change))


CRUDE = [
    _changed_outputs("zeros", lambda v: 0 * v),
    _changed_outputs("constant 0.5", _of_each(lambda _: 0.5)),
    _changed_outputs("the mean", _of_each(np.mean)),
    Variant("the initial state", "", outputs=_unmoved),
    Variant("one step late", "", outputs=_late),
    _changed_outputs("x 0.9", lambda v: 0.9 * v),
    _changed_outputs("x 0.99", lambda v: 0.99 * v),
    _changed_outputs("outputs in 8 bits", _in_8_bits),
    *_dropped(),
    Variant("weights in 8 bits", "", inputs=partial(_weights, _in_8_bits)),
    Variant("weights in bfloat16", "", inputs=partial(_weights, TO_BFLOAT16)),
    Variant(
        "bfloat16 storage",
        "",
        "precision",
        inputs=_narrow,
        quantities=NARROW_STATE,
        worse_than=("float64", "float32", "float16"),
    ),
]
"""Mistakes. W's part of a bias is the whole where the operator has one of the gate."""
PRECISION = [v for v in CATALOGUE.values() if v.kind in ("approximation", "precision")]
RIGHT = Variant("right", "nothing")


class Passing:
    """Of the cases that a mistake changes: how many pass, by class of arithmetic; the noise of those that do."""

    def __init__(self) -> None:
        self.asked = 0
        self.noises: dict[str, Noise] = {}
        self.passed: Mapping[str, Counter[str]] = {grade: Counter() for grade in GRADES}

    def counts(self, arithmetic: str, required: str) -> list[int]:
        """Count what passes before and now; of narrow vectors' required class, also what gets no remark."""
        found = [self.passed[grade][arithmetic] for grade in GRADES]
        if self.noises and arithmetic == required:
            one = remark(required, self.noises, len(self.noises) + 1)
            found.append(found[-1] - (len(one.cases) if one else 0))
        return found


def count_passing(
    vectors: Path | None, dtype: str, mistakes: Sequence[Variant], share: int
) -> dict[str, Passing]:
    """Judge what each mistake makes of every `share`-th deciding case of a dtype, where it changes the case."""
    found = {mistake.name: Passing() for mistake in mistakes}
    count = 0
    for path, stored in open_set(vectors).blocks():
        if stored.dtype == dtype and stored.tier in DECIDING:
            for _, some in stored.selected():
                block = some.rows(np.arange(-count % share, len(some), share))
                count += len(some)
                if not len(block):
                    continue
                stacked = stacks_of(block)
                right = variant_outputs(block, stacked, [[RIGHT]])
                for batch in batches(block, [[mistake] for mistake in mistakes]):
                    outputs = variant_outputs(block, stacked, batch)
                    changed = _changed(outputs, right)
                    which, rows = np.nonzero(changed)
                    if rows.size:
                        wrong = {name: outputs[name][changed] for name in outputs}
                        owners = [found[batch[place][0].name] for place in which.tolist()]
                        _count(owners, str(path), block.rows(rows), wrong)
    return found


def _changed(outputs: Arrays, right: Arrays) -> Array:
    """Say (c, n) which of n cases c mistakes change, before anything is rounded."""
    each = [(outputs[name] != right[name]).reshape(*outputs[name].shape[:2], -1) for name in right]
    return np.any([one.any(axis=-1) for one in each], axis=0)


def _count(owners: Sequence[Passing], path: str, block: Block, wrong: Arrays) -> None:
    """Judge outputs (n, …) for the n cases of a block, each of an owner's."""
    kind = FLOAT_TYPES[block.dtype].numpy
    outputs = {name: array.astype(kind) for name, array in wrong.items()}
    whole = {
        reading: Differences(answer.outputs, outputs, block.dtype, signed_zero=False)
        for reading, answer in block.answers.items()
    }
    for limits in [Demanded(one.name) for one in CLASSES[block.dtype]]:
        each = [off.within(limits.admitted(block, reading)) for reading, off in whole.items()]
        for owner, passes in zip(owners, np.any(each, axis=0), strict=True):
            owner.passed["before"][limits.arithmetic] += int(passes)
    observed = Observed(["ok"] * len(block), [""] * len(block), outputs)
    grade = Grade(block.dtype, Demanded(REQUIRED[block.dtype]))
    for owner, result in zip(owners, judge_block(path, block, observed, grade), strict=True):
        owner.asked += 1
        owner.passed["now"].update(result.holds)
        if result.noise:
            owner.noises[result.id] = result.noise


def main() -> None:
    """Judge the mistakes and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vectors", nargs="?", type=Path, metavar="VECTORS")
    parser.add_argument("--precision", action="store_true", help="the catalogue's losses instead")
    parser.add_argument("--share", type=int, default=1, help="judge one case in so many")
    parser.add_argument("--dtype", dest="dtypes", action="append", choices=CLASSES)
    asked = parser.parse_args()
    summary: dict[str, dict[str, str]] = {}
    dtypes = asked.dtypes or [*CLASSES]
    for dtype in dtypes:
        names = [one.name for one in CLASSES[dtype]]
        print(
            f"\n{dtype}: cases that pass by the whole alone → now → without a remark; * is required"
        )
        words = [name + "*" * (name == REQUIRED[dtype]) for name in names]
        print(f"{'mistake':28} {'asked':>6}" + "".join(f"{word:>20}" for word in words))
        every = PRECISION if asked.precision else CRUDE
        mistakes = [one for one in every if can_be_caught(one, dtype)]
        for name, one in count_passing(asked.vectors, dtype, mistakes, asked.share).items():
            if one.asked:
                required = REQUIRED[dtype]
                cells = ("→".join(map(str, one.counts(c, required))) for c in names)
                row = "".join(f"{cell:>20}" for cell in cells)
                print(f"{name:28} {one.asked:>6}{row}", flush=True)
                found = one.counts(required, required)
                text = f"{'→'.join(map(str, found))}/{one.asked}" if found[0] else "0"
                summary.setdefault(name, {})[dtype] = text
    print(f"\n| mistake that passes | {' | '.join(dtypes)} |\n| --- |" + " ---: |" * len(dtypes))
    for name, by_dtype in summary.items():
        if {*by_dtype.values()} != {"0"}:
            print(f"| {name} | {' | '.join(by_dtype.get(dtype, '–') for dtype in dtypes)} |")


if __name__ == "__main__":
    main()
