"""`--dtype` beside `--select`, in every command that takes both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import grucible

from .conftest import HERE, Command, bad_usage

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
pytestmark = pytest.mark.usefixtures("in_this_process")


def test_check_judges_cases_of_the_dtype_alone(some_vectors: Path, command: Command) -> None:
    def judged(*options: str) -> list[str]:
        return list(command("check", some_vectors, "--runtime", NUMPY, "--json", *options).cases)

    assert judged("--dtype", "bfloat16") == ["d-bfloat16"]
    assert judged("--select", "*-good", "--dtype", "float32") == ["a-good", "c-good"]
    assert judged("--dtype", "bfloat16", "--select", "*good", "--select", "*d-*") == ["d-bfloat16"]
    assert len(judged("--dtype", "bfloat16", "--dtype", "float32")) == 6
    ended = command(
        "check", some_vectors, "--runtime", NUMPY, "--dtype", "bfloat16", "--select", "*good"
    )
    bad_usage(ended, r"no case is selected by --dtype bfloat16 --select '\*good'; see the ids with")
    ended = command("check", some_vectors, "--runtime", NUMPY, "--dtype", "bf16")
    bad_usage(
        ended,
        "'--dtype': bf16; expected one of float16, bfloat16, float32, float64; see: grucible check",
    )


def test_so_do_run_and_ask(some_vectors: Path, tmp_path: Path, command: Command) -> None:
    options = ("--dtype", "bfloat16", "-o")
    ended = command(
        "run", some_vectors / "cell.h5", "--runtime", NUMPY, *options, tmp_path / "o.h5"
    )
    assert "1 ok" in ended.out + ended.err
    ended = command("ask", some_vectors / "cell.h5", *options, tmp_path / "asked")
    assert "1 question," in ended.out + ended.err


def test_a_command_to_go_on_with_has_it_as_it_was_given(
    some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    options = ("--dtype", "bfloat16", "--select", "*d-*")
    ended = command("ask", some_vectors, *options, "-o", tmp_path / "q")
    judged = f"  grucible check {some_vectors} --outputs {tmp_path / 'q'} --dtype bfloat16 --select '*d-*'"
    assert judged in ended.out.splitlines()
    page = tmp_path / "page.md"
    runtime = f"{HERE / 'misbehaving.py'}:unsupported"
    asked = ("profile", "--runtime", runtime, "--dtype", "float64", "--page", page)
    assert command(*asked).status == 0
    assert (
        f"grucible profile --runtime {runtime} --dtype float64 --page page.md" in page.read_text()
    )
    ended = command("runtimes", "--dtype", "float64")
    bad_usage(ended, "--dtype goes with --profile: it says what to ask")


def test_profile_asks_the_plain_questions_of_the_dtype(command: Command) -> None:
    ended = command(
        "profile",
        "--runtime",
        f"{HERE / 'misbehaving.py'}:unsupported",
        "--dtype",
        "float64",
        "--json",
    )
    [profile] = json.loads(ended.out)["profiles"]
    assert {row["dtype"] for row in profile["rows"]} == {"float64"}
    asked = [one for row in profile["rows"] for one in row["cases"]]
    assert {one.split("/")[1] for one in asked} == {"plain"}


def test_check_says_where_the_core_vectors_lie(some_vectors: Path, command: Command) -> None:
    one = ("--select", "openvino.GRUCell-3/plain/float32/default")
    lines = command("check", "--runtime", NUMPY, *one).out.splitlines()
    assert f"  in {grucible.CORE}" in lines
    out = command("check", some_vectors, "--runtime", NUMPY).out
    assert str(grucible.CORE) not in out
