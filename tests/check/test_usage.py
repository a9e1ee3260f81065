"""Options and arguments: bad usage is one line with the way to mend it, from a shell and from Python."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grucible import GrucibleError, Question, judge, load_vectors, trace, verify
from grucible import pytest as for_pytest

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
    "timeout 0": (["--runtime", NUMPY, "--timeout", "0"], "--timeout"),
    "timeout 5s": (
        ["--runtime", NUMPY, "--timeout", "5s"],
        "'--timeout': '5s' is not a valid number of seconds, such as 5; see: ",
    ),
    "timeout nan": (["--runtime", NUMPY, "--timeout", "nan"], "--timeout"),
    "timeout 10m": (["--runtime", NUMPY, "--timeout", "10m"], "'10m' is not a valid number of seconds, such as 5"),
    "rtol 1%": (["--runtime", NUMPY, "--rtol", "1%"], "'1%' is no float; expected a number such"),
    "maxfail 1.5": (["--runtime", NUMPY, "--maxfail", "1.5"], "'1.5' is no integer; expected a number"),
    "unknown option": (["--ulps", "1"], "No such option '?--ulps.*; see: grucible check --help$"),
}  # fmt: skip


OTHER_FILES = {
    "a model.onnx": "grucible model 'a model.onnx' --runtime onnxruntime$",
    "model.xml": "grucible model model.xml --runtime openvino$",
    "net.py": r"--runtime \./FILE\.py:FUNCTION; .*grucible model \./FILE\.py:FUNCTION --runtime torch$",
    "./net.py:make": "is a function; to judge it: --runtime net.py:make; .*grucible model net.py:make --runtime torch$",
    "./my-net/net.py:make": "is a function; to judge it: --runtime my-net/net.py:make; ",
    "net:make": "is a function; to judge it: --runtime net:make; ",
}


@in_this_process
@pytest.mark.parametrize("name", OTHER_FILES)
def test_what_is_neither_vectors_nor_outputs_is_sent_to_its_command(
    name: str, command: Command
) -> None:
    bad_usage(command("check", name), OTHER_FILES[name])
    bad_usage(command("check", "--outputs", name), OTHER_FILES[name])


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
    bad_usage(
        command("cases", "--list", "--schema"), "--list and --schema do not go together; give"
    )
    bad_usage(
        command("chek"), r"no command 'chek' \(did you mean 'check'\?\); see: grucible --help$"
    )
    asked = ("check", "--runtime", "onnx-reference", "--arithmetic", "fp32")
    bad_usage(command(*asked), r"'fp32' is not a class of arithmetic \(did you mean 'float32'\?\)")
    for words in (["--color", "always", "check"], ["check", "--color", "always"]):
        wrong = command(*words, "--runtime", "onnx-reference", "--arithmetic", "fp32")
        bad_usage(wrong, "'fp32' is not a class of arithmetic")
    bad_usage(command("cheque"), r"\(did you mean 'check'\?\)")
    bad_usage(command("xyzzy"), "no command 'xyzzy'; see: grucible --help$")
    ended = command()
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("Usage: grucible [OPTIONS] COMMAND [ARGS]...\n")


@in_this_process
def test_cases_that_the_core_lacks_can_be_made(command: Command, tmp_path: Path) -> None:
    """The command that the error names makes them."""
    some = "*attributes/float32/bidirectional-layout1-lbr0-Relu_*-clip1"
    asked = ["check", "--runtime", "onnx-reference", "--no-diagnose", "--select", some]
    said = command(*asked, "--operator", "onnx.GRU-14").said_in_one_line()
    make = re.search(
        r"; other cases are \(1\): make them with: grucible (gen .*) -o out, and give out", said
    )
    assert make, said
    made = command(*shlex.split(make[1]), "-o", tmp_path / "out")
    assert made.status == 0, made.err
    assert command("check", tmp_path / "out", *asked[1:]).out.startswith(
        "does not conform: 0 of 1 cases"
    )
    with pytest.raises(GrucibleError, match=r"; other cases are \(1\): make them with: "):
        next(load_vectors(select=f"{some} & onnx*"))


@in_this_process
@pytest.mark.parametrize(
    ("glob", "meant"),
    [
        ("onnx.GRU14/*", "onnx.GRU-14/*"),
        ("onnx.GRU-14/plan/*", "onnx.GRU-14/plain/*"),
        ("onnx.GRU-14/*/flaot32/*", "onnx.GRU-14/*/float32/*"),
        ("*/default & onnx.GRU-14/plan/*", "onnx.GRU-14/plain/*"),
    ],
)
def test_a_glob_with_a_typo_gets_a_suggestion(glob: str, meant: str, command: Command) -> None:
    says = rf"\(did you mean '{re.escape(meant)}'\?\); see the ids"
    for asked in (("cases", "--list"), ("check", "--runtime", "onnx-reference")):
        bad_usage(command(*asked, "--select", glob), says)


@pytest.mark.parametrize(
    ("arguments", "status", "first"),
    [
        (["check", "vectors", "--runtime", NUMPY], 0, "conforms: 5 of 5 cases passed"),
        (
            ["check", "vectors", "--runtime", WRONG, "--report", "html=r.html"],
            1,
            "does not conform: 4 of 5 cases",
        ),
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


def test_modules_of_the_working_directory_are_not_run(tmp_path: Path) -> None:
    for name in ("json", "pickle", "socket", "signal", "threadpoolctl", "re"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('ran')\n")
    ended = grucible_in(tmp_path, "check", "--runtime", NUMPY, "--select", "*/core/float32/relu*")
    errors = [one for one in ended.stderr.splitlines() if not one.startswith("grucible: checking")]
    assert (ended.returncode, errors) == (0, [])


@in_this_process
def test_check_judges_cases_of_the_dtype_alone(some_vectors: Path, command: Command) -> None:
    def judged(*options: str) -> list[str]:
        return list(command("check", some_vectors, "--runtime", NUMPY, "--json", *options).cases)

    assert judged("--dtype", "bfloat16") == ["d-bfloat16"]
    assert judged("--select", "*-good", "--dtype", "float32") == ["a-good", "c-good"]
    assert judged("--dtype", "bfloat16", "--select", "*good", "--select", "*d-*") == ["d-bfloat16"]
    assert len(judged("--dtype", "bfloat16", "--dtype", "float32")) == 6
    both = ("--dtype", "bfloat16", "--select", "*good")
    ended = command("check", some_vectors, "--runtime", NUMPY, *both)
    bad_usage(
        ended, r"no case is selected by --dtype 'bfloat16' --select '\*good'; see the ids with"
    )
    ended = command("check", some_vectors, "--runtime", NUMPY, "--dtype", "bf16")
    bad_usage(
        ended,
        r"'--dtype': 'bf16' is not one of 'float16', 'bfloat16', 'float32', 'float64' \(did you mean 'bfloat16'\?\); see: grucible check",
    )


PLAIN = "openvino.GRUCell-3/plain/float32/lbr"


def run(question: Question) -> Any:
    return question.buffers()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: judge(None, {}), "case is of type NoneType; expected a grucible.Case"),  # type: ignore[arg-type]
        (lambda: trace("a"), "case is of type str; expected a grucible.Case"),  # type: ignore[arg-type]
        (lambda: verify(runtime="openvino"), "runtime is of type str; expected a function"),  # type: ignore[arg-type]
        (lambda: verify(runtime=run, require=b"x"), r"require\[0\] is of type int; expected a text"),  # type: ignore[arg-type]
        (lambda: verify(runtime=run, arithmetic=[1]), r"arithmetic\[0\] is of type int; expected a text"),  # type: ignore[list-item]
        (lambda: verify(runtime=run, select=None), "select is of type NoneType; expected several, each a text"),  # type: ignore[arg-type]
        (lambda: verify(runtime=run, expectations="x"), r"expectations\[0\] is of type str; expected a"),  # type: ignore[arg-type]
        (lambda: for_pytest.load(expect=[1]), r"expect\[0\] is of type int; expected a grucible.Expect"),  # type: ignore[list-item]
        (lambda: list(load_vectors(select=1.5)), "select is of type float; expected several, each a text"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_another_type_is_refused_by_name(call: Any, says: str) -> None:
    with pytest.raises(TypeError, match=f"^{says}"):
        call()


@pytest.mark.parametrize("given", ["x", np.ones(2), -1.0, float("nan"), 1j])
def test_a_tolerance_is_a_number(given: Any) -> None:
    with pytest.raises(GrucibleError, match=r"^--rtol is .{1,410}; expected a finite number, not"):
        verify(runtime=run, rtol=given)


def test_numbers_and_arrays_of_texts_are_as_good_as_python_s_own() -> None:
    select: Any = np.array([PLAIN])
    report = verify(runtime=run, select=select, rtol=np.float32(0.5), atol=1)  # type: ignore[arg-type]
    assert report.counts == {"failed": 1}
