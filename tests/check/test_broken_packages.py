"""Optional packages that are not there, do not import, or are another module of their name."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

import grucible.check.reports.html
import grucible.vectors.exchange
from grucible.cases.errors import GrucibleError, RuntimeNotUsable
from grucible.cases.packages import needing
from grucible.check.runtimes.runtime import load_registered

from .conftest import Command
from .made import make_block, write_vectors

BROKEN = {
    "exits": ("import sys\nsys.exit(0)\n", "SystemExit: 0"),
    "raises": ("raise RuntimeError('no\\nlicence')\n", "RuntimeError: no licence"),
    "is another": ("x = 1\n", r"Error: .*(cannot import name|is not a package)"),
    "is no Python": ("def (\n", "SyntaxError: "),
}
WRITES: dict[str, tuple[ModuleType, str, list[str]]] = {
    "jinja2": (grucible.check.reports.html, "template",
               ["check", "--runtime", "none-such", "--report", "html=page.html"]),
    "onnx": (grucible.vectors.exchange, "onnx_test", ["export", "--to", "onnx", "-o", "out"]),
    "openvino": (grucible.vectors.exchange, "openvino_ir",
                 ["export", "--to", "openvino", "-o", "out"]),
}  # fmt: skip
"""The room and the module in it that imports a package, and a command that needs it."""


@pytest.fixture(autouse=True)
def _modules_stay() -> Iterator[None]:
    before = dict(sys.modules)
    yield
    sys.modules.clear()
    sys.modules.update(before)


def stand_in_for(package: str, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module in the working directory that has the name of a package, and comes first."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
    place = Path(f"{package}.py").resolve()
    place.write_text(text)
    monkeypatch.syspath_prepend(place.parent)
    return place


@pytest.mark.parametrize("package", WRITES)
@pytest.mark.parametrize("how", BROKEN)
def test_what_an_import_raises_is_one_line_before_any_work(
    package: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    room, module, words = WRITES[package]
    for name in [name for name in sys.modules if name.startswith(f"{room.__name__}.")]:
        del sys.modules[name]
    monkeypatch.delattr(f"{room.__name__}.{module}", raising=False)
    text, says = BROKEN[how]
    place = stand_in_for(package, text, monkeypatch)
    write_vectors(tmp_path / "cell.h5", make_block(["a"]))
    said = command(*words, "cell.h5").said_in_one_line()
    assert re.search(f"needs {package}, which does not import \\(.*{says}", said), said
    assert f"rename {place}, where that is another module of its name, or reinstall it" in said
    assert not Path("out").exists()


@pytest.mark.parametrize("how", BROKEN)
def test_a_runtime_by_name(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text, says = BROKEN[how]
    place = stand_in_for("grucible_no_engine", text, monkeypatch)
    (tmp_path / "grucible_asks.py").write_text("from grucible_no_engine import engine\n")
    point = EntryPoint("engine-constant", "grucible_asks:run", "grucible.runtimes")
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
