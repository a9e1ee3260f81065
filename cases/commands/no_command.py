r"""Texts in which GitHub Actions finds no workflow command, and programs the same as before.

It takes two things that a job prints for commands: `::error::…`, which begins a line, and `##[error]…`, which
may stand anywhere in one. What a runtime says must be neither, so a character of it is written in another
way.
"""

from __future__ import annotations

import json
import re
from typing import Any

_COMMAND = re.compile(r"^(\s*):(?=:)|(?<=##)\[", re.MULTILINE)


def no_command(line: str) -> str:
    r"""A line for people: the character is written out, \x3a or \x5b."""
    return _written(line, r"\x3a", r"\x5b")


def json_text(value: Any) -> str:
    """Plain data as strict JSON with a line feed at the end; no line of it begins with a text of the data."""
    return json.dumps(value, indent=1, allow_nan=False).replace("##[", r"##\u005b") + "\n"


def no_command_in_xml(text: str) -> str:
    """XML, or HTML without style and script: a reader of it reads what stood there."""
    return _written(text, "&#58;", "&#91;")


def no_command_in_source(text: str) -> str:
    """Python or YAML: comments are written out, and quoted texts, none of them raw, stay equal."""
    return text.replace("##[", r"##\x5b")


def _written(text: str, colon: str, bracket: str) -> str:
    return _COMMAND.sub(lambda at: bracket if at[1] is None else f"{at[1]}{colon}", text)
