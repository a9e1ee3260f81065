"""Filling the page's template; whoever imports this needs jinja2 (see `installed.py`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape


def filled(folder: Path, name: str, values: dict[str, Any]) -> str:
    """The template of this name with its values, none of which is a command to whoever shows the page."""
    templates = Environment(
        loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_no_command,
    )  # fmt: skip
    return templates.get_template(name).render(values)


def _no_command(value: object) -> object:
    """A text that is to stand in the page; style and script, which are marked as safe, stay as they are."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return Markup(escape(value))
