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


def test_typed() -> None:
    assert (INSTALLED / "py.typed").exists()
