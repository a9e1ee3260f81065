"""`grucible gen`."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..cases.console import say
from ..cases.errors import GrucibleError
from ..cases.files import check_apart, check_replaceable, write_whole, writing_to
from ..cases.process import count_cpus
from ..cases.selection import DTYPES, SELECT, SHARD, WHOLE, Shard
from .cluster import SCHEDULER, open_cluster

if TYPE_CHECKING:
    from .files import MadeFile, Plan

MOST_SHOWN = 20
"""Maximum cases of a file that are named; all of a large spec would fill the terminal."""


@click.command("gen")
@click.argument("specs", metavar="[SPEC]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(file_okay=False, path_type=Path),
              help="Directory for the vector files.")  # fmt: skip
@DTYPES
@SELECT
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**63 - 1),
              help="Draw other numbers for the same cases.")  # fmt: skip
@SHARD
@click.option("--jobs", default=count_cpus, show_default="the usable CPUs", metavar="N",
              type=click.IntRange(1), help="Processes to use.")  # fmt: skip
@SCHEDULER
@click.option("--digests", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the content digests here, as sha256sum would.")  # fmt: skip
@click.option("--tolerance-digests", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the digests of the tolerances here.")  # fmt: skip
@click.option("--verify", is_flag=True,
              help="Exit with status 1 unless every digest equals the published one.")  # fmt: skip
@click.option("--force", is_flag=True,
              help="Replace files, too, that grucible did not write.")  # fmt: skip
def gen_command(
    specs: tuple[Path, ...],
    out: Path,
    dtypes: tuple[str, ...],
    select: tuple[str, ...],
    seed: int,
    shard: Shard,
    jobs: int,
    scheduler: str | None,
    digests: Path | None,
    tolerance_digests: Path | None,
    verify: bool,
    force: bool,
) -> None:
    """Generate vector files: cases with their exact answers.

    SPEC is a case spec or a directory of case specs; the default is the specs shipped with grucible. A file
    that this generator made from the same spec and options is left alone if it matches its own digests and
    any published ones. Otherwise it is made again; with --verify it is only named. With --shard, each file
    is a part, which `check` takes as it is; `gen` without --shard joins the parts that stand in DIR.
    """
    from ..cases.specs.expand import expand_all
    from ..cases.specs.spec_file import find_specs
    from .files import make_files, plan_files

    whole = not (seed or dtypes or select or shard != WHOLE)
    if verify and not whole:
        raise click.UsageError("--verify goes with seed 0 and whole specs: those are published")
    lists = {"content_sha256": digests, "tolerance_sha256": tolerance_digests}
    if digests and tolerance_digests:
        check_apart([("--digests", digests), ("--tolerance-digests", tolerance_digests)])
    expanded = expand_all(find_specs(specs), dtypes, select)
    plans = plan_files(expanded, out, seed=seed, dtypes=dtypes, select=select, shard=shard)
    if not plans:
        say(f"shard {shard} has no case of these; nothing to make")
        return
    with writing_to(out):
        out.mkdir(parents=True, exist_ok=True)  # the lists may be in it
    mark = _list_mark(plan.relative for plan in plans)
    for place in filter(None, lists.values()):
        check_replaceable(place, mark, force=force)
    with open_cluster(scheduler) as cluster:
        make = partial(make_files, jobs=jobs, force=force, cluster=cluster)
        files = _make_or_find(plans, out, make, remake=not verify, whole=whole)
    complete = [file for file in files if not file.undrawn]
    equal = _report_published(complete) if whole and complete else 0
    if shard == WHOLE and len(complete) == len(plans) and not any(f.damage for f in files):
        _report_root(files, whole=whole)
    _report_undrawn(files, plans)
    for name, listed in lists.items():
        if listed:
            sound = sorted((f for f in files if not f.damage), key=lambda file: file.relative)
            lines = [f"{getattr(file, name)}  {file.relative}\n" for file in sound]
            write_whole(listed, "".join(lines), mark=mark, force=force)
    if verify and equal < len(files):
        raise SystemExit(1)


def _report_root(files: Sequence[MadeFile], *, whole: bool) -> None:
    """Report the digest of all files together, which is the same however the work was divided."""
    from ..vectors.digest import published_digests, published_tolerances, root_digest

    pairs = {file.relative: (file.content_sha256, file.tolerance_sha256) for file in files}
    tolerances = published_tolerances()
    published = {name: (one, tolerances[name]) for name, one in published_digests().items()}
    equal = ", as published" if whole and pairs == published else ""
    say(f"root digest: {root_digest(pairs)}{equal}")


def _list_mark(planned: Iterable[str]) -> re.Pattern[bytes]:
    """Make the mark of lists of digests that name only planned or published files."""
    from ..vectors.digest import published_digests

    names = b"|".join(re.escape(os.fsencode(name)) for name in {*published_digests(), *planned})
    return re.compile(rb"(?:[0-9a-f]{64}  (?:%b)\n)+[^\n]*\Z" % names)


def _make_or_find(
    plans: Sequence[Plan],
    out: Path,
    make: Callable[..., Generator[MadeFile, None, None]],
    *,
    remake: bool,
    whole: bool,
) -> list[MadeFile]:
    """Have `make` make the files that are missing or out of date, and report them.

    With `remake`, that includes files that do not match their own digests and, if specs are `whole`, files
    that differ from the published ones.
    """
    from ..cases.console import show_progress
    from ..cases.process import interruption_status
    from .files import find_made

    found = {file.relative: file for plan in plans if (file := find_made(plan))}
    for name, file in [*found.items()] if remake else []:
        if file.damage or (whole and file.difference()):
            del found[name]
    missing = [plan for plan in plans if plan.relative not in found]
    made: list[MadeFile] = []
    try:
        with (
            show_progress("generating", sum(len(plan.cases) for plan in missing)) as progress,
            contextlib.closing(make(missing, advance=progress.advance)) as files,
        ):
            for file in files:
                made.append(file)
                if file.made:
                    place = out / file.relative
                    progress.say(f"{file.content_sha256[:16]}  {place}  {file.cases} cases")
    except KeyboardInterrupt:
        complete = len(found) + len(made)
        say(f"interrupted; {complete} of {len(plans)} files in {out} are whole", err=True)
        raise SystemExit(interruption_status()) from None
    if remake:
        stands = found.keys() | {file.relative for file in made if file.made}
        for plan in (plan for plan in plans if plan.relative in stands):
            plan.drop_parts()
    count, cases = sum(file.made for file in made), sum(file.cases for file in made)
    say(
        f"made {count} file{'s' * (count != 1)} with {cases} cases in {out}; "
        f"{len(found)} {'was' if len(found) == 1 else 'were'} up to date"
    )
    return [*found.values(), *made]


def _report_undrawn(files: Sequence[MadeFile], plans: Sequence[Plan]) -> None:
    """Report cases that could not be drawn, and what to do. Raises GrucibleError if there are any."""
    plan_of = {plan.relative: plan for plan in plans}
    for file in files:
        for one in file.undrawn[:MOST_SHOWN]:
            say(f"{one.case.id}: {one.why}", err=True)
        if (more := len(file.undrawn) - MOST_SHOWN) > 0:
            say(f"and {more} more", err=True)
        if file.undrawn and not file.made and plan_of[file.relative].path.exists():
            say(f"{plan_of[file.relative].path}: stays as it was", err=True)
    if count := sum(len(file.undrawn) for file in files):
        left = sum(file.cases for file in files)
        each = "the other was" if left == 1 else f"the {left} others were"
        others = f"; {each}" if left else ""
        raise GrucibleError(f"{count} case{'s' * (count > 1)} could not be drawn (above){others}")


def _report_published(files: Sequence[MadeFile]) -> int:
    """Report how the digests compare with the published ones; return how many are equal."""
    from ..vectors.digest import published_digests

    known = [file for file in files if file.relative in published_digests()]
    differ = [line for file in known if (line := file.difference())]
    for line in differ:
        say(line)
    equal = len(known) - len(differ)
    if equal == len(files):
        say(f"content digests: all {equal} equal the published ones, and so do those of tolerances")
    elif known:
        say(f"content digests: {equal} of {len(files)} equal a published one")
    else:
        say("content digests: none is published of these specs")
    return equal
