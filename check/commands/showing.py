"""`grucible show`, `score` and `runtimes`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cases.console import format_command, put, say
from ...cases.selection import FEATURES, options_of
from ...cases.strict_json import format_json
from .case_words import CASE_WORDS, vectors_and_case
from .options import SELECT, TIMEOUT_SECONDS, VECTORS, opened_with_progress, selection

if TYPE_CHECKING:
    from ...gen.variants.evaluate import Limits


@click.command("show")
@CASE_WORDS
@click.option("--full", is_flag=True, help="Print arrays whole.")
@click.option("--script", metavar="NAME", help="Print a script that asks the runtime NAME this case "
              "without grucible, for a bug report; `onnx` saves a test of ONNX's.")  # fmt: skip
def show_command(words: tuple[str, ...], full: bool, script: str | None) -> None:
    """Show one case: what it asks, its inputs, its expected outputs.

    CASE is a case id, or a glob that matches one. VECTORS is a vector file or a directory of them;
    without it, the core vectors installed with grucible.

    Exit status 0: shown; 2: bad usage or input, such as a CASE that is none; 70: an error of grucible's
    own; 130: interrupted by Ctrl-C.
    """
    from ..reports.show import show_lines

    place, case = vectors_and_case(words)
    if script is not None:
        if full:
            raise click.UsageError("--full does not go with --script, which holds every number")
        _put_script(place, case, script)
        return
    for line in show_lines(place, case, full):
        say(line)


def _put_script(vectors: Path | None, wanted: str, name: str) -> None:
    """Print the script of one case for the runtime called `name`."""
    from ..reports.show import find_case
    from ..scripts.script import observed_lines, refuse_large, script

    block, _ = find_case(vectors, wanted)
    case = block.case(0)
    refuse_large(case)
    words = [vectors] if vectors else []
    made_by = format_command("show", [*words, case.id], ["--script", name])
    put(script(case, name, observed_lines(case, name, TIMEOUT_SECONDS), made_by))


@click.command("score")
@VECTORS
@click.option("--misreading", default="", metavar="NAME", help="Of one misreading, all there is.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--rtol", type=click.FloatRange(0), help="With --atol: by this pair instead, as a "
              "suite does that knows no better.")  # fmt: skip
@click.option("--atol", type=click.FloatRange(0), help="Absolute part of the pair.")
@click.option(
    "--pairs", is_flag=True, help="By the pair of each case, as an export to onnx has it."
)
@SELECT
def score_command(
    vectors: Path | None,
    misreading: str,
    as_json: bool,
    rtol: float | None,
    atol: float | None,
    pairs: bool,
    select: tuple[str, ...],
) -> None:
    """Show which misreadings of the specification vectors would catch.

    Every misreading of the catalogue is computed for every case and held against the stored answers,
    at the loosest tolerance of the dtype. Exit status 1 where fewer than three cases of a dtype
    catch one.
    """
    from ..reports.suites import score_json, score_lines
    from ..score import score

    limits = _limits(rtol, atol, pairs=pairs)
    with opened_with_progress("scoring", vectors, select) as (_, progress):
        found = score(vectors, select, misreading, progress.advance, limits)
    if as_json:
        put(score_json(found))
    else:
        for line in score_lines(found, detail=bool(misreading)):
            say(line)
    raise SystemExit(1 if found.weak() or any(found.undeciding.values()) else 0)


def _limits(rtol: float | None, atol: float | None, *, pairs: bool) -> Limits | None:
    """What is admitted in place of the derived tolerances; None where they are kept."""
    from ...vectors.exchange.rtol_atol import Pair, by_own_pairs, by_pair
    from ..judging.criterion import chosen_criteria

    if (rtol is not None or atol is not None) and pairs:
        raise click.UsageError("--pairs does not go with --rtol and --atol")
    if rtol is not None or atol is not None:
        chosen_criteria(rtol=rtol, atol=atol)  # finite
        return by_pair(Pair(rtol or 0.0, atol or 0.0))
    return by_own_pairs if pairs else None


@click.command("runtimes")
@click.option("--profile", "profiled", is_flag=True,
              help="Ask each that is installed what it can do, which takes a while.")  # fmt: skip
@selection(FEATURES)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def runtimes_command(profiled: bool, select: tuple[str, ...], as_json: bool) -> None:
    """List the runtimes grucible knows by name, with versions and what each supports.

    What each can do, feature by feature: `grucible profile`.
    """
    from ..observed.registered import described_runtimes

    if profiled and as_json:
        raise click.UsageError("--profile does not go with --json; see: grucible profile --json")
    if select and not profiled:
        option, _ = options_of(select)[0]
        raise click.UsageError(f"{option} goes with --profile: it says what to ask")
    if as_json:
        keys = ("name", "version", "about")
        put(format_json([{key: getattr(one, key) for key in keys} for one in described_runtimes()]))
        return
    for one in described_runtimes():
        say(f"{one.name}  {one.not_here or one.version or 'no version'}")
        say(f"    {one.about}")
        if profiled and not one.not_here:
            _say_profile(one.name, select)
    say("any other: package.module:function, ./file.py:function, or 'exec: COMMAND'")


def _say_profile(name: str, select: tuple[str, ...]) -> None:
    """What the runtime of this name can do, in a few lines."""
    from ..profiling.lines import summary_lines
    from ..profiling.profile import profile_of

    for line in summary_lines(profile_of(name, None, select, TIMEOUT_SECONDS)):
        say(f"    {line}")
