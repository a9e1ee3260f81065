"""The page about other people's suites."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from grucible.vectors.hdf5 import CORE

from .conftest import HERE, Command

ROOT = HERE.parents[1]
MEASURED = (ROOT / "check" / "MEASURED.md").read_text(encoding="utf-8")


def column(page: str, suite: str) -> dict[str, int]:
    """By misreading, how many cases of a suite notice it."""
    [head] = re.findall(r"^\| misreading \|(.*)\|$", page, re.M)
    at = [name.strip() for name in head.split("|")].index(suite)
    rows = re.findall(r"^\| ([^|]+?) \|((?: \**\d+\** \|)+)$", page, re.M)
    return {name: int(cells.split("|")[at].strip(" *")) for name, cells in rows}


def some_node_tests(package: ModuleType) -> None:
    """Make the node tests of some operators, GRU among them: those of all take seconds."""
    for name in ("gru", "lstm", "relu", "rnn"):
        import_module(f"{package.__name__}.{name}")


def test_the_headline_figure_of_onnx_is_made_by_its_command(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx = pytest.importorskip("onnx")
    monkeypatch.setattr("onnx.backend.test.loader.import_recursive", some_node_tests)
    vectors = tmp_path / "onnx-node-tests.h5"
    assert command("import", "--from", "onnx", "-o", vectors).status == 0
    page = tmp_path / "page.md"
    assert command("audit", f"{vectors}:1e-3:1e-7", "-o", page).status == 0
    made = page.read_text(encoding="utf-8")
    assert "| onnx-node-tests | onnx.GRU-14 | 6 | 1e-07 + 0.001 × value | conforms: 6 of 6" in made
    found = column(made, "onnx-node-tests")
    assert len(found) > 160
    assert "84 of 171" in made, onnx.__version__
    assert "ONNX's node tests noticed 84 of 171" in MEASURED
    assert found["R transposed"] == 0
    again = command("audit", f"{vectors}:1e-3:1e-7")
    assert again.out == made


def test_a_suite_that_is_finer_notices_more(tmp_path: Path, command: Command) -> None:
    select = "onnx.GRU-14/core/float32/*noact*"
    assert command("gen", "-o", tmp_path, "--select", select, "--jobs", "1").status == 0
    [vectors] = tmp_path.rglob("*.h5")
    coarse = column(command("audit", f"{vectors}:0.5:0.1").out, "core")
    fine = column(command("audit", f"{vectors}:1e-6:1e-7").out, "core")
    assert all(coarse[name] <= fine[name] for name in coarse)
    assert sum(coarse.values()) < 0.8 * sum(fine.values())


def test_bad_suites_in_one_line(tmp_path: Path, command: Command) -> None:
    core = CORE / "openvino/gru_cell/core.h5"
    (tmp_path / "mine.md").write_text("mine\n")
    for arguments, says in (
        ([tmp_path / "none.h5"], "none.h5: no such file"),
        ([f"{core}:x:1"], "expected FILE.h5, or FILE.h5:RTOL:ATOL"),
        ([f"{core}:-1:1"], "expected FILE.h5, or FILE.h5:RTOL:ATOL, finite numbers"),
        ([f"{core}:nan:1"], "expected FILE.h5, or FILE.h5:RTOL:ATOL, finite numbers"),
        ([core, "-o", tmp_path / "mine.md"], "holds something else"),
    ):
        assert says in command("audit", *arguments).said_in_one_line()
    assert (tmp_path / "mine.md").read_text() == "mine\n"


@pytest.mark.parametrize("suite", ["", ".", "/"])
def test_no_suite(suite: str, command: Command) -> None:
    assert "expected FILE.h5, or FILE.h5:RTOL:ATOL" in command("audit", suite).said_in_one_line()
