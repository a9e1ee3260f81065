"""Bad usage is one line with the way to mend it; a shell sees the exit status; help is there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import HERE, Command, bad_usage, grucible_in
from .made import CELL

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
WRONG = f"{HERE / 'misbehaving.py'}:nan"
in_this_process = pytest.mark.usefixtures("in_this_process")

BAD_USAGE: dict[str, tuple[list[str], str]] = {
    "neither runtime nor outputs": ([], "give one of --runtime NAME and --outputs PATH"),
    "both": (["--runtime", NUMPY, "--outputs", "."], "give one of --runtime NAME and --outputs PATH"),
    "ulp and rtol": (["--runtime", NUMPY, "--ulp", "1", "--rtol", "1"], "--ulp goes with neither"),
    "rtol negative": (["--runtime", NUMPY, "--rtol", "-1"], "--rtol is -1.0; expected a finite"),
    "atol nan": (["--runtime", NUMPY, "--atol", "nan"], "--atol is nan; expected a finite number"),
    "ulp inf": (["--runtime", NUMPY, "--ulp", "inf"], "--ulp is inf; expected a finite number"),
    "rtol a word": (["--runtime", NUMPY, "--rtol", "tight"], "'--rtol'.*not a valid float"),
    "timeout 0": (["--runtime", NUMPY, "--timeout", "0"], "--timeout"),
    "timeout nan": (["--runtime", NUMPY, "--timeout", "nan"], "--timeout"),
    "two vectors": (["more.h5", "--runtime", NUMPY], r"unexpected extra argument"),
    "unknown option": (["--ulps", "1"], "No such option '?--ulps.*; see: grucible check --help$"),
}  # fmt: skip


@in_this_process
@pytest.mark.parametrize("name", BAD_USAGE)
def test_bad_usage(name: str, some_vectors: Path, command: Command) -> None:
    options, says = BAD_USAGE[name]
    bad_usage(command("check", some_vectors, *options), says)


@in_this_process
def test_help(command: Command) -> None:
    ended = command("check", "--help")
    assert ended.status == 0
    assert ended.out.startswith("Usage: grucible check ")
    assert command("check", "-h").out == ended.out
    bad_usage(command("chek"), "No such command 'chek'; see: grucible --help$")
    ended = command()
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("Usage: grucible [OPTIONS] COMMAND [ARGS]...\n")


@in_this_process
@pytest.mark.parametrize("given", ["list json", "list invalid json", "extend list"])
def test_what_cases_prints_is_one_thing(given: str, command: Command) -> None:
    said = command("cases", *(f"--{one}" for one in given.split())).said_in_one_line()
    assert "do not go together; give one of them" in said
    both = command("cases", "--list", "--invalid").out
    assert both == command("cases", "--invalid").out != ""


@in_this_process
def test_what_makes_a_yaml_file_fit(tmp_path: Path, command: Command) -> None:
    large = tmp_path / "large.yaml"
    large.write_text("#" * ((4 << 20) + 1))
    ended = command("check", "--runtime", "no:such", "--expect", large)
    assert "large.yaml: is larger than 4 MiB" in ended.said_in_one_line()
    assert "let globs name the cases" in ended.err
    assert "split the file" in command("cases", large).said_in_one_line()


@pytest.mark.parametrize(
    ("arguments", "status", "first"),
    [
        (["check", "vectors", "--runtime", NUMPY], 0, "conforms: 5 of 5 cases passed"),
        (["check", "vectors", "--runtime", WRONG], 1, "does not conform: 4 of 5 cases"),
        (["check", "vectors", "--runtime", "nonsense"], 2, ""),
        (["show", "vectors", "*/a-good"], 0, f"{CELL}/made/float32/a-good"),
    ],
)
def test_a_shell_sees_the_exit_status(
    arguments: list[str], status: int, first: str, some_vectors: Path
) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "grucible", *arguments],
        capture_output=True, text=True, check=False, cwd=some_vectors.parent,
        env={**os.environ, "FORCE_COLOR": "1"},
    )  # fmt: skip
    assert ended.returncode == status, ended.stderr
    assert ended.stdout.startswith(first)
    assert "\x1b" not in ended.stdout
    if status == 2:
        assert ended.stdout == ""
        assert ended.stderr.startswith("grucible: ")
        assert ended.stderr.count("\n") == 1


def test_an_error_of_our_own_prints_its_traceback_and_exits_70() -> None:
    code = (
        "from grucible.__main__ import main\n"
        "import grucible.cases.specs.expand as expand\n"
        "expand.expand_all = lambda *_: 1 / 0\nmain(args=['cases'])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (70, "")
    assert "Traceback" in ended.stderr
    assert "ZeroDivisionError: division by zero. Please report it" in ended.stderr.splitlines()[-1]


def test_modules_of_the_working_directory_are_not_run(tmp_path: Path) -> None:
    for name in ("json", "pickle", "socket", "signal", "threadpoolctl", "re"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('ran')\n")
    ended = grucible_in(tmp_path, "check", "--runtime", NUMPY, "--select", "*/core/float32/relu*")
    assert (ended.returncode, ended.stderr) == (0, "")
