"""What is installed, and what importing costs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import grucible

ROOT = Path(__file__).parent.parent
INSTALLED = Path(grucible.__file__).parent


def test_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == grucible.__version__ == version("grucible")


def test_importing_and_help_load_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['grucible', '--help']\n"
        "import grucible\n"
        "from grucible.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'h5py', 'flint', 'pydantic', 'yaml', 'rich', 'openvino'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT.parent)


def test_every_command_works_without_optional_packages(tmp_path: Path) -> None:
    """As after `pip install .`; the extras' packages are what README's first look does not install."""
    (tmp_path / "gru.py").write_text("def run(question):\n    raise ValueError('kernel says no')\n")
    case = "openvino.GRUCell-3/plain/float32/default"
    optional = [
        "openvino",
        "onnx",
        "onnxruntime",
        "cv2",
        "tract",
        "MNN",
        "iree",
        "torch",
        "jinja2",
        "pytest",
        "hypothesis",
    ]
    code = (
        f"import sys; sys.modules |= dict.fromkeys({optional})\n"
        "from click.testing import CliRunner\n"
        "from grucible.__main__ import grucible as cli\n"
        "lines = [[name, '--help'] for name in cli.list_commands(None)]\n"
        f"lines += [['show', '{case}'], ['trace', '{case}'], ['show', '{case}', '--script', './gru.py:run']]\n"
        f"lines += [['check', '--runtime', './gru.py:run', '--select', '{case}', '--quiet']]\n"
        "for line in lines:\n"
        "    ended = CliRunner().invoke(cli, line)\n"
        "    print(line, ended.exit_code, ended.exception, ended.output[:300])\n"
        "    assert ended.exit_code == ('--quiet' in line), line\n"
        "assert '1 of 1 errors: ValueError: kernel says no' in ended.output\n"
        f"assert 'start with: grucible show {case}' in ended.output\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_typed() -> None:
    assert (INSTALLED / "py.typed").exists()
