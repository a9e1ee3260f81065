"""What the pages that a command makes begin with."""

from __future__ import annotations

from collections.abc import Iterator

from ...cases.console import escape, escape_commands


def page_head(title: str, about: str, command: str) -> Iterator[str]:
    """The lines before a page's first table, in Markdown: its title, what it is about, and the command that
    made it."""
    yield title
    yield ""
    yield from about.splitlines()
    yield ""
    yield "This page was made by"
    yield ""
    yield f"    {escape_commands(escape(command))}"
    yield ""
