"""The pages do what they say: their code and commands are run here."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shipped import expanded

from grucible import load_vectors
from grucible.__main__ import _COMMANDS

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "check" / "examples" / "my_gru.py"


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def block(name: str, language: str, containing: str = "") -> str:
    """Return the one block of a page in this language that contains the text."""
    found = re.findall(rf"```{language}\n(.*?)```", page(name), re.S)
    [only] = [one for one in found if containing in one]
    return str(only)


def commands(name: str, beginning: str) -> list[list[str]]:
    """List the words of a page's commands that begin so."""
    lines = re.findall(rf"^    ({beginning}.*?)(?:  #.*)?$", page(name), re.M)
    return [shlex.split(line) for line in lines]


def grucible(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return _run([sys.executable, "-m", "grucible", *arguments], cwd)


def _run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONWARNINGS": "ignore", "PYTHONPATH": f"{cwd}:{ROOT.parent}"}
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env=environment, check=False
    )


def test_the_question_shown_is_one() -> None:
    [case] = load_vectors(select="openvino.GRUCell-3/plain/float32/default")
    shown = f"{case.question}\n{case.question.attributes}\n"
    assert block("README.md", "pycon") == shown


def test_the_first_example_fails_as_shown_and_conforms_when_mended(tmp_path: Path) -> None:
    [command] = commands("README.md", "grucible check --runtime gru_cell")
    shown, mended = re.findall(r"```text\n(.*?)```", page("README.md"), re.S)
    wrong, right = re.findall(
        r"`(.*?)` is PyTorch's formula. GRUCell-3 wants `(.*?)`", page("README.md")
    )[0]
    code = block("README.md", "python")
    assert code.count(wrong) == 1
    for text, status, says in ((code, 1, shown), (code.replace(wrong, right), 0, mended)):
        (tmp_path / "gru_cell.py").write_text(text)
        result = grucible(*command[1:], cwd=tmp_path)
        assert result.returncode == status, result.stderr
        assert result.stdout.startswith(says)


def test_the_example_beside_it_answers_all_that_openvino_asks(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path)
    result = grucible("check", "--runtime", "my_gru:run", "--quiet", cwd=tmp_path)
    assert result.returncode == 0, result.stdout
    warnings = [one for one in result.stderr.splitlines() if not one.startswith("grucible: ")]
    assert not warnings  # a slow machine says how far it is
    first, _, reach, *_ = result.stdout.splitlines()
    assert first.startswith("conforms where supported: ")
    assert "supported: openvino.GRUCell-3, openvino.GRUSequence-5;" in reach


def test_tests_of_one_s_own_pass_and_one_mistake_fails_them(tmp_path: Path) -> None:
    (tmp_path / "test_gru.py").write_text(block("check/README.md", "python", "vectors.parametrize"))
    right = EXAMPLE.read_text(encoding="utf-8")
    recurrent = "r * (h @ Rh.T + rbh[0]) if rbh else (r * h) @ Rh.T"
    mistake = right.replace(recurrent, "(r * h) @ Rh.T + (rbh[0] if rbh else 0)")
    assert mistake != right
    for code, status, says in (
        (right, 0, r"^\d+ passed"),
        (mistake, 1, r"^\d+ failed, \d+ passed"),
    ):
        (tmp_path / "my_gru.py").write_text(code)
        result = _run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], tmp_path)
        assert result.returncode == status, result.stdout[-2000:]
        assert re.search(says, result.stdout.splitlines()[-1])


def test_the_expectations_shown_are_a_list_that_check_takes(tmp_path: Path) -> None:
    shutil.copy(EXAMPLE, tmp_path)
    (tmp_path / "known.yaml").write_text(block("check/README.md", "yaml", "reason"))
    asked = ("--select", "openvino.GRUCell-3/plain/*", "--expect", "known.yaml", "--allow-stale")
    result = grucible("check", "--runtime", "my_gru:run", *asked, cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_case_spec_shown_makes_cases(tmp_path: Path) -> None:
    (tmp_path / "my_theme.yaml").write_text(block("CONTRIBUTING.md", "yaml", "sequence_lengths"))
    made = grucible("gen", "my_theme.yaml", "-o", "my_out", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    listed = grucible("cases", "my_theme.yaml", "--list", cwd=tmp_path).stdout.split()
    assert f"made 1 file with {len(listed)} cases in my_out" in made.stdout
    assert "openvino.GRUSequence-5/my_theme/float16/reverse-lbr-relu_tanh" in listed


def test_the_format_s_program_writes_outputs_that_conform(tmp_path: Path) -> None:
    shutil.copy(ROOT / "vectors" / "openvino" / "gru_cell" / "core.h5", tmp_path / "vectors.h5")
    code = block("vectors/FORMAT.md", "python", "grucible outputs")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    result = grucible("check", "vectors.h5", "--outputs", "outputs.h5", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("conforms: 248 of 248 cases passed\n")


def test_counts_are_those_of_today() -> None:
    count = sum(len(cases) for _, cases in expanded())
    assert f"{count:,} cases" in page("README.md")
    core = sum(len(cases) for spec, cases in expanded() if spec.theme.startswith(("core", "plain")))
    assert f"{core} core cases" in page("README.md")


def test_links_lead_somewhere() -> None:
    rooms = [
        file
        for room in ("cases", "vectors", "gen", "check")
        for file in (ROOT / room).rglob("*.md")
    ]
    for one in [*ROOT.glob("*.md"), *rooms]:
        text = re.sub(r"```.*?```", "", one.read_text(encoding="utf-8"), flags=re.S)
        for target in re.findall(r"\]\((?!<?https?:)([^)]+)\)", text):
            name, _, anchor = target.partition("#")
            other = (one.parent / name).resolve() if name else one
            assert other.exists(), (one, target)
            assert not anchor or anchor in _anchors(other), (one, target)
        named = re.findall(r"`((?:cases|vectors|gen|check|tests|\.ci)/[\w./-]*)[`\s]", text)
        for path in named if one.parent in (ROOT, ROOT / "check") else []:
            assert (ROOT / path).exists(), (one, path)


def _anchors(file: Path) -> set[str]:
    """List the headings of a page as GitHub links to them, and the anchors written out."""
    text = file.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)", text, re.M)
    linked = {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
    return linked | set(re.findall(r'<a id="(.*?)">', text))


@pytest.mark.parametrize("command", ["", *_COMMANDS])
def test_every_command_that_pages_name_has_its_options(command: str) -> None:
    """And its help fits 80 columns, but for the places of pages, and breaks neither options nor paths."""
    result = grucible(*command.split(), "--help", cwd=ROOT.parent)
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    assert all(len(line) <= 80 or str(ROOT) in line for line in lines)
    assert not [line for line in lines if line.endswith("-")]
    pages = re.findall(r"[\w./-]+\.md\b", result.stdout)
    assert all(Path(page).is_file() for page in pages if page != "profiles.md"), pages
    named = [
        (name, words)
        for name in ("README.md", "CONTRIBUTING.md", "check/README.md", "check/MEASURED.md")
        for words in commands(name, f"grucible {command} ")
    ]
    for name, words in named if command else []:
        options = [word for word in words[2:] if word.startswith("--")]
        assert all(re.search(rf"{option}\b", result.stdout) for option in options), (name, words)
