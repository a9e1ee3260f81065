"""`grucible audit`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cases.console import format_command, say
from ...cases.files import FORCE, check_replaceable, write_whole

if TYPE_CHECKING:
    from ..reports.suites import Suite

_PAGE = rb"# Other people's suites\n"
"""The start of the page, by which an earlier one is known."""


@click.command("audit")
@click.argument("suites", metavar="SUITE...", nargs=-1, required=True)
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the page here, instead of printing it.")  # fmt: skip
@FORCE
def audit_command(suites: tuple[str, ...], out: Path | None) -> None:
    """Show what other people's suites would never notice, as a page.

    SUITE is a vector file that `grucible import` made, and what the suite's
    own harness admits: FILE.h5:RTOL:ATOL, such as onnx.h5:1e-3:1e-7. Without
    numbers the derived tolerances count. What the suite expects is judged, too,
    where FILE.outputs.h5 stands beside.
    """
    from ..reports.suites import audit, audit_lines

    if out:
        check_replaceable(out, _PAGE)
    found = [audit(_suite(text)) for text in suites]
    command = format_command("audit", (Path(text).name for text in suites))
    lines = list(audit_lines(found, command))
    if out:
        write_whole(out, "".join(f"{line}\n" for line in lines), mark=_PAGE)
        return
    for line in lines:
        say(line)


def _suite(text: str) -> Suite:
    from ...vectors.exchange.rtol_atol import Pair
    from ..reports.suites import Suite

    if Path(text).exists() or text.count(":") < 2:
        return Suite(Path(text))
    name, rtol, atol = text.rsplit(":", 2)
    try:
        pair = Pair(float(rtol), float(atol))
    except ValueError:
        raise click.UsageError(f"{text}: expected FILE.h5, or FILE.h5:RTOL:ATOL") from None
    if not all(math.isfinite(number) and number >= 0 for number in pair):
        raise click.UsageError(f"{text}: RTOL and ATOL are not finite, or negative")
    return Suite(Path(name), pair)
