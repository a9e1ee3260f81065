"""Lists of digests and reports that stand in the place of a new one: only ours are replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from grucible.check.reports.formats import FORMATS

from .conftest import Command
from .test_looks_first import CASE

HEX = "0" * 64


@pytest.mark.parametrize("option", ["--digests", "--tolerance-digests"])
def test_a_list_of_other_files_is_not_replaced(
    option: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tmp_path / "SUMS"
    listed.write_text(mine := f"{HEX}  openvino/gru_cell/core.h5\n{HEX}  weights.h5\n")
    monkeypatch.setattr("grucible.gen.files.make_files", None)
    said = command("gen", "-o", tmp_path / "new", "--select", CASE, option, listed)
    assert "SUMS: is there already, and not written by grucible" in said.said_in_one_line()
    assert listed.read_text() == mine


def test_a_list_of_published_files_is_replaced(tmp_path: Path, command: Command) -> None:
    listed = tmp_path / "SUMS"
    listed.write_text(f"{HEX}  openvino/gru_cell/core.h5\n{HEX}  onnx/gru/core.h5\n")
    asked = ["gen", "-o", tmp_path / "new", "--select", CASE, "--jobs", "1", "--digests", listed]
    assert command(*asked).status == 0
    assert listed.read_text().count("\n") == 1


def test_another_tool_s_junit_xml_is_not_replaced() -> None:
    begins = FORMATS["junit"].begins
    head = b"<?xml version='1.0' encoding='utf-8'?>\n"
    assert begins.match(head + b'<testsuites name="grucible check: f" tests="3">')
    assert not begins.match(head + b'<testsuites name="pytest tests">')
    assert not begins.match(head + b"<testsuites><testsuite>")
