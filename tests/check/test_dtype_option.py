"""`--dtype` beside `--select`, in every command that takes both."""

from __future__ import annotations

from pathlib import Path

import pytest

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
