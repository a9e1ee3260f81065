"""What is printed: errors of others in one line, tables, and progress on a terminal alone."""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grucible.cases import console
from grucible.cases.console import (
    MOST_SENTENCE,
    escape,
    find_page,
    format_error,
    format_own_error,
    format_table,
    has_colour,
    say,
    shorten,
    show_progress,
    waiting_for,
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
    monkeypatch.delenv("NO_COLOR")
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


def test_elsewhere_a_line_says_now_and_then_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "FIRST_SECONDS", 1e-3)
    monkeypatch.setattr(console, "LOG_SECONDS", 1e-3)

    def shown() -> str:
        time.sleep(0.01)
        return capsys.readouterr().err

    with show_progress("counting", 5000) as progress:
        progress.advance(1200)
        assert any("grucible: counting: 1,200 of 5,000 cases\n" in shown() for _ in range(1000))
    shown()
    assert shown() == ""
    with show_progress("counting", None) as progress:
        progress.tell("asking", 3)
        assert any("grucible: asking: 3 cases\n" in shown() for _ in range(1000))
        progress.begin("explaining 2 failures")
        assert any("grucible: explaining 2 failures\n" in shown() for _ in range(1000))
        progress.advance(1)
        assert any(": 4 cases\n" in shown() for _ in range(1000))
        with waiting_for("an/id"):
            assert "waiting" not in shown()  # not for long
            monkeypatch.setattr(console, "WAIT_SECONDS", 0.0)
            with waiting_for("a later one"):
                line = "grucible: asking: 4 cases, and waiting 0 s for an/id\n"
                assert any(line in shown() for _ in range(1000))
        shown()
        assert "waiting" not in shown()


def test_below_a_bar_a_line_names_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "FIRST_SECONDS", 1e-3)
    monkeypatch.setattr(console, "LOG_SECONDS", 1e-3)
    monkeypatch.setattr(console, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())

    def shown() -> str:
        time.sleep(0.01)
        return sys.stderr.getvalue()  # type: ignore[union-attr]

    with show_progress("counting", 5):
        assert not any("grucible:" in shown() for _ in range(10))
        with waiting_for("an/id"):
            assert any("and waiting 0 s for an/id" in shown() for _ in range(1000))


BOLD, DIM, BLUE, ORANGE = "\x1b[1m", "\x1b[2m", "\x1b[38;5;33m", "\x1b[38;5;208m"
COLOURED = {
    "does not conform: 61 of 65 cases passed, 1 failed": [BOLD, BLUE, ORANGE],
    "conforms where supported: 9 of 9 cases passed": [BOLD, BLUE],
    "  start with: grucible show onnx.GRU-14/plain/float32/lbr1": [DIM],
    "     3  the clip ignored [clip-ignored, z+=-0.5*z]": [ORANGE],
    "Fail: [ONNXRuntimeError] : 1 : FAIL at a/b.c in that cases passed": [],
    "\x1b[1m not the runtime's own": [],
}


@pytest.mark.parametrize("line", COLOURED)
def test_what_stands_out_has_a_colour(
    line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR")
    say(line)
    shown = capsys.readouterr().out
    assert re.findall(r"\x1b\[(?!0m)[\d;]+m", shown) == COLOURED[line]
    assert re.sub(r"\x1b\[[\d;]+m", "", shown) == f"{escape(line)}\n"
    monkeypatch.setenv("NO_COLOR", "1")
    say(line)
    assert capsys.readouterr().out == f"{escape(line)}\n"


def test_a_terminal_has_colours_unless_it_is_dumb(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert [has_colour(Terminal()), has_colour(io.StringIO())] == [True, False]
    monkeypatch.setenv("TERM", "dumb")
    assert not has_colour(Terminal())
    with click.Context(click.Command("check"), color=True):
        assert has_colour(io.StringIO())


def test_a_page_is_found_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Path(find_page("cases/README.md")).samefile(SHIPPED / "README.md")
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases/README.md").touch()
    assert find_page("cases/README.md") == "cases/README.md"
