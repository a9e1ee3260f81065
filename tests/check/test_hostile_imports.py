"""Imports of small files that were made to do harm: each is refused in one line, soon and in little memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from grucible.vectors.exchange import sums
from grucible.vectors.exchange.manifest import ExportError
from grucible.vectors.exchange.sums import read_sums


@pytest.fixture
def export(tmp_path: Path) -> Callable[..., Path]:
    """A folder whose list of digests names some files, with the digest of the text "outside"."""

    def make(*names: str) -> Path:
        folder = tmp_path / "export"
        folder.mkdir()
        digest = hashlib.sha256(b"outside").hexdigest()
        (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name in names))
        return folder

    return make


def test_no_symlink_leads_out_of_an_export(export: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there/x.bin").write_text("outside")
    folder = export("px/x.bin", "y.bin")
    (folder / "px").symlink_to(tmp_path / "there")
    (folder / "y.bin").symlink_to(tmp_path / "there/x.bin")
    for name in ("px/x.bin", "y.bin"):
        with pytest.raises(ExportError, match=f"names no file '{name}'"):
            read_sums(folder).check([name])
    (folder / "SHA256SUMS").rename(tmp_path / "there/sums")
    (folder / "SHA256SUMS").symlink_to(tmp_path / "there/sums")
    with pytest.raises(ExportError, match="is no list of digests"):
        read_sums(folder)


def test_the_bytes_that_are_read_count(
    export: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some files say that they are empty, and never end."""
    folder = export("zeros")
    (folder / "zeros").touch()
    real = Path.open

    def endless(path: Path, *given: str, **named: str) -> object:
        return real(Path("/dev/zero") if path.name == "zeros" else path, *given, **named)

    monkeypatch.setattr(Path, "open", endless)
    monkeypatch.setattr(sums, "MOST_EXPORT_BYTES", 3 << 20)
    with pytest.raises(ExportError, match="with it the export has more than"):
        read_sums(folder).check(["zeros"])
