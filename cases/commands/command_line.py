"""Commands that are printed for somebody to copy them into a shell."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path


def command_line(
    command: str, operands: Iterable[str | Path], options: Iterable[str | Path] = ()
) -> str:
    """The line that runs a command of grucible's, such as `grucible show v.h5 'a b'`: to a shell each word is
    a text and nothing else, and to the command no operand is an option."""
    words, given = [*map(str, operands)], [*map(str, options)]
    dashed = any(word.startswith("-") for word in words)
    return shlex.join(
        ["grucible", command, *([*given, "--", *words] if dashed else [*words, *given])]
    )
