"""`grucible cases --extend`: rows are added, and not a character of what is there changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from grucible.cases.errors import SpecError
from grucible.cases.specs.covering_arrays import extend
from grucible.cases.specs.expand import expand
from grucible.cases.specs.spec_file import load_spec

HEAD = """\
operator: openvino.GRUSequence-5
about: a theme   # why
dtypes: [float32]
sizes: {batch_size: 3,  seq_length: 4, input_size: 5, hidden_size: 6}
cases:
"""
VALUES = """\
  -   covering:   # what is covered
          clip: [0.5, 1, .inf]   # é
          direction: [forward, reverse]
          linear_before_reset: [false, true]
"""


def extended(tmp_path: Path, text: str) -> tuple[int, str]:
    file = tmp_path / "theme.yaml"
    file.write_bytes(text.encode())
    added = extend(load_spec(file, "theme"))
    return added, file.read_bytes().decode()


def lines_added(before: str, after: str) -> list[str]:
    """The lines of `after` that `before` lacks; all others are there, in order."""
    rest = iter(after.splitlines(keepends=True))
    added = []
    for line in before.splitlines(keepends=True):
        for candidate in rest:
            if candidate == line:
                break
            added.append(candidate)
        else:
            pytest.fail(f"{line!r} is gone")
    return [*added, *rest]


@pytest.mark.parametrize("rows", [
    "      rows:   # the first by hand\n        - [forward, false, 0.5]    # as published\n"
    "\n        # and this\n        -  [reverse,  true, 1]\n",
    "      rows:\n      - [forward, false, 0.5]\n",
    "      rows:\n        - [forward, false,\n           0.5\n          ] # over lines\n",
    "      rows:\n        -   - forward\n            - false\n            - 0.5\n",
])  # fmt: skip
@pytest.mark.parametrize("below", ["", "  # the end\n  - list: [{direction: bidirectional}]\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_all_that_is_there_stays(tmp_path: Path, rows: str, below: str, newline: str) -> None:
    before = (HEAD + VALUES + rows + below).replace("\n", newline)
    added, after = extended(tmp_path, before)
    new = lines_added(before, after)
    assert len(new) == added >= 4
    assert {line.endswith(newline) for line in new} == {True}
    assert after.count("\n") == before.count("\n") + added
    assert expand(load_spec(tmp_path / "theme.yaml", "theme"))
    assert extended(tmp_path, after) == (0, after)


def test_rows_that_are_none_yet_lose_their_brackets_alone(tmp_path: Path) -> None:
    before = HEAD + VALUES + "      rows: []   # to be extended\n  - list: [{direction: forward}]\n"
    added, after = extended(tmp_path, before)
    [header, *new] = lines_added(before.replace("rows: []   #", "rows:   #"), after) or [""]
    assert header.startswith("        - [")
    assert len(new) + 1 == added >= 6


def test_the_last_line_may_end_without_a_line_break(tmp_path: Path) -> None:
    before = HEAD + VALUES + "      rows:\n        - [forward, false, 0.5]"
    added, after = extended(tmp_path, before)
    assert after.startswith(before + "\n        - [")
    assert after.count("\n") == before.count("\n") + added + 1


def test_several_arrays_are_extended_at_once(tmp_path: Path) -> None:
    before = (
        HEAD
        + (VALUES + "      rows: []\n")
        + (VALUES + "      rows: []\n").replace("0.5, 1, .inf", "2, 3, 4")
    )
    added, after = extended(tmp_path, before)
    assert added >= 12
    assert after.count("rows:\n        - [") == 2
    assert len(expand(load_spec(tmp_path / "theme.yaml", "theme"))) == added


@pytest.mark.parametrize("rows", [
    "      rows: [[forward, false, 0.5]]\n",
    "      rows: [\n        [forward, false, 0.5],\n        ]\n",
    "      rows: [ # by hand\n        ]\n",
])  # fmt: skip
def test_what_would_break_the_file_is_refused(tmp_path: Path, rows: str) -> None:
    file = tmp_path / "theme.yaml"
    file.write_text(HEAD + VALUES + rows)
    with pytest.raises(SpecError, match=r"rows cannot be added here; expected `rows: \[\]`"):
        extend(load_spec(file, "theme"))
    assert file.read_text() == HEAD + VALUES + rows


@pytest.mark.parametrize(
    "rows", ["[]", "[\n    ]", "[]   # é", "\n        - [forward, false, 0.5]"]
)
def test_a_byte_order_mark_stays(rows: str, tmp_path: Path) -> None:
    added, after = extended(tmp_path, f"\ufeff{HEAD}{VALUES}      rows: {rows}\n")
    assert added >= 4
    assert after.startswith(f"\ufeff{HEAD}{VALUES}      rows:")
    assert ("# é" in after.removeprefix(f"\ufeff{HEAD}{VALUES}")) == ("# é" in rows)


@pytest.mark.parametrize("covering", ["{}", "{clip: [0.5, 1]}"])
def test_pairs_are_of_two_factors(covering: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r":6: cases\.0\.covering: expected two factors or more"):
        extended(tmp_path, HEAD + f"  - covering: {covering}\n    rows: []\n")


def test_a_pair_that_no_row_can_hold(tmp_path: Path) -> None:
    text = (
        HEAD
        + VALUES
        + "      rows: []\n      exclude:\n"
        + "".join(
            f"        - {{clip: 0.5, direction: {direction}, linear_before_reset: {value}}}\n"
            for direction in ("forward", "reverse")
            for value in ("false", "true")
        )
    )
    with pytest.raises(
        SpecError, match=r":6: no row can hold direction: .* with clip: 0.5; exclude that pair"
    ):
        extended(tmp_path, text)
