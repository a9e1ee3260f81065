"""The sums of an export are those of the files that were written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grucible.vectors.exchange import export, layout, sums
from grucible.vectors.exchange.layout import Written
from grucible.vectors.exchange.manifest import ExportError

from .conftest import Command


def test_a_file_that_is_removed_while_an_export_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    write = layout.raw

    def and_removed(folder: Path, *given: Any) -> Written:
        written = write(folder, *given)
        for file in written.files:
            (folder / file).unlink()
        return written

    monkeypatch.setattr(export, "raw", and_removed)
    select = ["--select", "openvino.GRUCell-3/core/float32/noact"]
    said = command("export", "--to", "raw", "-o", tmp_path / "x", *select).said_in_one_line()
    assert "cases/00001_float32_noact.bin: somebody removed it from the export" in said
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("to", ["raw", "npz", "onnx", "openvino", "webnn"])
def test_the_digests_are_of_all_files_of_an_export(
    to: str, tmp_path: Path, command: Command
) -> None:
    select = [
        "--select",
        "*GRU-14/plain/float32/*" if to != "openvino" else "*GRUCell-3/plain/float32/*",
    ]
    assert command("export", "--to", to, "-o", tmp_path / "x", *select).status == 0
    listed = (tmp_path / "x" / "SHA256SUMS").read_text().splitlines()
    files = {
        p.relative_to(tmp_path / "x").as_posix() for p in tmp_path.rglob("x/**/*") if p.is_file()
    }
    assert {line[66:] for line in listed} == files - {"SHA256SUMS"}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"  0\n" * 9, "line 1 is none of at most"),
        (b"%064x  a\n" % 1 + b"%064x  \n" % 1, "line 2 is none of at most"),
        (b"%064x  a\n" % 1 + b"%064x  a\n" % 2, "names 'a' twice"),
        (b"".join(b"%064x  %x\n" % (i, i) for i in range(4)), "line 4 is none of at most 3"),
    ],
)
def test_a_list_of_digests_is_read_up_to_what_is_wrong(
    raw: bytes, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "_MOST_LINES", 3)
    (tmp_path / "SHA256SUMS").write_bytes(raw)
    with pytest.raises(ExportError, match=says):
        sums.read_sums(tmp_path)
