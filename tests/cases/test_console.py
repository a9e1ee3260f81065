"""What is printed: errors of others in one line, tables, and progress on a terminal alone."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grucible.cases.console import (
    MOST_SENTENCE,
    escape,
    find_page,
    format_error,
    format_own_error,
    format_table,
    shorten,
    show_progress,
)
from grucible.cases.specs.spec_file import SHIPPED


class Silent(ValueError):
    def __str__(self) -> str:
        raise ValueError("nothing to say")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (Silent(), "Silent: an error that cannot be printed"),
        (ValueError(), "ValueError"),
        (ValueError("a\n\udc80 " + "b" * 9000 + " the cause"), r"ValueError: a \udc80 bbb"),
    ],
)
def test_an_error_is_a_line_of_bounded_length(
    error: Exception, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in (format_error(error), format_own_error(error)):
        assert line.startswith(says)
        assert len(line) < 2 * MOST_SENTENCE
        assert line.isprintable()
        assert ("the cause" in line) == (says[-3:] == "bbb")
    assert "Traceback" not in capsys.readouterr().out


@given(st.text(), st.integers(8, 100))
def test_no_text_moves_the_cursor_and_short_ones_stay(text: str, most: int) -> None:
    shown = escape(shorten(text, most))
    assert shown.isprintable() or not any(c in shown for c in "\x1b\n\r\x9b\u202e\u2028")
    assert len(shorten(text, most)) <= most + 3
    if len(text) <= most and text.isprintable() and text == " ".join(text.split()):
        assert shown == text


def test_a_table_is_aligned_whatever_its_cells_hold() -> None:
    rows = [("x", "1", "core"), ("日本[red]\x1b", "222", "")]
    assert format_table(("spec", "count", "tier"), rows, right=(1,)).splitlines() == [
        "spec           count  tier",
        "x                  1  core",
        r"日本[red]\x1b    222",
    ]
    assert format_table((), [("a", "b"), ("ccc", "d")]) == "a    b\nccc  d"


def through(cases: int) -> None:
    with show_progress("counting", cases) as progress:
        progress.advance(2)
        progress.say("a line")
        progress.advance(3)


def test_progress_is_drawn_on_a_terminal_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    through(5)
    assert capsys.readouterr() == ("a line\n", "")
    monkeypatch.setattr(sys, "stderr", Terminal())
    through(5)
    assert capsys.readouterr().out == "a line\n"
    drawn = sys.stderr.getvalue()  # type: ignore[union-attr]
    assert all(text in drawn for text in ("counting", "5/5", "\r\033[K"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    with show_progress("counting", 0) as progress:
        progress.advance(1)
    assert sys.stderr.getvalue() == ""  # type: ignore[union-attr]


def test_a_page_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Path(find_page("cases/README.md")).samefile(SHIPPED / "README.md")
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/README.md").touch()
    assert find_page("cases/README.md") == "cases/README.md"
