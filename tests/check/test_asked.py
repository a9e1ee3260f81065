"""What cases ask for, by which failing ones are told from passing ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grucible.cases.pose import sizes_of
from grucible.check.diagnosis.asked import what_tells_apart
from grucible.check.diagnosis.contradictions import Passed, Passing
from grucible.check.judging.criterion import Demanded
from grucible.vectors.block import Block
from grucible.vectors.find import CORE
from grucible.vectors.reader import open_vectors

from .diagnosing import core_blocks

ROUNDED = "pre-activations-of-gates-rounded=16"
Group = list[tuple[Block, np.ndarray]]


def load_blocks(file: str) -> list[Block]:
    with open_vectors(CORE / file, file) as vectors:
        return [block.read(0, len(block)) for block in vectors.blocks()]


def where_f(name: str) -> Group:
    """The float32 cases of GRUCell-3 whose gates have this function."""
    return [
        (block, np.array([block.question(row).semantics.f[0].name == name for row in range(len(block))]))
        for block in core_blocks("openvino.GRUCell-3", "float32")
    ]  # fmt: skip


def test_the_gates_function_tells_apart_though_the_candidate_may_have_it_too() -> None:
    told = what_tells_apart(where_f("tanh"), where_f("relu"))
    assert "where the gates' function is tanh" in told
    assert "where the gates' function is not relu" in told
    assert not [one for one in told if "activations has" in one or "candidate" in one]


def test_which_of_two_sizes_is_larger_tells_apart() -> None:
    """Weights that are read with the other's stride are wrong on one side of it."""

    def asked(found: Callable[[int, int], bool]) -> Group:
        every = load_blocks("openvino/gru_cell/plain_sizes.h5")
        sizes = [sizes_of(block.question(0)) for block in every]
        return [
            (block, np.full(len(block), found(of["input_size"], of["hidden_size"])))
            for block, of in zip(every, sizes, strict=True)
        ]

    wider, other = asked(lambda i, h: i > h), asked(lambda i, h: i <= h)
    assert "where the input size is larger than the hidden size" in what_tells_apart(wider, other)
    assert "where the hidden size is as large as the input size, or larger" in what_tells_apart(
        other, wider
    )


def test_an_attribute_of_two_values_is_told_by_the_one_it_has() -> None:
    blocks = core_blocks("openvino.GRUCell-3", "float32")
    lbr, other = (
        [
            (b, np.array([b.question(row).attributes["linear_before_reset"] is value for row in range(len(b))]))
            for b in blocks
        ]
        for value in (True, False)
    )  # fmt: skip
    told = [one for one in what_tells_apart(lbr, other) if "linear_before_reset" in one]
    assert told == ["where linear_before_reset is true"]


def test_a_file_is_opened_once_for_all_its_cases_that_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[Path] = []

    def counted(file: Path) -> Any:
        opened.append(file)
        return open_vectors(file)

    monkeypatch.setattr("grucible.check.diagnosis.contradictions.open_vectors", counted)
    files = [CORE / "openvino" / name / "core.h5" for name in ("gru_cell", "gru_sequence")]
    passed = []
    for file in files:
        with open_vectors(file) as vectors:
            passed += [Passed(file, one.path, np.array([0])) for one in vectors.blocks()]
    assert len(Passing(passed).blocks) == len(passed) > 40
    assert opened == files


def test_what_passed_contradicts_what_is_off_by_twice_what_it_was_held_to() -> None:
    """Rounding to sixteenths is within the loosest tolerance, and far from what float32 admits."""
    block = core_blocks("openvino.GRUCell-3", "float32")[0]
    passed = [Passed(CORE / "openvino/gru_cell/core.h5", block.path, np.arange(len(block)))]
    held = Passing(passed)
    assert held.contradicting({ROUNDED})[ROUNDED] == len(block)
    loose = Passing(passed, {"float32": Demanded("bfloat16-gemm")})
    assert loose.contradicting({ROUNDED})[ROUNDED] < len(block) / 2
