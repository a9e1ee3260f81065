"""Which classes of arithmetic are looked at, and that a worse one holds what a better one does."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pytest

from grucible.check.judging.grade import holding
from grucible.gen.tolerances.classes import CHAINS, CLASSES
from grucible.vectors.case import REQUIRED

from .made import Array


class Asked:
    """What `holding` asks for; each class in `passing` holds the cases it names."""

    def __init__(self, passing: Mapping[str, list[bool]]) -> None:
        self.passing, self.names = passing, list[str]()

    def __call__(self, name: str) -> Array:
        self.names.append(name)
        return np.array(self.passing[name])


@pytest.mark.parametrize("dtype", CLASSES)
def test_a_good_runtime_asks_for_one_class(dtype: str) -> None:
    names = [one.name for one in CLASSES[dtype]]
    asked = Asked({names[0]: [True, True]})
    held = holding(dtype, np.array([True, True]), asked)
    assert asked.names == names[:1]
    assert {name: cases.tolist() for name, cases in held.items()} == {
        n: [True, True] for n in names
    }


def test_a_class_is_looked_at_until_all_hold() -> None:
    asked = Asked(
        {"float32": [False, True, True], "float16-state": [False, True, False],
         "float16-gemm": [True, False, False]}
    )  # fmt: skip
    held = holding("float16", np.array([True, True, False]), asked)
    assert asked.names == ["float32", "float16-state", "float16-gemm"]
    assert {name: cases.tolist() for name, cases in held.items()} == {
        "float32": [False, True, False],
        "float16-state": [False, True, False],
        "float16-gemm": [True, True, False],
        "float16": [True, True, False],
    }


def test_nothing_compared_asks_for_nothing() -> None:
    asked = Asked({})
    held = holding("float32", np.zeros(2, bool), asked)
    assert asked.names == []
    assert not any(cases.any() for cases in held.values())
    assert set(held) == {one.name for one in CLASSES["float32"]}


def test_no_class_is_asked_for_twice() -> None:
    asked = Asked({one.name: [False] for one in CLASSES["float32"]})
    holding("float32", np.array([True]), asked)
    assert sorted(asked.names) == sorted(one.name for one in CLASSES["float32"])


@pytest.mark.parametrize("dtype", CHAINS)
def test_what_a_class_holds_the_next_one_holds(dtype: str) -> None:
    """Whatever the comparisons say, one by one."""
    names = [one.name for one in CLASSES[dtype]]
    for passing in itertools.product([False, True], repeat=len(names)):
        asked = Asked({name: [one] for name, one in zip(names, passing, strict=True)})
        held = holding(dtype, np.array([True]), asked)
        assert REQUIRED[dtype] in held
        for chain in CHAINS[dtype]:
            for better, worse in itertools.pairwise(chain):
                assert held[better.name].tolist() <= held[worse.name].tolist()
        for name, one in zip(names, passing, strict=True):
            assert held[name][0] or not (one and name in asked.names)
