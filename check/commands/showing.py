"""`grucible show`, `score` and `runtimes`."""

from __future__ import annotations

from pathlib import Path

import click

from ...cases.commands.terminal import put, say
from .options import SELECT, VECTORS, progress_over_cases


@click.command("show")
@click.argument("words", metavar="[VECTORS] CASE", nargs=-1, required=True)
@click.option("--full", is_flag=True, help="Print arrays whole.")
def show_command(words: tuple[str, ...], full: bool) -> None:
    """Show one case: what it asks, its inputs, its expected outputs.

    CASE is a case id, or a glob that matches one. VECTORS is a vector file or a directory of them;
    without it, the core vectors installed with grucible.
    """
    from ..reports.show import show_lines

    if len(words) > 2:
        raise click.UsageError(f"unexpected {words[2]!r} after CASE")
    if not all(words):
        raise click.UsageError("an empty text is no case and no path; was a variable not set?")
    *before, case = words
    if before and Path(case).exists() and not Path(before[0]).exists():
        before, case = [case], before[0]  # the other way round, which can only mean this
    for line in show_lines(Path(before[0]) if before else None, case, full):
        say(line)


@click.command("score")
@VECTORS
@click.option("--misreading", default="", metavar="NAME", help="Of one misreading, all there is.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@SELECT
def score_command(
    vectors: Path | None, misreading: str, as_json: bool, select: tuple[str, ...]
) -> None:
    """Show which misreadings of the specification vectors would catch.

    Every misreading of the catalogue is computed for every case and held against the stored answers,
    at the loosest tolerance of the dtype. Exit status 1 where fewer than three cases of a dtype
    catch one.
    """
    from ..reports.score import score_json, score_lines
    from ..score import score

    with progress_over_cases("scoring", vectors, select) as progress:
        found = score(vectors, select, misreading, progress.advance)
    if as_json:
        put(score_json(found))
    else:
        for line in score_lines(found, detail=bool(misreading)):
            say(line)
    raise SystemExit(1 if found.weak() or any(found.undeciding.values()) else 0)


@click.command("runtimes")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def runtimes_command(as_json: bool) -> None:
    """List the runtimes grucible knows by name, with versions and what each supports."""
    import json

    from ...cases.errors import RuntimeNotUsable
    from ..runtimes.runtime import load_runtime, registered_runtimes

    rows = []
    for point in registered_runtimes():
        try:
            loaded = load_runtime(point.name)
            rows.append({"name": point.name, "version": loaded.version, "about": loaded.about})
        except RuntimeNotUsable as error:
            rows.append({"name": point.name, "version": "", "about": str(error)})
    if as_json:
        put(json.dumps(rows, indent=1) + "\n")
        return
    for row in rows:
        say(f"{row['name']}  {row['version'] or 'not installed'}")
        say(f"    {row['about']}")
    say("any other: --runtime package.module:function, or ./file.py:function")
