"""`grucible audit`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cases.commands.command_line import command_line
from ...cases.commands.given_number import given_number
from ...cases.commands.given_path import GivenPath
from ...cases.commands.terminal import say
from ...cases.commands.text_file import PAGE, check_replaceable, replace_text

if TYPE_CHECKING:
    from ..reports.audit import Suite


@click.command("audit")
@click.argument("suites", metavar="SUITE...", nargs=-1, required=True)
@click.option("-o", "--out", type=GivenPath(dir_okay=False),
              help="Write the page here, instead of printing it.")  # fmt: skip
def audit_command(suites: tuple[str, ...], out: Path | None) -> None:
    """Show what other people's suites would never notice, as a page.

    SUITE is a vector file that `grucible import` made, and what the suite's
    own harness admits: FILE.h5:RTOL:ATOL, such as onnx.h5:1e-3:1e-7. Without
    numbers the derived tolerances count. What the suite expects is judged, too,
    where FILE.outputs.h5 stands beside.
    """
    from ..reports.audit import audit_lines, audited

    if out:
        check_replaceable(out, PAGE)
    found = [audited(_suite(text)) for text in suites]
    command = command_line("audit", (Path(text).name for text in suites))
    lines = list(audit_lines(found, command))
    if out:
        replace_text(out, "".join(f"{line}\n" for line in lines), PAGE)
        return
    for line in lines:
        say(line)


def _suite(text: str) -> Suite:
    from ...vectors.exchange.rtol_atol import Pair
    from ..reports.audit import Suite

    if Path(text).exists() or text.count(":") < 2:
        return Suite(Path(text))
    name, rtol, atol = text.rsplit(":", 2)
    try:
        pair = Pair(given_number(rtol), given_number(atol))
    except ValueError:
        raise click.UsageError(f"{text}: expected FILE.h5, or FILE.h5:RTOL:ATOL") from None
    if not all(math.isfinite(number) and number >= 0 for number in pair):
        raise click.UsageError(f"{text}: RTOL and ATOL are not finite, or negative")
    return Suite(Path(name), pair)
