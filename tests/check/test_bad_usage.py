"""Bad usage of `check` and `run` is one line; help is there."""

from __future__ import annotations

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
