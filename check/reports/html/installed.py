"""Whether what makes the page is installed."""

from __future__ import annotations

from importlib.util import find_spec

from ....cases.errors import GrucibleError


def check_installed() -> None:
    """Raise GrucibleError where jinja2, which fills the page's template, is not installed."""
    if find_spec("jinja2") is None:
        raise GrucibleError("a report as HTML needs jinja2: pip install 'grucible[report]'")
