"""A text of somebody's in Markdown: shown as it is, whatever stands in it."""

from __future__ import annotations

import html
import re

from ...cases.console import escape, escape_commands

_SPECIAL = re.compile(r"([\\`*{}\[\]#|!~>]|(?<![^\W_])_|_(?![^\W_]))")
"""What Markdown does not show as it is; between a letter and a letter it does show an underscore."""
_WORD = re.compile(r"[^\s`|]+")
_LINKED = re.compile(r"://|www\.|@|#\d|GH-\d", re.IGNORECASE)
"""What GitHub makes a link of in a word, or a message to somebody, escaped or not."""


def as_code(text: str) -> str:
    """A text as code, in which Markdown sees nothing else, and GitHub Actions no workflow command: between
    more backticks than follow one another."""
    shown = escape_commands(escape(text))
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    space = " " * ("`" in shown or shown != shown.strip())
    return f"{fence}{space}{shown}{space}{fence}"


def as_markdown(text: str) -> str:
    """A text as Markdown shows it, whatever a runtime or a file writes into it, in a table too. A word that
    would be a link is code."""
    shown, done, parts = escape(text), 0, []
    for word in filter(lambda found: _LINKED.search(found[0]), _WORD.finditer(shown)):
        parts += [_plain(shown[done : word.start()]), f"`{escape_commands(word[0])}`"]
        done = word.end()
    return "".join([*parts, _plain(shown[done:])])


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", html.escape(text, quote=False))
