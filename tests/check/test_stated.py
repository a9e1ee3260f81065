"""What a vector file states of its cases is held against them: tiers, readings, attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grucible.vectors.hdf5.attributes import write_text_attribute

from .conftest import HERE, Command
from .signed import changed

NUMPY = f"{HERE / 'numpy_gru.py'}:run"


def test_a_share_is_a_number(command: Command) -> None:
    said = command("check", "--recompute", "nan", "--runtime", NUMPY).said_in_one_line()
    assert "nan is not a share" in said


def test_a_case_that_was_moved_out_of_the_verdict_is_found(
    tmp_path: Path, command: Command
) -> None:
    def demoted(file: Any) -> None:
        for name in list(file["float32"]):
            file.move(f"float32/{name}", f"float32/{name}-nonportable")
            write_text_attribute(file[f"float32/{name}-nonportable"], "tier", "nonportable")

    path = changed(tmp_path, demoted)
    said = command("check", path, "--runtime", NUMPY, "--recompute", "1").said_in_one_line()
    assert "is marked as nonportable, and it holds nothing that is" in said
