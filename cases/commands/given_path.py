"""Paths that a user gives on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class GivenPath(click.Path):
    """A path, which is not empty: an empty text is a variable that was not set, not this directory."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of a text; a usage error for one that is empty."""
        if not value:
            self.fail("an empty text is no path; was a variable not set?", param, ctx)
        return super().convert(value, param, ctx)
