"""`exec:`: a runtime is any program that speaks the protocol; the shipped examples do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shipped import core_cases

import grucible
from grucible.cases.operators import OPERATORS
from grucible.check.protocol.header import question_parts

from .conftest import Command

EXAMPLES = Path(grucible.__file__).parent / "check/protocol/examples"
SEQUENCES = "openvino.GRUSequence-5/"


COMPILED = {
    "gru.c": ["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2", "{}", "-lm"],
    "gru.cpp": ["c++", "-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2", "{}"],
    "gru.rs": ["rustc", "-O", "{}"],
}
NAMES = [*COMPILED, "gru.mjs"]


_QUICKLY = {"-O2": "-O0", "-O": "-Copt-level=0"}


def built(name: str, folder: Path, *, quickly: bool = False) -> str:
    """The runtime that is the example of this name; `quickly` without optimization."""
    tool, *words = COMPILED.get(name, ["node"])
    if not shutil.which(tool):
        pytest.skip(f"no {tool} here")
    if name not in COMPILED:
        return f"exec: node {EXAMPLES / name}"
    words = [_QUICKLY.get(word, word) if quickly else word for word in words]
    command = [tool, *(word.format(EXAMPLES / name) for word in words), "-o", str(folder / "gru")]
    subprocess.run(command, check=True, capture_output=True)
    return f"exec: {folder / 'gru'}"


def in_c(tmp_path: Path) -> str:
    return built("gru.c", tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_conforms(name: str, tmp_path: Path, command: Command) -> None:
    runtime = built(name, tmp_path)
    asked = ["--require", f"{SEQUENCES}*/float32/*"]
    cases = len(core_cases())
    if name != "gru.c":  # the other operators' cases are asked of one example
        asked, cases = [*asked, "--select", f"{SEQUENCES}*"], 861
    ended = command("check", "--runtime", runtime, *asked)
    assert (ended.status, ended.err) == (0, "")
    first, *rest = ended.out.splitlines()
    assert first == (
        f"conforms where supported: 484 of {cases} cases passed, {cases - 484} unsupported"
    )
    assert f"{name} 1: {cases} cases" in ended.out
    at = rest.index(next(line for line in rest if line.startswith("dtype ")))
    assert [line.split()[:3] for line in rest[at + 1 : at + 3]] == [
        ["float32", "float32", "float32"],
        ["float64", "float64", "float64"],
    ]


TORCH_S = "openvino.*/plain*/*lbr*"


def test_torch_conforms_where_it_has_the_same(command: Command) -> None:
    pytest.importorskip("torch")
    runtime = f"exec: {sys.executable} {EXAMPLES / 'gru_torch.py'}"
    asked = ("--select", TORCH_S, "--require", "*/lbr", "--require", "*/bidirectional-lbr")
    ended = command("check", "--runtime", runtime, *asked, "--json")
    assert (ended.status, ended.err) == (0, "")
    passed = {c["id"] for c in ended.report["cases"] if c["verdict"] == "passed"}
    assert len(passed) == 24
    assert {"openvino.GRUCell-3/plain/float16/lbr-noB-n4"} < passed
    assert {"openvino.GRUSequence-5/plain/bfloat16/bidirectional-lbr"} < passed


def test_what_a_hello_does_not_name_is_not_asked(tmp_path: Path, command: Command) -> None:
    runtime = in_c(tmp_path)
    ended = command("check", "--runtime", runtime, "--select", "*/core/float16/*", "--json")
    messages = {case["message"] for case in ended.report["cases"]}
    assert messages == {
        "no float16: its hello names float32, float64",
        *(
            f"no {operator}: its hello names openvino.GRUSequence-5"
            for operator in OPERATORS
            if operator != "openvino.GRUSequence-5"
        ),
    }


DIES = """
import sys
print("grucible 1\\nend", flush=True)
sys.stdin.readline(), sys.stdin.readline()
sys.stdin.readline()
sys.exit(3)
"""


def test_after_many_deaths_in_a_row_it_is_asked_no_more(tmp_path: Path, command: Command) -> None:
    program = tmp_path / "dies.py"
    program.write_text(DIES)
    runtime = f"exec: {sys.executable} {program}"
    ended = command("check", "--runtime", runtime, "--select", "*/core/float32/*", "--json")
    verdicts = [case["verdict"] for case in ended.report["cases"]]
    assert verdicts[:20] == ["error"] * 20
    assert set(verdicts[20:]) == {"missing"}
    assert ended.report["cases"][-1]["message"] == (
        "not asked: the runtime died or did not answer 20 times in a row"
    )
    assert ended.status == 1


def test_the_page_shows_what_is_sent() -> None:
    """Its question is one of the core's, line for line as far as it goes."""
    page = (EXAMPLES.parent / "README.md").read_text()
    shown = page.partition("    question ")[2].partition("    end")[0].splitlines()
    asked = shown[0].strip()
    [case] = [case for case in core_cases() if case.id == asked]
    sent = question_parts(case.question)[0].decode().splitlines()
    for line in shown[1:]:
        assert line.strip() == "…" or line.strip() in sent, line
