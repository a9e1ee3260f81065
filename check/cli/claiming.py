"""`grucible claim verify`: a published claim, and the report that it is of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ...cases.console import say
from ...cases.errors import GrucibleError
from ...cases.files import read_limited
from ...cases.strict_json import strict_json
from ..reports.claim import claim_of
from ..reports.text import plural
from ..stored import MAX_BYTES, first_error
from . import options

_MOST_BYTES = 1 << 20
"""Maximum size of a claim; one of all vectors has some 5 KB."""
_UNSEEN = "machine"
"""The field of a claim that no report has."""


@click.group("claim")
def claim_command() -> None:
    """Hold claims, as `check --report claim=FILE` writes them, against reports."""


@claim_command.command("verify", short_help="Say whether a claim is what a report says.")
@click.argument("claim", metavar="FILE", type=options.FILE)
@click.argument("report", metavar="REPORT", type=options.FILE)
def verify_command(claim: Path, report: Path) -> None:
    """Say whether a claim is what a report says, and name each field that differs.

    FILE is a claim, and REPORT the file that `--report json=REPORT` wrote with it. No report names the
    machine. Exit status 0: the claim holds; 1: it differs; 2: a file is no claim, or no report.
    """
    claimed = _read_claim(claim)
    found = claim_of(read_limited(report, MAX_BYTES), str(report))
    wrong = list(_differences(claimed, found))
    machine = claimed.get(_UNSEEN) or "a machine that it does not name"
    if wrong:
        say(f"the claim does not hold: {report} differs in {plural(len(wrong), 'field')}")
    else:
        say(f"the claim holds: {found['verdict']}; its machine, {machine}, is in no report")
    for line in wrong:
        say(f"  {line}")
    raise SystemExit(bool(wrong))


def _read_claim(path: Path) -> dict[str, Any]:
    try:
        value = strict_json(read_limited(path, _MOST_BYTES))
        if isinstance(value, dict) and value.get("grucible_claim") == 1:
            return value
        why = "it has no grucible_claim of 1"
    except ValueError as error:
        why = first_error(error)
    raise GrucibleError(
        f"{path}: is no claim that `grucible check --report claim=FILE` writes: {why}"
    )


def _differences(claimed: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    mine, theirs = (dict(_leaves(value)) for value in (found, claimed))
    for path in dict.fromkeys([*mine, *theirs]):
        one, other = (leaves.get(path, "nothing") for leaves in (theirs, mine))
        if one != other and path != (_UNSEEN,):
            claims, has = ("none" if value is None else str(value)[:80] for value in (one, other))
            yield f"{' > '.join(path)}: claimed {claims}, reported {has}"


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each part of a claim that is no object, with the names that lead to it."""
    if isinstance(value, dict) and value:
        for name, one in value.items():
            yield from _leaves(one, (*path, name))
    else:
        yield path, value
