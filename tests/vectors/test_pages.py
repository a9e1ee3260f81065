"""The pages on formats: what FORMAT.md and README.md print computes, and their tables are complete."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import h5py
import numpy as np
import pytest
from judged import judge_outputs

from grucible.cases.operators import OPERATORS
from grucible.cases.operators.signature import Operator
from grucible.check.importing.cli import answer_command, import_command
from grucible.gen.tolerances.classes import CHAINS, CLASSES
from grucible.vectors.case import REQUIRED
from grucible.vectors.cli import export_command

from .conftest import CORE

FORMAT, README = ((CORE / name).read_text(encoding="utf-8") for name in ("FORMAT.md", "README.md"))
CELL = CORE / "openvino" / "gru_cell" / "core.h5"
DTYPES = ("float16", "bfloat16", "float32", "float64")
[PROGRAM] = re.findall(r"```python\n(.*?)```", FORMAT, re.S)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A folder of the core vectors of GRUCell-3, with nothing in them that is expected."""
    with h5py.File(CELL) as core, h5py.File(tmp_path / "vectors.h5", "w") as file:
        file.attrs.update(dict(core.attrs))
        for dtype in DTYPES:
            for name, block in core[dtype].items():
                group = file.create_group(f"{dtype}/{name}")
                for part in ("id", "attributes", "inputs"):
                    core.copy(block[part], group)
    return tmp_path


def test_the_program_conforms_without_having_seen_an_answer(questions: Path) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=questions, check=True)
    report = judge_outputs(CELL, questions / "outputs.h5")
    assert report.verdict == "conforms"
    assert {result.verdict for result in report.results} == {"passed"}
    assert len(report.results) == 248


def test_what_it_writes_is_what_my_gru_returns(questions: Path) -> None:
    """With another kernel in its place, the outputs are that one's."""
    [body] = re.findall(r"    return \(1 - z\).*\n", PROGRAM)
    spoilt = PROGRAM.replace(body, "    return np.full_like(h, 0.25)\n")
    subprocess.run([sys.executable, "-c", spoilt], cwd=questions, check=True)
    with h5py.File(questions / "outputs.h5") as outputs:
        for dtype in DTYPES:
            for block in outputs[dtype].values():
                written = block["outputs/Ho"][()]
                assert (written == (0x3E80 if dtype == "bfloat16" else 0.25)).all()
                assert written.dtype == np.dtype("u2" if dtype == "bfloat16" else dtype)


def rows(heading: str) -> dict[str, list[str]]:
    """The table whose first line begins with `heading`: its rows by their first cell."""
    [table] = re.findall(rf"^\| {re.escape(heading)}.*\n\|[ |-]+\n((?:\|.*\n)+)", FORMAT, re.M)
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in table.splitlines()]
    return {first: rest for first, *rest in cells}


def test_the_table_of_classes() -> None:
    found = rows("dtype | chains")
    assert set(found) == set(CLASSES)
    for dtype, (chains, required) in found.items():
        listed = [chain.split(" ≤ ") for chain in chains.split("; ")]
        assert listed == [[one.name for one in chain] for chain in CHAINS[dtype]]
        assert required == REQUIRED[dtype]


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS.keys())
def test_the_tables_of_operators(operator: Operator) -> None:
    [attributes] = rows("operator | attributes")[operator.name]
    [inherited] = rows("operator | attributes")["openvino.GRUCell-3"]
    listed = attributes.replace("those of GRUCell-3", inherited)
    assert {one.name for one in operator.attributes} <= set(re.findall(r"\w+", listed))
    tensors = rows("operator | sizes")
    sizes, inputs, outputs = tensors.get(operator.name) or tensors[f"{operator.name}, layout 0"]
    if sizes != "as GRUSequence-5":
        assert sizes.split(", ") == list(operator.sizes)
    assert {tensor.name for tensor in operator.inputs} <= set(re.findall(r"\w+", inputs))
    assert {tensor.name for tensor in operator.outputs} <= set(re.findall(r"\w+", outputs))


def test_every_format_is_listed_and_no_other() -> None:
    out, into = README.split("\n## Import\n")
    listed = (
        re.findall(r"^\| `(\w+)` \| `cases", out, re.M),
        re.findall(r"^\| `(\w+)` \|", into.split("## One")[0], re.M),
    )
    for command, name, found in zip(
        (export_command, import_command), ("layout", "source"), listed, strict=True
    ):
        [kind] = [one.type for one in command.params if one.name == name]
        assert isinstance(kind, click.Choice)
        assert set(found) == set(kind.choices)


def test_commands_have_the_options_they_are_given() -> None:
    known = {"export": export_command, "import": import_command, "answer": answer_command}
    lines = re.findall(r"^    grucible ((?:export|import|answer) .*)$", README, re.M)
    assert len(lines) == 6
    for name, *words in (shlex.split(line, comments=True) for line in lines):
        options = {text for one in known[name].params for text in one.opts}
        assert {word for word in words if word.startswith("-")} <= options


WPT = """\
'use strict';
const gruTests = [
  {
    'name': 'options.activations=[\\'relu\\', \\'relu\\']; and more',
    'graph': {'inputs': {'x': {'data': [1,
        0.5], 'descriptor': {shape: [2], dataType: 'float32'}}}},
  },
];

if (navigator.ml) {
  gruTests.forEach((test) => {});
}
"""


def test_javascript_becomes_json() -> None:
    """By the page's command, of a text that is laid out as the web platform's."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    [command] = re.findall(r"^    (node -e .*) < gru\.https\.any\.js", README, re.M)
    ended = subprocess.run(
        shlex.split(command), input=WPT, text=True, capture_output=True, check=True
    )
    [test] = json.loads(ended.stdout)
    assert test["name"] == "options.activations=['relu', 'relu']; and more"
    assert test["graph"]["inputs"]["x"]["data"] == [1, 0.5]
