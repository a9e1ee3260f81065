"""A program that `grucible new` begins lacks nothing but the kernel."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from grucible import verify
from grucible.cases.operators import OPERATORS
from grucible.check.cli.scaffolding import LANGUAGES

from .conftest import Command


def begun(command: Command, folder: Path, language: str, *more: str) -> list[str]:
    """Begin a program in a folder; return the commands that are printed."""
    ended = command("new", language, "-o", folder, *more)
    assert (ended.status, ended.err) == (0, "")
    return [line.strip() for line in ended.out.splitlines() if line.startswith("    ")]


@pytest.mark.parametrize("language", ["c", "cpp", "rust", "js"])
def test_a_program_speaks_the_protocol_and_gives_zeros(
    language: str, tmp_path: Path, command: Command
) -> None:
    folder = tmp_path / "my gru"
    _, *build, probe, check = begun(command, folder, language, "--operator", "onnx.GRU-14")
    for line in (*build, probe):
        tool = shlex.split(line)[0].replace("grucible", "node" if language == "js" else "true")
        if not shutil.which(tool):
            pytest.skip(f"no {tool} here")
    for line in build:
        subprocess.run(shlex.split(line), cwd=folder, check=True, capture_output=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert command(*shlex.split(probe)[1:]).status == 0
        ended = command(*shlex.split(check)[1:-1], "onnx.GRU-14/plain/float32/*", "--json")
    assert {case["verdict"] for case in ended.report["cases"]} == {"failed"}
    assert "zero everywhere" in ended.report["diagnosis"][0]["about"]


def test_a_kernel_in_c_may_refuse_where_it_reads_attributes(
    tmp_path: Path, command: Command
) -> None:
    """What follows the refusal does nothing: each question has one answer."""
    _, build, *_ = begun(command, tmp_path, "c", "--dtype", "float32")
    file = tmp_path / "gru.c"
    refusing = (
        '\n    if (clip < 1) { gr_refuse(q, "no"); gr_refuse(q, "twice"); return; }\n}\n\nint main'
    )
    text = file.read_text()
    assert text.count("\n}\n\nint main") == 1
    file.write_text(text.replace("\n}\n\nint main", refusing))
    subprocess.run(shlex.split(build), cwd=tmp_path, check=True, capture_output=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        asked = "openvino.GRUSequence-5/plain/float32/*"
        cases = command("check", "--runtime", "exec: ./gru", "--select", asked, "--json").report[
            "cases"
        ]
    assert {one["verdict"] for one in cases} == {"failed", "unsupported"}
    unsupported = [one for one in cases if one["verdict"] == "unsupported"]
    assert {one["message"] for one in unsupported} == {"no"}
    assert all("clip0" in one["id"] for one in unsupported)


@pytest.mark.parametrize("language", LANGUAGES)
def test_comments_fit_and_give_the_order_of_gates_and_biases(
    language: str, tmp_path: Path, command: Command
) -> None:
    begun(command, tmp_path, language, "--operator", "webnn.gru")
    lines = (tmp_path / LANGUAGES[language].file).read_text().splitlines()
    comments = [line for line in lines if line.lstrip().startswith(("// ", "# "))]
    assert max(map(len, comments)) <= 100
    text = " ".join(one.strip(" /#") for one in lines)
    assert "(r, z, n) or numDirections x 3*hiddenSize x inputSize (z, r, n), by layout" in text
    assert "(recurrentBias_z, recurrentBias_r, recurrentBias_n), by layout" in text


def test_the_command_that_judges_names_the_dtypes(tmp_path: Path, command: Command) -> None:
    """So does the program, for the numbers that have another dtype."""
    *_, check = begun(command, tmp_path, "python", "--dtype", "float32")
    shown = (tmp_path / "gru.py").read_text()
    assert check.endswith("--select 'openvino.GRUSequence-5/*' --dtype float32")
    assert check in shown
    assert 'inputs["sequence_lengths"]  # batch_size; int64 or int32\n' in shown
    assert shown.count("int64") == 1
    *_, check = begun(command, tmp_path / "all", "python")
    assert "--dtype" not in check


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_kernel_of_each_operator_is_begun(
    operator: str, tmp_path: Path, command: Command
) -> None:
    """In C and C++ it compiles without a warning, but that it uses nothing yet; in Python it gives zeros."""
    for language, *tool in (["c", "cc", "-std=c99"], ["cpp", "c++", "-std=c++17"]):
        begun(command, tmp_path / language, language, "--operator", operator)
        words = [*tool, "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-fsyntax-only"]
        file = tmp_path / language / LANGUAGES[language].file
        text = file.read_text()
        file.write_text(text.replace("*q) {\n", "*q) {\n    float one = expf(0);\n", 1))
        subprocess.run([*words, str(file)], check=True, capture_output=True)
    begun(command, tmp_path, "python", "--operator", operator, "--dtype", "float32")
    spec = importlib.util.spec_from_file_location("begun", tmp_path / "gru.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    report = verify(runtime=module.run, select=f"{operator}/plain/*", diagnosis=False)
    found = {(one.dtype == "float32", one.verdict) for one in report.results if one.decides}
    assert (True, "failed") in found
    assert found <= {(True, "failed"), (True, "passed"), (False, "unsupported")}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["c", "--dtype", "fp32"], "; it has float32, float16"),
        (["c", "--dtype", "fp32"], "(did you mean 'float32'?)"),
        (["c", "--operator", "GRU"], "operator is 'GRU'; expected one of openvino.GRUCell-3"),
        (["c", "--operator", "onnx.gru"], "(did you mean 'onnx.GRU-14'?); expected one of"),
        (["c", "--operator", "torch.gru"], "(did you mean 'torch.GRU'?)"),
        (["C"], "(did you mean 'c'?)"),
    ],
)
def test_what_cannot_be_begun_is_refused(
    words: list[str], told: str, tmp_path: Path, command: Command
) -> None:
    ended = command("new", *words, "-o", tmp_path / "new")
    assert (ended.status, ended.out) == (2, "")
    assert told in ended.err
    assert not (tmp_path / "new").exists()


def test_no_file_is_overwritten(tmp_path: Path, command: Command) -> None:
    """Not even where another one of the program is missing."""
    (tmp_path / "grucible.h").write_text("mine")
    ended = command("new", "c", "-o", tmp_path)
    assert (ended.status, "is there already; name another folder" in ended.err) == (2, True)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("grucible.h", "mine")]
