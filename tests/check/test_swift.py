"""The Swift example for Apple's BNNSGraph, and the page that shows it.

No Apple machine is here. Where a `swiftc` is installed (Debian 13 has it as swiftlang), the example runs with
Accelerate.swift, beside this file, in the place of Apple's module.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from printed import sentence_of
from shipped import core_cases

from grucible.cases.operators.bnnsgraph import GRU

from .conftest import HERE, Command

ROOT = HERE.parent.parent
SOURCE = (ROOT / "check/protocol/examples/gru.swift").read_text(encoding="utf-8")
PAGE = (ROOT / "cases/bnnsgraph/SWIFT.md").read_text(encoding="utf-8")
SELECT = ("--select", "bnnsgraph.*")
BNNS = sum(case.operator == "bnnsgraph.gru" for case in core_cases())


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module named Accelerate."""
    if not shutil.which("swiftc"):
        pytest.skip("no swiftc here")
    folder = tmp_path_factory.mktemp("accelerate")
    words = "-O -parse-as-library -module-name Accelerate -emit-module -emit-object -o Accelerate.o"
    swiftc(folder, *words.split(), HERE / "Accelerate.swift")
    return folder


def swiftc(folder: Path, *words: str | Path) -> None:
    subprocess.run(["swiftc", "-warnings-as-errors", *words], cwd=folder, check=True)


def built(stand_in: Path, source: str, folder: Path, *options: str) -> Path:
    """The program of some Swift."""
    (folder / "gru.swift").write_text(source, encoding="utf-8")
    module = ("-I", stand_in, stand_in / "Accelerate.o")
    swiftc(folder, "-O", *options, "gru.swift", *module, "-o", "gru")
    return folder / "gru"


@pytest.fixture(scope="module")
def gru(stand_in: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as it is."""
    return built(stand_in, SOURCE, tmp_path_factory.mktemp("gru"))


def first_line(command: Command, program: Path) -> str:
    ended = command("check", "--runtime", f"exec: {program}", *SELECT)
    assert ended.err == ""
    return sentence_of(ended.out)


def test_it_conforms(gru: Path, command: Command) -> None:
    probed = command("probe", f"exec: {gru}")
    assert (probed.status, probed.err) == (0, "")
    assert {
        line.split()[0] for line in probed.out.splitlines() if re.match(r"\w+ +[\w ]+: ", line)
    } == {"ok"}
    ended = command("check", "--runtime", f"exec: {gru}", "--require", "bnnsgraph.*")
    assert (ended.status, ended.err) == (0, "")
    every = len(core_cases())
    assert sentence_of(ended.out) == (
        f"conforms where supported: {BNNS} of {every} cases passed, {every - BNNS} unsupported"
    )


@pytest.mark.parametrize("order", ["exchanged", "arguments-first", "exchanged arguments-first"])
def test_the_order_of_arguments_is_bnns_s_own(
    order: str, gru: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", order)
    assert first_line(command, gru) == f"conforms: {BNNS} of {BNNS} cases passed"


@pytest.mark.parametrize(
    ("fault", "says"),
    [("padded", "bytes; expected"), ("unnamed", "the graph's arguments are"), ("throws", "unable")],
)
def test_what_bnns_does_otherwise_is_an_error_of_the_case(
    fault: str, says: str, gru: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", fault)
    report = command("check", "--runtime", f"exec: {gru}", *SELECT, "--json").report
    assert report["summary"]["errors"] == BNNS
    assert all(says in case["message"] for case in report["cases"])


def test_weights_can_be_arguments(stand_in: Path, tmp_path: Path, command: Command) -> None:
    """The change that the page gives, in Swift 6's mode too, which Xcode's projects may have."""
    assert "`argument(…)` for the four `constant(…)`" in PAGE
    assert "all six tensors in `let arguments = […]`" in PAGE
    source, count = re.subn(r": constant\(", ": argument(", SOURCE)
    assert count == 4
    ours = "let arguments = [x, initialHiddenStates]"
    assert source.count(ours) == 1
    every = ", ".join(tensor.name for tensor in GRU.inputs)
    source = source.replace(ours, f"let arguments = [{every}]")
    program = built(stand_in, source, tmp_path, "-swift-version", "6")
    assert first_line(command, program) == f"conforms: {BNNS} of {BNNS} cases passed"


def test_it_calls_gru_as_apple_declares_it() -> None:
    """The labels of the call are those in the address of Apple's page, in their order."""
    [call] = re.findall(r"\.gru\(\n(.*?)\)\n *return", SOURCE, re.S)
    labels = re.findall(r"(\w+): ", call)
    declared = GRU.source.partition("/gru(")[2].removesuffix(":)").split(":")
    assert [label.lower() for label in labels] == declared
