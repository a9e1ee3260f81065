"""Progress is drawn on a terminal alone, and what is printed beside it stays whole."""

from __future__ import annotations

import io
import sys

import pytest

from grucible.cases.console import show_progress


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def through(cases: int) -> None:
    with show_progress("counting", cases) as progress:
        progress.advance(2)
        progress.say("a line")
        progress.advance(3)


def test_without_a_terminal_nothing_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    through(5)
    assert capsys.readouterr() == ("a line\n", "")


def test_a_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Terminal()
    monkeypatch.setattr(sys, "stderr", drawn)
    through(5)
    assert capsys.readouterr().out == "a line\n"
    text = drawn.getvalue()
    assert "counting" in text
    assert "5/5" in text
    assert "\r\033[K" in text  # the bar makes room for the line


def test_nothing_to_do_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Terminal()
    monkeypatch.setattr(sys, "stderr", drawn)
    with show_progress("counting", 0) as progress:
        progress.advance(1)
    assert drawn.getvalue() == ""
