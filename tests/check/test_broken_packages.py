"""Optional packages that are not there, or do not import."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grucible.cases.errors import GrucibleError, needing

from .conftest import Command
from .made import make_block, write_vectors


@pytest.mark.parametrize("error", [SystemExit(0), RuntimeError("no\nlicence"), SyntaxError("(")])
def test_what_an_import_raises_is_one_line(error: BaseException) -> None:
    with (
        pytest.raises(
            GrucibleError, match=r"^this needs onnx, which does not import \(.*reinstall"
        ),
        needing("onnx", "onnx", "this"),
    ):
        raise error


def test_what_is_not_there_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with (
        pytest.raises(GrucibleError, match=r"^this needs onnx: pip install 'grucible\[onnx\]'$"),
        needing("onnx", "onnx", "this"),
    ):
        import onnx  # noqa: F401


@pytest.mark.usefixtures("in_this_process")
def test_a_package_is_looked_for_before_any_work(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_vectors(tmp_path / "cell.h5", make_block(["a"]))
    for package in ("jinja2", "onnx"):
        monkeypatch.setitem(sys.modules, package, None)
    for name in [one for one in sys.modules if one.endswith((".onnx_model", ".html.template"))]:
        monkeypatch.delitem(sys.modules, name)
    page = tmp_path / "page.html"
    for words in (
        ("check", tmp_path / "cell.h5", "--runtime", "none-such", "--report", f"html={page}"),
        ("export", tmp_path / "cell.h5", "--to", "onnx", "-o", tmp_path / "out"),
    ):
        assert "pip install 'grucible[" in command(*words).said_in_one_line()
    assert not page.exists()
    assert not (tmp_path / "out").exists()
