"""`grucible fuzz`, and what it prints: what was asked, the findings, and what was never asked."""

from __future__ import annotations

import contextlib
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from ...cases.console import Progress, format_table, put, say, show_progress
from ...cases.dtypes import FLOAT_TYPES
from ...cases.errors import GrucibleError
from ...cases.files import write_whole
from ...cases.operators import OPERATORS
from ...cases.process import count_cpus, ignoring_interrupts, interruption_status
from ...cases.selection import DTYPES, OPERATOR, SHARD, Shard
from ...cases.specs.random_space import RandomSpace, load_spaces, usual_space
from ...cases.strict_json import format_json
from ...gen.cluster import SCHEDULER, open_cluster
from ...vectors.vector_set import open_set
from ..clustered import fuzz_there, remote_runtime, shrink_there
from ..expecting import load_expectations
from ..found import check_out, write_found
from ..fuzz import Fuzzed, fuzz, saying_so
from ..fuzz_report import BEGINS, fuzz_value
from ..grouping import FuzzFinding
from ..judging.criterion import chosen_criteria
from ..observed import pool
from ..reports.findings import how_far_off, in_brackets
from ..reports.text import plural, wrap
from . import options
from .reporting import parse_place

_NAMED = 3
"""Maximum cases, pairs and reasons that are named."""
_DECIDE_NOTHING = (
    "right implementations differ on NaN, infinity, overflow, subnormal numbers and the signs of zeros, "
    "or the tolerances are larger than the values"
)
_PAIRS = "pairs of settings or sizes that were asked together (a few cannot be):"


def _report_place(_: click.Context, __: click.Parameter, value: str | None) -> Path | None:
    """Parse json=FILE."""
    found = parse_place(value, {"json": BEGINS}) if value is not None else None
    return found and found[1]


@click.command("fuzz")
@click.argument("specs", metavar="[SPACE]...", nargs=-1, type=options.PATH)
@click.option("--runtime", metavar="NAME", help=options.RUNTIME_HELP)
@click.option("--cases", type=click.IntRange(1), metavar="N", help="End after N questions.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), metavar="M",
              help="End after M minutes.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 10**18 - 1), metavar="N",
              help="Another number asks other questions.")  # fmt: skip
@OPERATOR
@DTYPES
@click.option("--expect", type=options.FILE, metavar="FILE",
              help="YAML list of known failures, as `check` takes it.")  # fmt: skip
@click.option(
    "--replay",
    type=click.Path(exists=True, path_type=Path),
    metavar="VECTORS",
    help="Ask the questions of these vector files first, such as those in DIR.",
)
@click.option("-o", "--out", default="found", show_default=True, metavar="DIR",
              type=click.Path(file_okay=False, path_type=Path),
              help="Directory for vector files of what fails.")  # fmt: skip
@click.option("--jobs", default=count_cpus, show_default="the usable CPUs", metavar="N",
              type=click.IntRange(1), help="Processes that make questions.")  # fmt: skip
@SHARD
@SCHEDULER
@click.option("--report", metavar="json=FILE", callback=_report_place,
              help="Write the report to a file; `grucible report` merges such.")  # fmt: skip
@click.option(
    "--space", is_flag=True, help="Print as a SPACE what is drawn of --operator, to change it."
)
@options.CRITERIA
@options.LIMITS
def fuzz_command(
    specs: tuple[Path, ...],
    runtime: str | None,
    cases: int | None,
    minutes: float | None,
    seed: int,
    operators: tuple[str, ...],
    dtypes: tuple[str, ...],
    expect: Path | None,
    replay: Path | None,
    out: Path,
    jobs: int,
    shard: Shard,
    scheduler: str | None,
    report: Path | None,
    space: bool,
    timeout: float,
    memory: int | None,
    **criteria: Any,
) -> None:
    """Ask random questions without end, judge the answers, and keep what fails.

    Without SPACE, everything that an operator allows is drawn, mostly in small sizes. SPACE is a YAML file
    that says what is drawn; --space prints one to begin with. An id ends with the seed and the question's
    number; `show`, `trace` and `shrink` make the question anew. What fails is shrunk and written to DIR, as
    vectors that `check` takes. Ctrl-C ends it with a report, and nothing is shrunk any more. The id of a
    case that is written as it is ends with `.whole`.

    Exit status 0: no unexpected finding; 1: an unexpected one, or nothing was compared; 2: bad usage or
    input; 70: an error of grucible's own; 129, 130, 143: ended by SIGHUP, Ctrl-C, SIGTERM.
    """
    if space:
        for name in operators or OPERATORS:
            put(usual_space(name).spec.document.text)
        return
    if runtime is None:
        raise click.UsageError("give --runtime NAME")
    spaces, demanded = load_spaces(specs, operators), chosen_criteria(**criteria)
    expectations = load_expectations(expect) if expect else []
    check_out(out)
    if scheduler and replay:
        raise click.UsageError("--replay is asked here; leave --scheduler out")
    with show_progress("fuzzing", cases) as progress, open_cluster(scheduler) as cluster:
        given: Any = {
            "dtypes": dtypes, "seed": seed, "cases": cases, "shard": shard, "expectations": expectations,
            "seconds": minutes and 60.0 * minutes,
            "advance": lambda found: progress.tell(_so_far(found), found.asked_to),
        }  # fmt: skip
        if cluster:
            remote = remote_runtime(runtime, timeout, memory)
            found = fuzz_there(cluster, remote, spaces, demanded, **given)
            shrink_there(cluster, remote, found)
        else:
            more = {"jobs": jobs, "replay": open_set(replay) if replay else None}
            found = _fuzz_here(
                progress, runtime, timeout, memory, spaces, demanded, **given, **more
            )
    _write(found, out, report)
    raise SystemExit(interruption_status() if found.interrupted else found.exit_status)


def _fuzz_here(
    progress: Progress,
    runtime: str,
    timeout: float,
    memory: int | None,
    spaces: Sequence[RandomSpace],
    *asked: Any,
    **given: Any,
) -> Fuzzed:
    """Fuzz a runtime in processes of this machine, and shrink what is found.

    A program is asked only what its hello names.
    """
    with contextlib.closing(pool.RuntimePool(runtime, timeout, None, memory)) as source:
        hello = source.hello
        some = [s for s in spaces if s.operator.name in (hello.operators or {s.operator.name})]
        if not some:
            names = ", ".join(sorted(hello.operators))
            raise GrucibleError(f"the program's hello names {names} alone; leave --operator out")
        given["dtypes"] = given["dtypes"] or sorted(hello.dtypes & {*FLOAT_TYPES})
        found = fuzz(source, some, *asked, **given)
    try:
        if found.new and not found.interrupted:
            endless = pool.RuntimePool(runtime, timeout, 1, memory, gives_up=False)
            with (
                contextlib.closing(endless) as source,
                saying_so(),
                contextlib.suppress(GrucibleError),
            ):
                about = f"shrinking cases of {plural(len(found.new), 'finding')}"
                found.shrink(source, lambda _: progress.tell(about, found.asked_to), source.restart)
    except KeyboardInterrupt:
        found.interrupted = True
    return found


def _write(found: Fuzzed, out: Path, report: Path | None) -> None:
    """Print what was found, and write the report and the vectors of findings."""
    with ignoring_interrupts():
        for line in fuzz_lines(found):
            say(line)
        if report:
            write_whole(report, format_json(fuzz_value(found)), mark=BEGINS)
        paths = write_found(found, out)
        for path in paths:
            say(f"{path}: written; judge by it with:")
            say(f"    {options.check_by(path)}")
        if found.interrupted:
            first = f", and with --replay {shlex.quote(str(out))} these again, first" * bool(paths)
            say(f"the same command with --seed {found.seed + 1} asks other questions{first}")


def _so_far(found: Fuzzed) -> str:
    """Say what was found so far, for the live line."""
    asked, _, offered = map(sum, zip(*(one.counts() for one in found.pairs.values()), strict=True))
    rate = found.asked_to / max(found.seconds, 1e-9)
    new, share = plural(len(found.new), "finding"), 100 * asked / offered
    return f"fuzzing ({new}, {rate:.0f} cases a second, {share:.0f} % of pairs of settings)"


def fuzz_headline(found: Fuzzed) -> str:
    """Return what was found in a sentence, which claims nothing of what was not asked."""
    counts, new = found.counts, len(found.new)
    asked = plural(counts.total() + found.undeciding, "question")
    known = len(found.findings) - new
    parts = {
        f"{counts['passed']} passed": 1,
        f"{counts['failed']} failed": counts["failed"],
        f"{counts['error']} errors": counts["error"],
        f"{counts['missing']} missing": counts["missing"],
        f"{counts['unsupported']} unsupported": counts["unsupported"],
        f"{found.undeciding} decide{'s' * (found.undeciding == 1)} nothing": found.undeciding,
        f"{plural(known, 'expected finding')}": known,
        "interrupted": found.interrupted,
        f"stopped: {found.stopped}": found.stopped,
        "; ".join(found.lost): found.lost,
    }
    words = ", ".join(text for text, holds in parts.items() if holds)
    compared = counts["passed"] + counts["failed"]
    first = plural(new, "unexpected finding") if new else "no unexpected finding"
    first = first if new or compared else "nothing was compared"
    return f"{first} in {asked}: {words}"


def fuzz_lines(found: Fuzzed) -> Iterator[str]:
    """Yield the lines of the report."""
    yield from wrap(fuzz_headline(found), 0, 4)
    name = f"{found.runtime} {found.version}".strip()
    rate = f", {found.asked_to / found.seconds:.0f} a second" if found.seconds else ""
    replayed = f", after {plural(found.replayed, 'question')} of --replay" if found.replayed else ""
    again = (
        f"; {plural(found.asked_again, 'right answer')} asked again" if found.asked_again else ""
    )
    undrawn = found.undrawn.total()
    unasked = f", {undrawn} of them not asked" if undrawn else ""
    asked = f"{plural(found.asked_to, 'question')} drawn of --seed {found.seed}{unasked}"
    yield from wrap(f"{name}: {asked}{replayed}{rate}{again}", 0, 4)
    for one in sorted(found.findings.values(), key=lambda one: (not one.new, -one.count)):
        yield from _finding(one)
    yield from _counts(found)
    yield from _coverage(found)


def _finding(one: FuzzFinding) -> Iterator[str]:
    """Yield the lines of a finding: what it is, where, and the smallest cases that show it."""
    yield ""
    kind = "unexpected" if one.new else "expected"
    names = in_brackets(one.diagnosis.names) if one.diagnosis else ""
    yield from wrap(f"{kind}, {plural(one.count, 'case')}: {one.about}{names}", 0, 4)
    places = ", ".join(f"{' '.join(place)} ({n})" for place, n in one.where.most_common())
    yield from wrap(places, 2, 4)
    for reason in dict.fromkeys(e.reason for e in one.expected.values()):
        yield from wrap(f"expected: {reason}", 2, 4)
    for hint in one.hints:
        yield from wrap(f"the first of these: {hint}", 2, 4)
    for about in one.looks_like:
        yield from wrap(f"the smaller case looks like: {about}", 2, 4)
    yield from wrap(one.unsteady, 2, 4) if one.unsteady else ()
    for result in one.results:
        yield f"  {result.id}"
        if result.verdict == "failed" or (one.shrunk and result.message not in one.about):
            yield from wrap(how_far_off(result), 4)


def _counts(found: Fuzzed) -> Iterator[str]:
    """Yield a table of the verdicts by operator and dtype, and what could not be drawn."""
    verdicts = ("passed", "failed", "error", "missing", "unsupported")
    places = dict.fromkeys((operator, dtype) for operator, dtype, _ in found.tally)
    rows = [(*p, *(str(found.tally[(*p, v)] or "-") for v in verdicts)) for p in sorted(places)]
    if rows:
        header = ("operator", "dtype", "passed", "failed", "errors", "missing", "unsupported")
        yield from ["", *format_table(header, rows, range(2, 7)).splitlines()]
    yield from _reasons("declared unsupported by the runtime:", found.unsupported)
    if found.counts["unsupported"]:
        yield "to ask less of what is unsupported: --dtype, --operator, or a SPACE"
    if count := found.undeciding:
        yield from ["", f"{plural(count, 'question')} decide{'s' * (count == 1)} nothing:"]
        yield from wrap(_DECIDE_NOTHING, 8)
    if count := found.undrawn.total():
        title = f"{plural(count, 'question')} drawn, but not asked, for reasons such as:"
        first = Counter[str]()
        for why, n in found.undrawn.items():
            first[why.partition("; ")[0]] += n
        yield from _reasons(title, first)


def _reasons(title: str, reasons: Counter[str]) -> Iterator[str]:
    """Yield the most frequent reasons below a title, and how many others there are."""
    yield from ["", title] if reasons else []
    for why, n in reasons.most_common(_NAMED):
        yield from wrap(f"{n:6}  {why}", 0, 8)
    if (more := len(reasons) - _NAMED) > 0:
        yield f"        and {plural(more, 'other reason')}; --report json=FILE has all of them"


def _coverage(found: Fuzzed) -> Iterator[str]:
    """Yield by operator the pairs of values that were asked, and some that never were."""
    lines = []
    for operator, pairs in found.pairs.items():
        asked, compared, offered = pairs.counts()
        never = pairs.never_asked() if asked else []
        counted = f"{asked} of {offered} pairs, {compared} of them in a question that was compared"
        lines += wrap(f"{operator.partition('/')[0]}: {counted}", 2, 4)
        lines += [line for one in never[:_NAMED] for line in wrap(f"never together: {one}", 4, 6)]
        if len(never) > _NAMED:
            lines.append(f"    and {plural(len(never) - _NAMED, 'other pair')}")
    yield from ["", *wrap(_PAIRS, 0, 2), *lines]
