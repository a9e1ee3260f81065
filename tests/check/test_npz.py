"""`.npz` files that are imported or answered: what is none is refused, and what is expected counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import Command
from .suites import OF_CELL, suites


def test_inputs_that_are_no_file_or_cannot_be_read(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    suites(tmp_path)
    inputs = tmp_path / "npz/deep/a.npz"
    said = command("answer", "/dev/zero", *OF_CELL).said_in_one_line()
    assert said == "grucible: /dev/zero: is no regular file; expected an .npz file\n"
    whole = Path.open

    def refuses(path: Path, *given: Any) -> Any:
        if path == inputs:
            raise PermissionError(13, "Permission denied", str(path))
        return whole(path, *given)

    monkeypatch.setattr(Path, "open", refuses)
    says = f"{inputs}: cannot be read (Permission denied); make it readable, or name another place"
    for words in (
        ["answer", inputs],
        ["import", tmp_path / "npz", "--from", "npz", "-o", tmp_path / "v.h5"],
    ):
        assert command(*words, *OF_CELL).said_in_one_line() == f"grucible: {says}\n"
