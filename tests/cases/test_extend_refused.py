"""What `grucible cases --extend` adds no rows to says what is expected; a byte order mark is no hindrance."""

from __future__ import annotations

from pathlib import Path

import pytest

from grucible.cases.errors import SpecError
from grucible.cases.expansion.covering_arrays import extend
from grucible.cases.expansion.expand import expand
from grucible.cases.specs.spec_file import load_spec

HEAD = """\
operator: openvino.GRUCell-3
about: a theme
dtypes: [float32]
sizes: {batch_size: 2, input_size: 3, hidden_size: 4}
cases:
"""
TWO = "{clip: [0.5, 1], B: [present, absent]}"


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "theme.yaml"
    file.write_bytes(text.encode())
    return file


@pytest.mark.parametrize("covering", ["{}", "{clip: [0.5, 1]}"])
def test_pairs_are_of_two_factors(covering: str, tmp_path: Path) -> None:
    file = written(tmp_path, HEAD + f"  - covering: {covering}\n    rows: []\n")
    with pytest.raises(SpecError, match=r":6: cases\.0\.covering: expected two factors or more"):
        load_spec(file, "theme")


@pytest.mark.parametrize("entry", [
    f"  - {{covering: {TWO}, rows: []}}\n",
    f"  - {{rows: [], covering: {TWO}}}\n",
    f"  - covering: {TWO}\n    rows: [ # by hand\n    ]\n",
    f"  - covering: {TWO}\n    rows: [\n      # by hand\n    ]\n",
    f"  - covering: {TWO}\n    rows: [[0.5, present]]\n",
])  # fmt: skip
def test_rows_have_lines_of_their_own(entry: str, tmp_path: Path) -> None:
    file = written(tmp_path, HEAD + entry)
    wanted = r":[67]: rows cannot be added here; expected `rows: \[\]` in a line of its own, or "
    with pytest.raises(SpecError, match=wanted):
        extend(load_spec(file, "theme"))
    assert file.read_text() == HEAD + entry


@pytest.mark.parametrize("rows", ["[]", "[\n    ]", "[]   # é", "\n    - [0.5, present]"])
def test_a_byte_order_mark_stays(rows: str, tmp_path: Path) -> None:
    file = written(tmp_path, f"\ufeff{HEAD}  - covering: {TWO}\n    rows: {rows}\n")
    assert extend(load_spec(file, "theme")) in (3, 4)
    assert file.read_text().startswith(f"\ufeff{HEAD}  - covering: {TWO}\n    rows:")
    assert len(expand(load_spec(file, "theme"))) == 4
    assert ("# é" in file.read_text()) == ("# é" in rows)
