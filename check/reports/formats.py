"""The formats that a report is written in, to a file each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ..report import Report


@dataclass(frozen=True)
class Format:
    """A format of reports: `writer` is the `module:function`, in this room, that makes the text of a report;
    `begins` is what such a text begins with, so that nothing else is replaced by one; `needs`, where it is
    named, is one that raises GrucibleError where the writer lacks something."""

    writer: str
    begins: re.Pattern[bytes]
    needs: str = ""

    def text(self, report: Report) -> str:
        """The report in this format."""
        made: str = _function(self.writer)(report)
        return made

    def check(self) -> None:
        """Raise GrucibleError where what the format needs is not installed: before hours of work."""
        if self.needs:
            _function(self.needs)()


def _function(place: str) -> Any:
    module, _, function = place.partition(":")
    return getattr(import_module(f".{module}", __package__), function)


FORMATS = {
    "json": Format("json:report_json", re.compile(rb"\{\s*\"grucible_report\"")),
    "junit": Format("junit:report_junit", re.compile(rb"<\?xml[^>]*\?>\s*<testsuites")),
    "github": Format("github:summary", re.compile(rb"## grucible: ")),
    "html": Format(
        "html.page:report_html",
        re.compile(rb"<!doctype html>\n<!-- a report of grucible -->"),
        "html.installed:check_installed",
    ),
}
"""By the name that `--report NAME=FILE` takes."""
