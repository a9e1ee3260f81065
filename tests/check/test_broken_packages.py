"""Optional packages that are not there, do not import, or are another module of their name."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from grucible.cases.errors import GrucibleError, RuntimeNotUsable
from grucible.cases.packages import needing
from grucible.check import runtimes
from grucible.check.runtimes.runtime import load_registered

from .made import make_block, write_vectors

BROKEN = {
    "exits": ("import sys\nsys.exit(0)\n", "SystemExit: 0"),
    "raises": ("raise RuntimeError('no\\nlicence')\n", "RuntimeError: no licence"),
    "is another": ("x = 1\n", r"Error: .*(cannot import name|is not a package)"),
    "is no Python": ("def (\n", "SyntaxError: "),
}
COMMANDS = {
    "jinja2": ["check", "cell.h5", "--runtime", "none-such", "--report", "html=page.html"],
    "onnx": ["export", "cell.h5", "--to", "onnx", "-o", "out"],
    "openvino": ["export", "cell.h5", "--to", "openvino", "-o", "out"],
}
ALL = """
import json, sys
from grucible.__main__ import main
for words in json.loads(sys.argv[1]):
    try:
        main(args=words)
    except SystemExit as ended:
        print(ended.code, file=sys.stderr)
"""
"""Runs commands in a process of their own: what they import stays there."""


def stand_in_for(package: str, text: str, folder: Path) -> Path:
    """A module in a folder that has the name of a package."""
    place = folder.resolve() / f"{package}.py"
    place.write_text(text)
    return place


@pytest.mark.parametrize("how", BROKEN)
def test_what_an_import_raises_is_one_line_before_any_work(how: str, tmp_path: Path) -> None:
    text, says = BROKEN[how]
    places = {package: stand_in_for(package, text, tmp_path) for package in COMMANDS}
    write_vectors(tmp_path / "cell.h5", make_block(["a"]))
    path = os.pathsep.join([str(tmp_path), *sys.path])
    ended = subprocess.run(
        [sys.executable, "-P", "-c", ALL, json.dumps([*COMMANDS.values()])],
        capture_output=True, text=True, cwd=tmp_path, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, "")
    lines = ended.stderr.splitlines()
    assert (len(lines), lines[1::2]) == (6, ["2"] * 3), ended.stderr
    for said, (package, place) in zip(lines[::2], places.items(), strict=True):
        assert re.search(rf"needs {package}, which does not import \(.*{says}", said), said
        assert f"rename {place}, where that is another module of its name, or reinstall it" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("how", BROKEN)
def test_a_runtime_by_name(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, says = BROKEN[how]
    engine = f"grucible_no_engine_{list(BROKEN).index(how)}"  # each is imported once
    place = stand_in_for(engine, text, tmp_path)
    asks = stand_in_for(f"{engine}_asks", f"from {engine} import engine\n", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(runtimes, "__path__", [*runtimes.__path__, str(tmp_path)])
    module = f"{runtimes.__name__}.{asks.stem}"  # one of grucible's own, whose extras are known
    point = EntryPoint("engine-constant", f"{module}:run", "grucible.runtimes")
    with pytest.raises(RuntimeNotUsable, match=f"runtime engine-constant does not load: .*{says}"):
        load_registered(point)
    with pytest.raises(RuntimeNotUsable, match=f"rename {place}, where .*'grucible\\[engine\\]'"):
        load_registered(point)


def test_what_is_installed_is_not_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that lacks another one is not said to be missing itself."""
    pytest.importorskip("onnx")
    with (
        pytest.raises(GrucibleError, match=r"needs onnx, which .*'protobuf'\); reinstall it: pip"),
        needing("onnx", "onnx", "this"),
    ):
        raise ModuleNotFoundError("No module named 'protobuf'", name="protobuf")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with (
        pytest.raises(GrucibleError, match=r"^this needs onnx: pip install 'grucible\[onnx\]'$"),
        needing("onnx", "onnx", "this"),
    ):
        import onnx  # noqa: F401


def test_ctrl_c_is_no_error_of_a_package() -> None:
    with pytest.raises(KeyboardInterrupt), needing("onnx", "onnx", "this"):
        raise KeyboardInterrupt
