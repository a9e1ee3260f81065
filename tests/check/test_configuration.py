"""Defaults of options from grucible.toml and pyproject.toml: where they are found, and what wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import HERE, Command, bad_usage
from .made import CELL

pytestmark = pytest.mark.usefixtures("in_this_process")

RIGHT, WRONG = f"{HERE / 'numpy_gru.py'}:run", f"{HERE / 'misbehaving.py'}:nan"


@pytest.fixture
def project(some_vectors: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of some vectors, which is the working directory."""
    monkeypatch.chdir(some_vectors.parent)
    return some_vectors.parent


def test_the_nearest_file_gives_defaults(
    project: Path, some_vectors: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").write_text(f"[tool.grucible]\nruntime = {WRONG!r}\njobs = 1\n")
    below = project / "below" / "it"
    below.mkdir(parents=True)
    (below.parent / "pyproject.toml").write_text("[tool.other]\nruntime = 3\n")
    monkeypatch.chdir(below)
    ended = command("check", some_vectors)
    assert ended.out.startswith("does not conform: 4 of 5 cases passed")
    assert ended.err.splitlines()[0] == f"grucible: defaults from {project / 'pyproject.toml'}"
    (project / "grucible.toml").write_text(f"runtime = {RIGHT!r}\n")
    assert command("check", some_vectors).out.startswith("conforms: 5 of 5 cases passed")
    (below / "grucible.toml").write_text(f"runtime = {WRONG!r}\n")
    assert command("check", some_vectors).status == 1


def test_the_command_line_wins(project: Path, some_vectors: Path, command: Command) -> None:
    (project / "grucible.toml").write_text(f"runtime = {WRONG!r}\nselect = '*/none'\njobs = 2\n")
    given = ("--runtime", RIGHT, "--select=*")
    ended = command("check", some_vectors, *given)
    assert (ended.status, ended.err.startswith("grucible: defaults from")) == (0, True)
    outputs = project / "outputs"
    assert command("run", some_vectors, "--runtime", RIGHT, "-o", outputs).status == 0
    ended = command("check", some_vectors, "--outputs", outputs, "--select", "*")
    assert (ended.status, ended.err) == (0, "")


def test_a_list_stands_for_an_option_given_again(project: Path, command: Command) -> None:
    select = "select = ['*/plain/*/lbr', '*/plain/*/clip*']"
    (project / "grucible.toml").write_text(f"{select}\ndtype = 'float32'\noperator = {CELL!r}\n")
    assert "3 of 3 cases passed" in command("check", "--runtime", RIGHT).out
    (project / "grucible.toml").write_text(f"runtime = [{RIGHT!r}, {WRONG!r}]\n")
    bad_usage(command("shrink", "x"), "grucible.toml: runtime: shrink takes one, not 2")


def test_expectations_are_of_the_runtime_beside_them(
    project: Path, some_vectors: Path, command: Command
) -> None:
    (project / "known.yaml").write_text(f"- {{cases: '{CELL}/*', reason: as it is}}\n")
    (project / "grucible.toml").write_text("expect = 'known.yaml'\n")
    assert command("check", some_vectors, "--runtime", WRONG).status == 0
    (project / "grucible.toml").write_text(f"expect = 'known.yaml'\nruntime = {WRONG!r}\n")
    assert "left out" not in (ended := command("check", some_vectors)).err
    assert ended.status == 0
    ended = command("check", some_vectors, "--runtime", WRONG)
    assert ended.status == 1
    assert "grucible.toml: expect is for its runtime, and left out" in ended.err


def test_a_trace_without_the_runtime(project: Path, command: Command) -> None:
    (project / "grucible.toml").write_text(f"runtime = {WRONG!r}\n")
    case = f"{CELL}/plain/float32/lbr"
    assert " passes: " in command("trace", case).out
    assert " passes: " not in command("trace", case, "--runtime", "").out


def test_paths_begin_at_the_file(
    project: Path, some_vectors: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "wrong.py").write_text((HERE / "misbehaving.py").read_text())
    (project / "known.yaml").write_text(f"- {{cases: '{CELL}/*', reason: as it is}}\n")
    (project / "grucible.toml").write_text("runtime = ['./wrong.py:nan']\nexpect = 'known.yaml'\n")
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    ended = command("check", some_vectors)
    assert (ended.status, "1 failed, all of them expected" in ended.out) == (0, True), ended
    printed = command("config").out.splitlines()
    assert printed[0] == str(project / "grucible.toml")
    assert printed[1].split() == ["runtime", repr(str(project / "wrong.py:nan"))]
    (project / "grucible.toml").write_text("runtime = ['exec: ./gru', 'my.py:run', 'openvino']\n")
    named = [line.split(maxsplit=1)[1] for line in command("config").out.splitlines()[1:]]
    assert named == ["'exec: ./gru'", repr(str(project / "my.py:run")), "'openvino'"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "jbos = 3",
            r"jbos: is not a key here \(did you mean 'jobs'\?\); expected runtime, select,",
        ),
        (
            "operator = ['onnx.GRU-41']",
            r"operator: 'onnx.GRU-41' is unknown \(did you mean 'onnx.GRU-14'\?\)",
        ),
        ("dtype = 'fp32'", r"dtype: 'fp32' is unknown \(did you mean 'float32'\?\)"),
        ("jobs = 'four'", "jobs: 'four'; expected a whole number from 1 on"),
        ("jobs = true", "jobs: True; expected a whole number"),
        ("jobs = 2.5", "jobs: 2.5; expected a whole number"),
        ("timeout = -5", "timeout: -5; expected a number above 0"),
        ("timeout = nan", "timeout: nan; expected a number above 0"),
        ("runtime = 3", "runtime: 3; expected a text"),
        ("select = []", "select: \\[\\]; expected a text"),
        ("select = ", "Invalid value"),
    ],
)
def test_what_cannot_be_used_has_its_place(
    text: str, says: str, project: Path, command: Command
) -> None:
    (project / "grucible.toml").write_text(text)
    bad_usage(command("check"), f"grucible.toml: {says}")
    bad_usage(command("config"), f"grucible.toml: {says}")
    assert command("check", "--help").status == 0


@pytest.mark.usefixtures("project")
def test_without_a_file(command: Command) -> None:
    assert command("config").out.startswith("no grucible.toml, and no pyproject.toml with")
    bad_usage(command("check"), "give one of --runtime NAME and --outputs PATH")


def test_an_operator_selects(command: Command) -> None:
    given = ("--operator", "openvino.GRUCell-3", "--select", "*/plain/float32/*")
    printed = command("check", "--runtime", RIGHT, *given).out
    assert "openvino.GRUSequence" not in printed
    assert printed.startswith("conforms: 23 of 23 cases passed")
    assert command("check", "--runtime", RIGHT, *given, "--json").report["select"] == [*given[1::2]]
    bad_usage(
        command("check", "--dtype", "fp32"), r"'fp32' is not one of .* \(did you mean 'float32'\?\)"
    )
    nothing = command("check", "--runtime", RIGHT, *given[:2], "--select", "onnx*")
    bad_usage(nothing, "no case is selected by --operator 'openvino.GRUCell-3' --select 'onnx.")


def test_vectors_that_are_named_are_asked_whole(
    project: Path, some_vectors: Path, command: Command
) -> None:
    (project / "grucible.toml").write_text("operator = 'onnx.GRU-14'\nselect = '*/none'\n")
    printed = command("check", some_vectors, "--runtime", RIGHT).out
    assert "5 of 5 cases passed" in printed
    nothing = command("check", "--runtime", RIGHT, "--select", "openvino.*")
    told = f"--operator 'onnx.GRU-14' (of {project / 'grucible.toml'}; the command line wins) "
    assert (nothing.status, f"{told}--select 'openvino.*'; see" in nothing.err) == (2, True)
    none = command("check", some_vectors, "--runtime", RIGHT, "--operator", "onnx.GRU-14")
    assert (none.status, "no case is selected by --operator 'onnx.GRU-14'" in none.err) == (2, True)


@pytest.mark.parametrize("text", ["tool = 1\n", "[tool]\nother = 1\n"])
def test_a_pyproject_that_says_nothing_is_passed_over(
    text: str, project: Path, command: Command
) -> None:
    (project / "pyproject.toml").write_text(text)
    assert command("config").out.startswith("no grucible.toml")
    (project / "pyproject.toml").write_text("[tool]\ngrucible = 'x'\n")
    bad_usage(command("config"), r"pyproject.toml: \[tool.grucible\]: 'x'; expected a table")
