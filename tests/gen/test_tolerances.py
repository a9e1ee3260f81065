"""Stored tolerances: every member of a class is within them, every mistake is not.

The smaller version of `python tests/validation/run.py`: the core vectors and some random cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
from drawn import drawn_block
from shipped import core_blocks, specs

from grucible.cases.operators import OPERATORS
from grucible.cases.specs.expand import expand
from grucible.check.judging.case_result import DECIDING
from grucible.gen.drawing import chunks
from grucible.gen.tolerances.classes import CHAINS, CLASSES
from grucible.vectors.block import Block
from validation.members import MEMBERS, MISTAKES, Member, Ratios, measure
from validation.random_cases import largest_intermediates, random_blocks
from validation.real import real_runtimes

SEED = 5_077
RANDOM = 36
DTYPES = list(CLASSES)


def _deciding(dtype: str) -> list[Block]:
    """The core vectors of a dtype, those that decide a verdict."""
    return [block for block in core_blocks() if block.dtype == dtype and block.tier in DECIDING]


@cache
def _blocks(dtype: str) -> tuple[Block, ...]:
    """The core vectors of a dtype, but for the plain questions, which are the simplest of them, and random
    cases no intermediate of which leaves float16."""
    drawn = [(block, peak < 16_000) for block, peak in random_blocks(dtype, RANDOM, SEED)]
    core = (block for block in _deciding(dtype) if "/core" in block.ids[0])
    return (*core, *(block.rows(small) for block, small in drawn if small.any()))


def _measured(blocks: Iterable[Block], members: Sequence[Member]) -> list[Ratios]:
    found = [Ratios() for _ in members]
    for block in blocks:
        every = np.ones(len(block), bool)
        measure(block, [(*pair, every) for pair in zip(members, found, strict=True)])
    return found


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_form_of_a_class_is_within_its_tolerances(dtype: str) -> None:
    members = [member for member in MEMBERS if member.dtype == dtype]
    *core, one, another = _blocks(dtype)
    for member, ratios in zip(
        members, _measured([*core[::30], one, another], members), strict=True
    ):
        assert len(ratios.worst) >= len(ratios.steps) > 15
        assert ratios.alarms == ratios.in_steps == 0, (member.about, member.form)


def test_a_core_case_that_float16_cannot_hold_is_no_question_to_its_class() -> None:
    """Some in float32 have states beyond 65504."""
    [member, *_] = [m for m in MEMBERS if (m.dtype, m.arithmetic) == ("float32", "float16-state")]
    held, beyond = Ratios(), Ratios()
    for block in _deciding("float32"):
        operator = OPERATORS[block.operator]
        fits = largest_intermediates(operator, block.given, block.inputs) < 65504 / 4
        measure(block, [(member, held, fits), (member, beyond, ~fits)])
    assert held.alarms == 0 < beyond.alarms
    assert len(held.worst) > 100 * len(beyond.worst)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_caught(mistake: str) -> None:
    wrong = Member("float32", "float32", mistake, MISTAKES[mistake])
    [ratios] = _measured(_deciding("float32"), [wrong])
    assert ratios.alarms > len(ratios.worst) / 2


@pytest.mark.parametrize(
    ("dtype", "coarse", "fine"),
    [
        ("float64", "float32", "float64"),
        ("float32", "float16-state", "float32"),
        ("float32", "bfloat16-gemm", "float16-state"),
        ("float32", "tf32", "float32"),
        ("float32", "bfloat16-operands", "tf32"),
        ("float16", "float16-state", "float32"),
        ("float16", "float16-gemm", "float16-state"),
        ("bfloat16", "bfloat16-state", "float32"),
        ("bfloat16", "bfloat16-gemm", "bfloat16-state"),
    ],
)
def test_a_member_of_a_coarser_class_breaks_the_finer_one(
    dtype: str, coarse: str, fine: str
) -> None:
    [member, *_] = [m for m in MEMBERS if (m.dtype, m.arithmetic) == (dtype, coarse)]
    [ratios] = _measured(_blocks(dtype), [replace(member, arithmetic=fine)])
    assert ratios.alarms > 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_real_runtimes_are_within_the_tolerances_of_their_class(dtype: str) -> None:
    missing = [name for name in ("openvino", "onnxruntime", "onnx", "torch") if not find_spec(name)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    # a few cases of every block: runtimes compile a model for each
    some = [block.rows(np.arange(0, len(block), 15)) for block in _blocks(dtype)]
    runtimes = real_runtimes(dtype)
    for real, ratios in zip(runtimes, _measured(some, runtimes), strict=True):
        assert len(ratios.worst) > 0, real.about
        assert ratios.alarms == ratios.in_steps == 0, real.about


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tolerance_is_at_least_that_of_the_better_class(dtype: str) -> None:
    for block in _blocks(dtype):
        limits = block.answer.tolerances
        for chain in CHAINS[dtype]:
            for better, worse in pairwise(chain):
                for output in block.answer.outputs:
                    assert (limits[better.name][output] <= limits[worse.name][output]).all()


def test_padding_admits_nothing() -> None:
    for block in _blocks("float32"):
        if "sequence_lengths" not in block.inputs:
            continue
        time = np.arange(block.answer.outputs["Y"].shape[3])
        past = time >= block.inputs["sequence_lengths"][:, :, None]
        for limits in block.answer.tolerances.values():
            y = np.moveaxis(limits["Y"], 3, 2)  # n, batch, time, direction, hidden
            assert (y[past] == 0).all()
            assert (y[~past] > 0).all()


def test_tolerances_do_not_depend_on_what_a_case_is_stacked_with() -> None:
    spec = specs()["openvino/gru_sequence/attributes"]
    _, [cases, *_] = next(iter(chunks(expand(spec, ["float32"]))))
    together = drawn_block(cases, seed=0).answer.tolerances
    for row in (0, len(cases) - 1):
        for name, limits in drawn_block([cases[row]], seed=0).answer.tolerances.items():
            for output, limit in limits.items():
                np.testing.assert_array_equal(limit[0], together[name][output][row])
