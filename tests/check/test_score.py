"""The score: shipped vectors catch every misreading; weak ones do not, and say so."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shipped import core_blocks

from grucible.cases.dtypes import Array
from grucible.cases.operators import OPERATORS
from grucible.cases.selection import selected
from grucible.check.judging.case_result import DECIDING
from grucible.check.score import ENOUGH, Score, score
from grucible.gen.variants.catalogue import variants_of
from grucible.gen.variants.evaluate import catches
from grucible.gen.variants.variant import Variant
from grucible.vectors.block import Block
from grucible.vectors.vector_set import open_set

from .conftest import Command
from .made import SEQUENCE, make_block, write_vectors

LARGE = {"core_corners", "core_crossed", "core_magnitudes", "core_pairs", "core_saturated"}
"""Themes with cases of large or many inputs: where each gate is saturated, few misreadings show."""


def blocks() -> Iterator[Block]:
    """The core vectors but for the plain questions, those that decide a verdict."""
    for block in core_blocks():
        if block.tier in DECIDING and any(selected(one, ("*/core*/*",)) for one in block.ids):
            yield block


@pytest.fixture(scope="module")
def computed() -> list[tuple[Block, list[tuple[Variant, Array]]]]:
    """What each case of the core vectors catches, computed once for all that ask."""
    return [(block, list(catches(block))) for block in blocks()]


@pytest.fixture(scope="module")
def whole(computed: list[tuple[Block, list[tuple[Variant, Array]]]]) -> Score:
    """The score of the core vectors."""
    known = {(*block.ids,): found for block, found in computed}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "grucible.check.score.catches",
            lambda block, *_: known[(*block.ids,)],
        )
        return score(open_set(None, ("*/core*/*",)))


def test_the_core_vectors_catch_every_misreading_at_every_dtype(whole: Score) -> None:
    found = whole
    assert found.weak() == []
    for operator, rows in found.caught.items():
        wanted = {v.name for v in variants_of(OPERATORS[operator]) if v.kind == "misreading"}
        assert wanted <= set(rows)
        for name in wanted:
            assert set(rows[name]) == set(OPERATORS[operator].dtypes())
            assert all(caught.cases >= ENOUGH for caught in rows[name].values())


def test_the_score_agrees_with_what_cases_catch(computed: Any, whole: Score) -> None:
    counts: Counter[tuple[str, str, str]] = Counter()
    for block, caught_in in computed:
        for variant, found in caught_in:
            counts[block.operator, variant.name, block.dtype] += int(found.sum())
    for operator, rows in whole.caught.items():
        for name, dtypes in rows.items():
            for dtype, caught in dtypes.items():
                assert caught.cases == counts[operator, name, dtype], (name, dtype)


def test_each_case_catches_something_and_but_for_saturated_ones_a_wrong_order_of_gates(
    computed: Any,
) -> None:
    """Apple's last state alone may be right by chance of the tolerance: it accumulates all steps."""
    caught: defaultdict[str, set[str]] = defaultdict(set)
    for block, caught_in in computed:
        for variant, found in caught_in:
            for one in itertools.compress(block.ids, found):
                caught[one].add(variant.name)
    for block in blocks():
        for one in block.ids:
            assert caught[one], one
            accumulated = block.operator == "bnnsgraph.gru" and "-sequence0" in one
            if one.split("/")[1] not in LARGE and not accumulated:
                assert any("gate-order" in name for name in caught[one]), one


def test_one_misreading_is_scored_alone() -> None:
    found = score(open_set(None, ("*/core*/float32/*",)), "lbr-ignored")
    assert {name for rows in found.caught.values() for name in rows} == {"lbr-ignored"}
    seen = found.caught[SEQUENCE]["lbr-ignored"]["float32"]
    assert seen.cases > len(seen.examples) == len({*seen.examples}) == 3


def test_weak_vectors_fail(tmp_path: Path, command: Command) -> None:
    block = make_block(["a"], operator=SEQUENCE)
    vectors = tmp_path / "weak.h5"
    write_vectors(vectors, block, operator=SEQUENCE)
    ended = command("score", vectors)
    assert ended.status == 1
    first, *rest = ended.out.splitlines()
    assert first.startswith("weak: ")
    assert any(line.startswith("  0 cases: lbr-ignored") for line in rest)


def test_a_misreading_is_explained_with_its_equation_and_a_case_that_catches_it(
    command: Command,
) -> None:
    ended = command("explain", "lbr-assumed", "--select", f"{SEQUENCE}/core/float32/*")
    assert (ended.status, ended.err) == (0, "")
    assert "applied after the product although linear_before_reset is not set" in " ".join(
        ended.out.split()
    )
    assert "reported: https://github.com/pytorch/pytorch/issues/189225" in ended.out
    [example] = re.findall(r"^for example (\S+)$", ended.out, re.MULTILINE)
    [block] = [one for one in core_blocks() if example in one.ids]
    [(_, caught)] = catches(block, ["lbr-assumed"])
    assert caught[block.ids.index(example)]
    asked, misread = ended.out.split("and is misread as")
    assert "(rt (.) Ht-1)*(Rh^T)" in asked
    assert "rt (.) Ht-1*(Rh^T)" in misread
    solved = command("explain", "a_zr+=-1*b", "--select", f"{SEQUENCE}/core/float32/*")
    assert "both gates' part of B left out" in solved.out
    narrow = command("explain", "r-zrh-in-bfloat16", "--select", f"{SEQUENCE}/plain/float32/*")
    asked, caught = re.findall(r"^  (?:cases|r-zrh-in-bfloat16) +(\d+)$", narrow.out, re.MULTILINE)
    assert asked == caught != "0"
    wrong = command("explain", "lbr-asumed")
    assert (wrong.status, "did you mean 'lbr-assumed'" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("z-for-r", ["rt = zt"]),
        ("state+=-1*z*h+1*r*h", ["Ht = (1 - zt) (.) ht + rt (.) Ht-1"]),
        ("a_z+=-1*p", ["zt = sigmoid(Xt*(Wz^T) + Wbz + Rbz)"]),
        ("reset-of-sum", ["ht = tanh(rt (.) (Xt*(Wh^T) + Wbh + Rbh) + (rt (.) Ht-1)*(Rh^T))"]),
        ("reset-gate-ignored", ["rt = 1"]),
        ("r-with-g", ["rt = tanh(Xt*(Wr^T) + Ht-1*(Rr^T) + Wbr + Rbr)"]),
        ("z-activated-twice", ["zt = sigmoid(sigmoid(Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz))"]),
        ("a_z-in-bfloat16", []),
    ],
)
def test_what_a_misreading_changes_inside_a_step_stands_in_the_equation(
    name: str, lines: list[str], command: Command
) -> None:
    ended = command("explain", name, "--select", "openvino.GRUCell-3/plain/float32/lbr0")
    _, _, misread = ended.out.partition("and is misread as\n")
    assert misread.split("\n\n")[0].split("\n")[: len(lines)] == [f"    {one}" for one in lines], (
        ended.out
    )
    assert bool(misread) == bool(lines)


def test_clipping_stands_in_the_equation_as_it_is_misread(command: Command) -> None:
    ended = command(
        "explain", "clip-from-zero", "--select", "openvino.GRUCell-3/plain/float32/lbr-clip0.5"
    )
    assert "clip[-0.5, 0.5](" in ended.out.partition("and is misread as")[0]
    assert "clip[0, 0.5](Xt" in ended.out.partition("and is misread as")[2]
