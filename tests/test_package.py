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


def test_a_wheel_holds_exactly_the_tracked_files_of_the_rooms(tmp_path: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "cases", "gen", "vectors", "check", "__init__.py", "__main__.py", "py.typed"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    clone = tmp_path / "clone"
    for name in [*tracked, "pyproject.toml", "README.md", "LICENSE"]:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, clone], check=True
    )
    [wheel] = tmp_path.glob("*.whl")
    listed = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", wheel], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    names = {line.split()[0] for line in listed[1:]}
    inside = {name.removeprefix("grucible/") for name in names if name.startswith("grucible/")}
    assert inside == set(tracked)


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
