"""README and FORMAT.md do what they say: their code and commands are run here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shipped import expanded

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FORMAT = (ROOT / "vectors" / "FORMAT.md").read_text(encoding="utf-8")


def block(text: str, language: str, holding: str) -> str:
    found = [b for b in re.findall(rf"```{language}\n(.*?)```", text, re.S) if holding in b]
    assert len(found) == 1
    return str(found[0])


def grucible(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "grucible", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env=environment, check=False
    )


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    code = block(README, "python", "def run(question)")
    assert code.count("\n") < 30
    file = tmp_path / "my_gru.py"
    file.write_text(code)
    return file


def test_the_numpy_runtime_passes_both_ways_of_naming_it(runtime: Path) -> None:
    for name, asked, says in (
        ("my_gru:run", (), "where supported: 913 of 1905 cases passed, 992 unsupported"),
        ("./my_gru.py:run", ("--select", "openvino.GRUCell-3/core/*"), ": 248 of 248 cases passed"),
    ):
        result = grucible("check", "--runtime", name, *asked, cwd=runtime.parent)
        assert result.returncode == 0, result.stdout + result.stderr
        assert result.stdout.splitlines()[0].removeprefix("conforms").lstrip() == says


def test_the_page_of_two_runtimes_is_of_cases_that_the_kernel_answers(runtime: Path) -> None:
    """The command's own selection, as far as it is cases of `plain`."""
    page = (ROOT / "check" / "README.md").read_text(encoding="utf-8")
    ((name, select),) = re.findall(r"check --runtime (\S+) --runtime \S+ --select '(\S+)'", page)
    asked = f"{select}/plain/float32/default"
    result = grucible("check", "--runtime", name, "--select", asked, cwd=runtime.parent)
    assert result.stdout.startswith("conforms: 2 of 2 cases passed"), result.stdout


def test_tests_of_one_s_own_pass_and_one_mistake_fails_them(runtime: Path) -> None:
    page = (ROOT / "check" / "README.md").read_text(encoding="utf-8")
    (runtime.parent / "test_gru.py").write_text(block(README, "python", "vectors.parametrize"))
    (runtime.parent / "test_more.py").write_text(block(page, "python", "vectors.parametrize"))
    (runtime.parent / "known.yaml").write_text("[]\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": f"{runtime.parent}:{ROOT.parent}"}
    right = runtime.read_text()
    mistake = right.replace(
        "r * (h @ Rh.T + rbh[0]) if rbh else (r * h) @ Rh.T",
        "(r * h) @ Rh.T + (rbh[0] if rbh else 0)",
    )
    assert mistake != right
    for code, status, says in (
        (right, 0, r"^\d+ passed in"),
        (mistake, 1, r"^\d+ failed, \d+ passed in"),
    ):
        runtime.write_text(code)
        result = subprocess.run(
            command,
            cwd=runtime.parent,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == status, result.stdout[-2000:]
        assert re.search(says, result.stdout.splitlines()[-1])
    assert "see: grucible show openvino.GRUCell-3/" in result.stdout


def test_exchanging_two_gates_fails_with_cases(runtime: Path) -> None:
    code = runtime.read_text()
    assert code.count("(Wz, Wr, Wh)") == 1
    runtime.write_text(code.replace("(Wz, Wr, Wh)", "(Wr, Wz, Wh)"))
    asked = ("--select", "openvino.*/core/float32/*", "--select", "openvino.GRUCell-3/plain/*")
    result = grucible("check", "--runtime", "my_gru:run", *asked, cwd=runtime.parent)
    assert result.returncode == 1
    first, *rest = result.stdout.splitlines()
    assert first.startswith("does not conform: ")
    assert "  openvino.GRUCell-3/plain/float32/default" in rest
    assert any(re.search(r"Ho\[\d, \d\]: expected .*, got .*; off by", line) for line in rest)
    assert rest[-1].startswith("start with: grucible show openvino.GRU")


def test_the_case_spec_makes_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "my_theme.yaml").write_text(block(README, "yaml", "sequence_lengths"))
    listed = grucible("cases", "my_theme.yaml", "--list", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    ids = listed.stdout.split()
    assert len(ids) == 2 * (3 * 2 * 2 - 2 + 1)
    assert "openvino.GRUSequence-5/my_theme/float16/reverse-lbr-relu_tanh" in ids
    made = grucible("gen", "my_theme.yaml", "-o", "my_out", cwd=tmp_path)
    assert "made 1 file with 22 cases in my_out" in made.stdout


def test_the_format_s_program_writes_outputs_that_conform(tmp_path: Path) -> None:
    shutil.copy(ROOT / "vectors" / "openvino" / "gru_cell" / "core.h5", tmp_path / "vectors.h5")
    code = block(FORMAT, "python", "grucible outputs")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    result = grucible("check", "vectors.h5", "--outputs", "outputs.h5", cwd=tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("conforms: 248 of 248 cases passed\nmine: ")


def test_readme_names_the_counts_of_today() -> None:
    count = sum(len(cases) for _, cases in expanded())
    assert f"{count:,} cases" in README
    core = sum(len(cases) for spec, cases in expanded() if spec.theme.startswith(("core", "plain")))
    assert f"{core} core cases" in README


def test_readme_links_lead_somewhere() -> None:
    pages = [ROOT / "README.md", *ROOT.glob("*/README.md"), ROOT / "vectors" / "FORMAT.md"]
    assert len(pages) >= 6
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
            assert (page.parent / target).exists(), (page, target)


COMMANDS = [[], *([word] for word in ("cases", "gen", "check", "compare", "probe", "run", "ask", "show", "trace", "shrink", "score",
                                      "export", "import", "answer", "runtimes"))]  # fmt: skip


def test_every_help_fits_80_columns() -> None:
    for command in COMMANDS:
        result = grucible(*command, "--help", cwd=ROOT.parent)
        assert result.returncode == 0
        assert max(map(len, result.stdout.splitlines())) <= 80
