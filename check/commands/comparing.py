"""`grucible compare`."""

from __future__ import annotations

from pathlib import Path

import click

from ...cases.commands.given_path import GivenPath
from ...cases.commands.terminal import put, say


@click.command("compare")
@click.argument("before", metavar="BEFORE", type=GivenPath())
@click.argument("after", metavar="AFTER", type=GivenPath())
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def compare_command(before: Path, after: Path, as_json: bool) -> None:
    """Show what changed between two reports, as by an upgrade.

    BEFORE and AFTER are what `grucible check --report json=FILE` wrote. Worse is
    a case that no longer passes, or is unsupported now; a coarser class of
    arithmetic; a finding of a misreading that there was none of; an invalid
    question that is no longer refused. A larger error within the tolerance is
    told, and is no worse.

    \b
    Exit status
      0    nothing is worse
      1    something is
      2    a file is no report, or no case or invalid question is in both
    """
    from ...cases.errors import GrucibleError
    from ..comparing.compare import compared
    from ..comparing.lines import compared_json, compared_lines
    from ..comparing.stored import stored_report

    found = compared(stored_report(before), stored_report(after))
    if not found.asked_in_both:
        raise GrucibleError(
            f"{before} and {after} have no case or invalid question in common; compare reports on the same "
            "vectors"
        )
    if as_json:
        put(compared_json(found))
    else:
        for line in compared_lines(found):
            say(line)
    raise SystemExit(found.outcome == "worse")
