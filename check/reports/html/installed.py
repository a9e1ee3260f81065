"""Whether what makes the page is installed."""

from __future__ import annotations

from ....cases.packages import needing


def check_installed() -> None:
    """Raise GrucibleError where jinja2, which fills the page's template, is not installed, or broken."""
    with needing("jinja2", "report", "a report as HTML"):
        from . import template  # noqa: F401
