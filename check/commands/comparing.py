"""`grucible compare`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ...cases.console import put, say
from ...cases.strict_json import format_json
from ..reports.text import wrap

_MAX_SHOWN = 10
"""Maximum entries of a list; --json has all."""
_MAX_IN_HEADLINE = 3
_MAX_TEXT = 300
"""Maximum characters shown of a message; a report may be a stranger's."""


@click.command("compare")
@click.argument("before", metavar="BEFORE", type=click.Path(path_type=Path))
@click.argument("after", metavar="AFTER", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def compare_command(before: Path, after: Path, as_json: bool) -> None:
    """Show what changed between two reports, as by an upgrade.

    BEFORE and AFTER are what `grucible check --report json=FILE` wrote. Worse is
    a case that no longer passes, or is unsupported now; a coarser class of
    arithmetic; a finding of a misreading that there was none of; an invalid
    question that is no longer refused. A larger error within the tolerance is
    shown, and is no worse.

    \b
    Exit status
      0    nothing is worse
      1    something is
      2    a file is no report, or no case or invalid question is in both
    """
    from ..comparing import compare, read_report

    found = compare(read_report(before), read_report(after))
    if as_json:
        put(format_json(found))
    else:
        for line in _format_lines(found):
            say(line)
    raise SystemExit(found["outcome"] == "worse")


def _format_lines(found: dict[str, Any]) -> Iterator[str]:
    """Format a comparison for the terminal: the outcome first, then what changed."""
    from ..comparing import KINDS

    before, after, diagnosis = found["before"], found["after"], found["diagnosis"]
    new, gone = found["new_cases"], found["gone_cases"]
    both = after["cases"] - len(new)
    yield from wrap(_format_headline(found, both), indent=0, more=2)
    for word, side in (("before", before), ("after", after)):
        name = " ".join(side["runtime"].values()).rstrip()
        interrupted = ", interrupted" if side["interrupted"] else ""
        judged = f"{word}: {name}: {side['verdict']}, {side['cases']} cases{interrupted}"
        yield from wrap(judged, indent=2, more=4)
    if new or gone:
        yield f"  {both} cases in both, {len(new)} new, {len(gone)} gone"
    for kind in KINDS:
        changes = [one for one in found["changes"] if one["kind"] == kind]
        yield from _format_list(kind, [f"{one['id']}\n{_format_change(one)}" for one in changes])
    if found["undecided"]:
        yield from ("", f"{found['undecided']} more that decide nothing have another verdict")
    yield from _format_list("arithmetic", [*filter(None, map(_format_grade, found["arithmetic"]))])
    explained = [
        f"{word}: {one['about'][:_MAX_TEXT]}, {one['explains']} cases"
        for word in ("new", "gone") for one in diagnosis[word]
    ]  # fmt: skip
    was, now = diagnosis["unexplained"]
    moved = [*diagnosis["other"], {"about": "unexplained", "before": was, "after": now}]
    explained += [
        f"{one['about']}: {one['before']} → {one['after']} cases" for one in moved
        if one["before"] != one["after"]
    ]  # fmt: skip
    yield from _format_list("diagnosis", explained)
    refusals = found["refusals"]
    yield from _format_list("invalid questions that are no longer refused", refusals["accepted"])
    yield from _format_list("invalid questions that are refused now", refusals["refused"])
    yield from _format_list("new cases", new)
    yield from _format_list("gone cases", gone)


def _format_headline(found: dict[str, Any], both: int) -> str:
    changed = []
    for word in ("worse", "better"):
        if names := found[word]:
            more = f", and {len(names) - _MAX_IN_HEADLINE} more" * (len(names) > _MAX_IN_HEADLINE)
            changed.append(f"{word}: {', '.join(names[:_MAX_IN_HEADLINE])}{more}")
    cut = [f"`{side}`" for side in ("before", "after") if found[side]["interrupted"]]
    interrupted = f"; {' and '.join(cut)} was interrupted" if cut else ""
    same = f"same: nothing is worse or better in the {both} cases of both{interrupted}"
    return "; ".join(changed) or same


def _format_change(one: dict[str, str]) -> str:
    message = f": {one['message']}" if one["message"] else ""
    return f"{one['before']} → {one['after']}{message}"[:_MAX_TEXT]


def _format_list(title: str, entries: Sequence[str]) -> Iterator[str]:
    """Format entries below a title; what follows a line feed in one stands below it."""
    if not entries:
        return
    yield from ("", f"{title}:")
    for entry in entries[:_MAX_SHOWN]:
        first, _, about = entry.partition("\n")
        yield from wrap(first, indent=2, more=4, cut=False)
        yield from wrap(about, indent=4) if about else ()
    if len(entries) > _MAX_SHOWN:
        yield f"  … and {len(entries) - _MAX_SHOWN} more; --json has all of them"


def _format_grade(one: dict[str, Any]) -> str:
    """Format what differs of a dtype: class, worst ratio, demand; "" where nothing does."""
    observed = [name or "none of them" for name in one["observed"]]
    parts = {
        "observed": observed,
        "worst ratio": [_format_ratio(ratio) for ratio in one["ratio"]],
        "required": one["required"],
    }
    differing = [f"{name} {was} → {now}" for name, (was, now) in parts.items() if was != now]
    return f"{one['dtype']}: {', '.join(differing)}" if differing else ""


def _format_ratio(ratio: float | str) -> str:
    if isinstance(ratio, str):
        return ratio
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.3g}"
