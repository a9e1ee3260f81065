"""FORMAT.md: its program computes, its tables are what operators and classes are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from judged import judge_outputs

from grucible.cases.operators import OPERATORS
from grucible.gen.tolerances.classes import CHAINS, CLASSES
from grucible.vectors.case import REQUIRED

from .conftest import CORE

PAGE = (CORE / "FORMAT.md").read_text(encoding="utf-8")
CELL = CORE / "openvino" / "gru_cell" / "core.h5"


def run_the_program(vectors: Path) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    subprocess.run([sys.executable, "-c", code], cwd=vectors.parent, check=True)


def questions_alone(path: Path) -> None:
    """The core vectors of GRUCell-3, with nothing in them that is expected."""
    with h5py.File(CELL) as core, h5py.File(path, "w") as file:
        for name, value in core.attrs.items():
            file.attrs[name] = value
        for dtype in ("float16", "bfloat16", "float32", "float64"):
            for name, block in core[dtype].items():
                group = file.create_group(f"{dtype}/{name}")
                for held in ("id", "attributes", "inputs"):
                    core.copy(block[held], group)


def test_the_program_conforms_without_having_seen_an_answer(tmp_path: Path) -> None:
    questions_alone(tmp_path / "vectors.h5")
    run_the_program(tmp_path / "vectors.h5")
    report = judge_outputs(CELL, tmp_path / "outputs.h5")
    assert report.verdict == "conforms"
    assert {result.verdict for result in report.results} == {"passed"}
    assert len(report.results) == 248


def test_what_it_writes_is_what_my_gru_returns(tmp_path: Path) -> None:
    """With another kernel in its place, the outputs are that one's."""
    questions_alone(tmp_path / "vectors.h5")
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    [body] = re.findall(r"    return \(1 - z\).*\n", code)
    spoilt = code.replace(body, "    return np.full_like(h, 0.25)\n")
    subprocess.run([sys.executable, "-c", spoilt], cwd=tmp_path, check=True)
    with h5py.File(tmp_path / "outputs.h5") as outputs:
        quarter = {"bfloat16": 0x3E80}
        for dtype in ("float16", "bfloat16", "float32", "float64"):
            for block in outputs[dtype].values():
                assert (block["outputs/Ho"][()] == quarter.get(dtype, 0.25)).all()
                assert np.dtype(block["outputs/Ho"].dtype).itemsize == {
                    "float64": 8,
                    "float32": 4,
                }.get(dtype, 2)


def rows(heading: str) -> dict[str, list[str]]:
    """The table whose first line begins with `heading`: its rows by their first cell."""
    [table] = re.findall(rf"^\| {re.escape(heading)}.*\n\|[ |-]+\n((?:\|.*\n)+)", PAGE, re.M)
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in table.splitlines()]
    return {first: rest for first, *rest in cells}


def test_the_table_of_classes() -> None:
    found = rows("dtype | chains")
    assert set(found) == set(CLASSES)
    for dtype, (chains, required) in found.items():
        told = [chain.split(" ≤ ") for chain in chains.split("; ")]
        assert told == [[one.name for one in chain] for chain in CHAINS[dtype]]
        assert required == REQUIRED[dtype]


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS.keys())
def test_the_tables_of_operators(operator) -> None:  # type: ignore[no-untyped-def]
    [attributes] = rows("operator | attributes")[operator.name]
    inherited = rows("operator | attributes")["openvino.GRUCell-3"][0]
    told = attributes.replace("those of GRUCell-3", inherited)
    names = {attribute.name for attribute in operator.attributes}
    assert names <= set(re.findall(r"\w+", told))
    tensors = rows("operator | sizes")
    row = tensors.get(operator.name) or tensors[f"{operator.name}, layout 0"]
    if row[0] != "as GRUSequence-5":
        assert row[0].split(", ") == list(operator.sizes)
    assert {tensor.name for tensor in operator.inputs} <= set(re.findall(r"\w+", row[1]))
    assert {tensor.name for tensor in operator.outputs} <= set(re.findall(r"\w+", row[2]))
