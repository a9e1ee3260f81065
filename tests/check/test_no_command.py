"""No text of a runtime is a workflow command to GitHub Actions, also in what programs read; and there it is
the same text as before."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from grucible.cases.commands.no_command import (
    json_text,
    no_command_in_source,
    no_command_in_xml,
)
from grucible.cases.specs.yaml_source import parse

from .conftest import HERE, Command
from .made import CELL

SAID = "a ##[error]b"
COMMANDS = f"{SAID} {'c' * 66}\n::error::d"
RUNTIME = f"""
def run(question):
    raise ValueError({SAID!r} + " {"c" * 40} ::error::d {"e" * 20} ::error::f")
run.version = {SAID!r}
"""
READS_AS_COMMAND = re.compile(r"##\[|^\s*::", re.MULTILINE)
CASE = f"{CELL}/made/float32/a-good"


def test_who_reads_it_reads_the_same() -> None:
    value = {"##[key]": ["##[a]###[b]", COMMANDS], "at": [1.5, None, True]}
    written = json_text(value)
    assert json.loads(written) == value
    root = ElementTree.Element("a", name=COMMANDS)
    root.text = f"  :::error::\n{COMMANDS}"
    as_xml = no_command_in_xml(ElementTree.tostring(root, "unicode"))
    read = ElementTree.fromstring(as_xml)
    assert (read.attrib["name"], read.text) == (COMMANDS, root.text)
    program = no_command_in_source(f"# {SAID}\n[{COMMANDS!r}, {SAID.encode()!r}]\n")
    assert ast.literal_eval(program) == [COMMANDS, SAID.encode()]
    lists = no_command_in_source(f'# {SAID}\n- "{SAID}"\n')
    assert parse("lists", lists, list).value == [SAID]
    for text in (written, as_xml, program, lists):
        assert not READS_AS_COMMAND.search(text)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    "words",
    [
        "check {vectors} --runtime {runtime} --json",
        "check {vectors} --runtime {runtime} --quiet --report json={file}",
        "check {vectors} --runtime {runtime} --quiet --report junit={file}",
        "check {vectors} --runtime {runtime} --quiet --report html={file}",
        "check {vectors} --runtime {runtime} --quiet --write-expect {file}",
        "compare {before} {before} --json",
        "profile --runtime {runtime} --select openvino.GRUCell-3/plain/float32/default --json",
        "trace {vectors} {case} --runtime {runtime} --json",
        "show {vectors} {case} --script {runtime}",
    ],
)
def test_what_programs_read_holds_none(
    words: str,
    some_vectors: Path,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether GitHub Actions runs it or not."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "says.py").write_text(RUNTIME)
    before, file = tmp_path / "before.json", tmp_path / "report"
    given = {"vectors": some_vectors, "runtime": f"{tmp_path}/says.py:run", "case": CASE}
    if "{before}" in words:
        command("check", some_vectors, "--runtime", f"{HERE / 'numpy_gru.py'}:run", "--report", f"json={before}")  # fmt: skip
        value = json.loads(before.read_text())
        value["runtime"]["version"] = SAID
        before.write_text(json.dumps(value))
    ended = command(*words.format(**given, before=before, file=file).split())
    assert ended.status in (0, 1), ended.err
    written = file.read_text() if file.exists() else ended.out
    assert not READS_AS_COMMAND.search(written)
    assert re.search(r"##(\\u005b|\\x5b|&#91;)error\]b", written)


@pytest.mark.parametrize("variable", ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"])
def test_either_variable_of_github_guards_what_is_printed(
    variable: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    words = ("compare", "##[error]a", "::error::b")
    assert "##[error]a" in command(*words).said_in_one_line()
    monkeypatch.setenv(variable, "true")
    assert r"##\x5berror]a" in command(*words).said_in_one_line()
