"""The formats that a report is written in, to a file each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..report import Report


@dataclass(frozen=True)
class Format:
    """A format of reports: `writer` is the `module:function`, in this room, that makes the text of a report,
    or of several where they stand `side_by_side`; `begins` is what such a text begins with, so that nothing
    else is replaced by one; `needs`, where it is named, is one that raises GrucibleError where the writer
    lacks something."""

    name: str
    writer: str
    begins: re.Pattern[bytes]
    needs: str = ""
    side_by_side: bool = False

    def text(self, reports: Sequence[Report]) -> str:
        """The reports in this format: one, unless they stand side by side."""
        write = _function(self.writer)
        made: str = write(reports) if self.side_by_side else write(*reports)
        return made

    def check(self) -> None:
        """Raise GrucibleError where what the format needs is not installed: before hours of work."""
        if self.needs:
            _function(self.needs)()


def _function(place: str) -> Any:
    module, _, function = place.partition(":")
    return getattr(import_module(f".{module}", __package__), function)


_ALL = (
    Format("json", "json:report_json", re.compile(rb"\{\s*\"grucible_report\"")),
    Format(
        "junit",
        "junit:report_junit",
        re.compile(rb"<\?xml[^>]*\?>\s*<testsuites name=\"grucible check: "),
    ),
    Format("github", "github:summary", re.compile(rb"## grucible: ")),
    Format(
        "html",
        "html.page:html_page",
        re.compile(rb"<!doctype html>\n<!-- a report of grucible -->"),
        "html.page:check_installed",
        side_by_side=True,
    ),
)
FORMATS = {one.name: one for one in _ALL}
"""By the name that `--report NAME=FILE` takes."""
