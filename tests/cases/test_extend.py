"""`grucible cases --extend`: rows are added, and not a character of what is there changes."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from grucible.cases.errors import SpecError
from grucible.cases.expansion.covering_arrays import extend
from grucible.cases.expansion.expand import expand
from grucible.cases.specs.spec_file import SHIPPED, load_spec

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
    "      rows: [[forward, false, 0.5],\n             [reverse, true, 1]]\n",
])  # fmt: skip
def test_what_would_break_the_file_is_refused(tmp_path: Path, rows: str) -> None:
    file = tmp_path / "theme.yaml"
    file.write_text(HEAD + VALUES + rows)
    with pytest.raises(SpecError, match=r"rows cannot be added here; expected `rows: \[\]`"):
        extend(load_spec(file, "theme"))
    assert file.read_text() == HEAD + VALUES + rows


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


def test_rows_taken_from_a_shipped_array_come_back_as_others(tmp_path: Path) -> None:
    text = (SHIPPED / "onnx" / "gru" / "pairs.yaml").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    rows = [n for n, line in enumerate(lines) if line.startswith("      - [")]
    before = "".join(line for n, line in enumerate(lines) if n not in rows[5:15])
    added, after = extended(tmp_path, before)
    assert len(lines_added(before, after)) == added > 0
    assert len(expand(load_spec(tmp_path / "theme.yaml", "theme"))) == 4 * (len(rows) - 10 + added)


def test_a_spec_that_cannot_be_written_stays(tmp_path: Path) -> None:
    """A disk that is full: the rows are written beside the spec, and it is replaced when they are whole."""
    file = tmp_path / "theme.yaml"
    file.write_text(HEAD + VALUES + "      rows: []\n")
    file.chmod(0o640)
    before = file.read_bytes()
    code = (
        "import resource, signal; from pathlib import Path\n"
        "from grucible.cases.specs.spec_file import load_spec\n"
        "from grucible.cases.expansion.covering_arrays import extend\n"
        f"spec = load_spec(Path({str(file)!r}), 'theme')\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\n"
        "try:\n    extend(spec)\nexcept Exception as error:\n    raise SystemExit(str(error))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.stderr == f"{file}: cannot be written (File too large)\n"
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
    assert extend(load_spec(file, "theme")) > 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
