"""Bad usage of `check` and `run` is one line; help is there."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from .conftest import HERE, Command, bad_usage

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
WRONG = f"{HERE / 'misbehaving.py'}:nan"
pytestmark = pytest.mark.usefixtures("in_this_process")


BAD_USAGE: dict[str, tuple[list[str], str]] = {
    "neither runtime nor outputs": ([], "give one of --runtime NAME and --outputs PATH"),
    "both": (
        ["--runtime", NUMPY, "--outputs", "."],
        "give one of --runtime NAME and --outputs PATH",
    ),
    "ulp and rtol": (["--runtime", NUMPY, "--ulp", "1", "--rtol", "1"], "--ulp goes with neither"),
    "ulp and atol": (["--runtime", NUMPY, "--ulp", "1", "--atol", "0"], "--ulp goes with neither"),
    "rtol negative": (["--runtime", NUMPY, "--rtol", "-1"], "--rtol is -1.0; expected a finite"),
    "atol nan": (["--runtime", NUMPY, "--atol", "nan"], "--atol is nan; expected a finite number"),
    "ulp inf": (["--runtime", NUMPY, "--ulp", "inf"], "--ulp is inf; expected a finite number"),
    "rtol a word": (["--runtime", NUMPY, "--rtol", "tight"], "'--rtol'.*not a valid float"),
    "timeout 0": (["--runtime", NUMPY, "--timeout", "0"], "--timeout"),
    "timeout negative": (["--runtime", NUMPY, "--timeout", "-5"], "--timeout"),
    "timeout nan": (["--runtime", NUMPY, "--timeout", "nan"], "--timeout"),
    "timeout 1_0": (
        ["--runtime", NUMPY, "--timeout", "1_0"],
        "'--timeout'.*'1_0' is not a valid float",
    ),
    "two vectors": (["more.h5", "--runtime", NUMPY], r"unexpected extra argument"),
    "unknown option": (["--runtime", NUMPY, "--tolerance", "1"], "--tolerance"),
}


@pytest.mark.parametrize("name", BAD_USAGE)
def test_bad_usage(name: str, some_vectors: Path, command: Command) -> None:
    options, says = BAD_USAGE[name]
    bad_usage(command("check", some_vectors, *options), says)


@pytest.mark.parametrize("seconds", ["inf", "1e300", "3e6", "0.5"])
def test_a_long_timeout_is_a_long_time(seconds: str, some_vectors: Path, command: Command) -> None:
    options = ["--select", "*/a-good", "--timeout", seconds]
    ended = command("check", some_vectors, "--runtime", NUMPY, *options)
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("conforms: 1 of 1 cases passed\n")


@pytest.mark.parametrize("verb", ["check", "run", "show", "runtimes"])
def test_help(verb: str, command: Command) -> None:
    ended = command(verb, "--help")
    assert ended.status == 0
    assert ended.out.startswith(f"Usage: grucible {verb} ")
    assert command(verb, "-h").out == ended.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "", "--runtime", NUMPY],
        ["check", "--outputs", ""],
        ["check", "--runtime", NUMPY, "--expect", ""],
        ["run", "", "--runtime", NUMPY, "-o", "out"],
        ["run", "--runtime", NUMPY, "-o", ""],
        ["gen", "", "-o", "out"],
        ["gen", "-o", ""],
        ["cases", ""],
        ["score", ""],
    ],
)
def test_an_empty_text_is_no_path(arguments: list[str], command: Command) -> None:
    """It is a variable that was not set, and not the working directory."""
    bad_usage(command(*arguments), "an empty text is no path")


def test_what_is_wrong_says_where_to_read_on(command: Command) -> None:
    bad_usage(
        command("check", "--ulps", "1"), "No such option '?--ulps.*; see: grucible check --help$"
    )
    bad_usage(command("chek"), "No such command 'chek'; see: grucible --help$")


def test_without_a_command_there_is_help(command: Command) -> None:
    ended = command()
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("Usage: grucible [OPTIONS] COMMAND [ARGS]...\n")


def test_a_report_into_a_pipe_that_nobody_reads(
    some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    os.mkfifo(tmp_path / "pipe")
    options = ["--select", "*/a-good", "--report", f"json={tmp_path / 'pipe'}"]
    ended = command("check", some_vectors, "--runtime", NUMPY, *options)
    assert ended.status == 2
    assert ended.err == f"grucible: {tmp_path}/pipe: cannot be written (a pipe that nobody reads)\n"


def test_a_report_into_a_pipe_that_somebody_reads(
    some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    options = ["--select", "*/a-good", "--report", f"json={tmp_path / 'pipe'}"]
    assert command("check", some_vectors, "--runtime", NUMPY, *options).status == 0
    reader.join()
    assert json.loads(read[0])["verdict"] == "conforms"


@pytest.mark.parametrize("given", ["list json", "schema json", "list invalid json", "extend list"])
def test_what_cases_prints_is_one_thing(given: str, command: Command) -> None:
    said = command("cases", *(f"--{one}" for one in given.split())).said_in_one_line()
    assert "do not go together; give one of them" in said
    assert all(f"--{one}" in said for one in given.split())
    both = command("cases", "--list", "--invalid").out
    assert both == command("cases", "--invalid").out != ""


@pytest.mark.parametrize("option", ["--expect", "--write-expect"])
def test_what_makes_a_list_of_expected_findings_fit(
    option: str, tmp_path: Path, command: Command
) -> None:
    large = tmp_path / "expected.yaml"
    for text, says in (
        ("#" * ((4 << 20) + 1), "expected.yaml: is larger than 4 MiB; let globs name the cases"),
        (f"[{'a, ' * 250_000}]", ":1: more than 250,000 values; let globs name the cases"),
    ):
        large.write_text(text)
        ended = command("check", "--runtime", "no:such", option, large)
        assert says in ended.said_in_one_line()
    spec = tmp_path / "spec.yaml"
    spec.write_text("#" * ((4 << 20) + 1))
    assert "larger than 4 MiB; split the file" in command("cases", spec).said_in_one_line()


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["check", ".", "--runtime", "onnxruntime"], ".: "),
        (["cases", "."], ""),
        (["gen", "-o", "."], ""),
    ],
)
def test_the_current_directory_is_gone(
    words: list[str], place: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert command(*words).said_in_one_line() == (
        f"grucible: {place}No such file or directory; the current directory is gone: change to another\n"
    )
