"""`grucible gen`."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..cases.console import say
from ..cases.errors import GrucibleError
from ..cases.files import check_apart, check_replaceable, write_whole
from ..cases.process import count_cpus
from ..cases.whole_file import leaving_no_empty_folder, writing_to

if TYPE_CHECKING:
    from ..cases.expansion.case_spec import CaseSpec
    from .files import MadeFile, Plan

DIGESTS = re.compile(rb"(?:[0-9a-f]{64}  [^\n]+\.h5\n)+[^\n]*\Z")
"""What a list of digests begins with, of whatever files."""


def digests_of(files: Iterable[str]) -> re.Pattern[bytes]:
    """What a list of digests begins with that names some of these files, and no others."""
    names = b"|".join(re.escape(os.fsencode(name)) for name in files)
    return re.compile(rb"(?:[0-9a-f]{64}  (?:%b)\n)+[^\n]*\Z" % names)


@click.command("gen")
@click.argument("specs", metavar="[SPEC]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(file_okay=False, path_type=Path),
              help="Directory for the vector files.")  # fmt: skip
@click.option(
    "--dtype", "dtypes", multiple=True, metavar="D", help="Only cases of this dtype. Repeatable."
)
@click.option(
    "--select", multiple=True, metavar="GLOB", help="Only cases whose id matches. Repeatable."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**63 - 1),
              help="Draw other numbers for the same cases.")  # fmt: skip
@click.option("--jobs", default=count_cpus, show_default="the usable CPUs", metavar="N",
              type=click.IntRange(1), help="Processes to use.")  # fmt: skip
@click.option("--digests", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the content digests here, as sha256sum would.")  # fmt: skip
@click.option("--tolerance-digests", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the digests of the tolerances here.")  # fmt: skip
@click.option("--verify", is_flag=True,
              help="Exit with status 1 unless every digest equals the published one.")  # fmt: skip
def gen_command(
    specs: tuple[Path, ...],
    out: Path,
    dtypes: tuple[str, ...],
    select: tuple[str, ...],
    seed: int,
    jobs: int,
    digests: Path | None,
    tolerance_digests: Path | None,
    verify: bool,
) -> None:
    """Generate vector files: cases with their exact answers.

    SPEC is a case spec or a directory of them; without one, the specs shipped with grucible. A file
    that is there already and would come out the same is left alone, if its bytes are what its digests
    say, and those are the published ones where there are any; otherwise it is made again, or
    named, with --verify.
    """
    from ..cases.expansion.expand import check_dtypes, expand_all
    from ..cases.specs.spec_file import find_specs
    from ..vectors.published import published_digests
    from .files import plan_files

    whole = not (seed or dtypes or select)
    if verify and not whole:
        raise click.UsageError("--verify goes with seed 0 and whole specs: those are published")
    check_dtypes(dtypes)
    lists = {"--digests": digests, "--tolerance-digests": tolerance_digests}
    check_apart((option, place) for option, place in lists.items() if place)
    with leaving_no_empty_folder(out / "lists"):
        _check_lists(lists, out)
        expanded = expand_all(find_specs(specs), dtypes, select)
        plans = plan_files(expanded, out, seed=seed, dtypes=dtypes, select=select)
        _check_beside(plans, lists)
        ours = digests_of({*published_digests(), *(plan.relative for plan in plans)})
        for listed in filter(None, lists.values()):
            check_replaceable(listed, ours)
        files = _made_or_found(plans, out, jobs, remake=not verify, whole=whole)
        complete = [file for file in files if not file.undrawn]
        equal = _say_published(complete) if whole and complete else 0
        _say_undrawn(files, out, {plan.relative: plan.cases for plan in plans})
        for place, name in ((digests, "content_sha256"), (tolerance_digests, "tolerance_sha256")):
            if place:
                sound = sorted((f for f in files if f.sound), key=lambda file: file.relative)
                lines = [f"{getattr(file, name)}  {file.relative}\n" for file in sound]
                write_whole(place, "".join(lines), mark=ours)
        if verify and equal < len(files):
            raise SystemExit(1)


def _check_lists(lists: Mapping[str, Path | None], out: Path) -> None:
    """Raise GrucibleError for a list that would replace something else, or cannot be written."""
    for listed in filter(None, lists.values()):
        with writing_to(out):
            out.mkdir(parents=True, exist_ok=True)  # the lists may be in it
        check_replaceable(listed, DIGESTS)


def _check_beside(plans: Sequence[Plan], lists: Mapping[str, Path | None]) -> None:
    """Raise GrucibleError for a list that would stand in the place of planned vectors, or of a directory of
    theirs."""
    taken = {os.path.realpath(at) for plan in plans for at in (plan.path, *plan.path.parents)}
    for option, place in lists.items():
        if place and os.path.realpath(place) in taken:
            raise GrucibleError(
                f"{option}: {place} is where vectors will stand; name another place"
            )


def _made_or_found(
    plans: Sequence[Plan], out: Path, jobs: int, *, remake: bool, whole: bool
) -> list[MadeFile]:
    """Make the files that are missing or would come out otherwise, and say so; with `remake`, those too
    whose bytes are not what their digests say, or, of `whole` specs, whose digests are not as published."""
    from ..cases.console import show_progress
    from ..cases.process import interruption_status
    from .files import make_files, standing

    standing_files = [file for plan in plans if (file := standing(plan))]
    found = [
        file
        for file in standing_files
        if not (remake and (file.damage or (whole and _not_published(file))))
    ]
    there = {file.relative for file in found}
    missing = [plan for plan in plans if plan.relative not in there]
    made: list[MadeFile] = []
    try:
        with (
            show_progress("generating", sum(len(plan.cases) for plan in missing)) as progress,
            contextlib.closing(make_files(missing, jobs, progress.advance)) as files,
        ):
            for file in files:
                made.append(file)
                if file.made:
                    progress.say(
                        f"{file.content_sha256[:16]}  {out / file.relative}  {file.cases} cases"
                    )
    except KeyboardInterrupt:
        standing_now = len(found) + len(made)
        say(f"interrupted; {standing_now} of {len(plans)} files in {out} are whole", err=True)
        raise SystemExit(interruption_status()) from None
    count = sum(file.made for file in made)
    say(
        f"made {count} file{'s' * (count != 1)} with {sum(file.cases for file in made)} "
        f"cases in {out}; {len(found)} {'was' if len(found) == 1 else 'were'} up to date"
    )
    return found + made


def _say_undrawn(
    files: Sequence[MadeFile], out: Path, cases: Mapping[str, Sequence[CaseSpec]]
) -> None:
    """Say which cases could not be drawn, and what to do; exit with status 2 if there are any."""
    from .drawing import undrawn_lines

    lacking = [file for file in files if file.undrawn]
    for file in lacking:
        for line in undrawn_lines(file.undrawn, cases[file.relative]):
            say(line, err=True)
        if not file.made and (out / file.relative).exists():
            say(f"{out / file.relative}: stays as it was", err=True)
    if lacking:
        count = sum(len(file.undrawn) for file in lacking)
        left = sum(file.cases for file in files)
        each = "the other was" if left == 1 else f"the {left} others were"
        others = f"; {each}" if left else ""
        raise GrucibleError(f"{count} case{'s' * (count > 1)} could not be drawn (above){others}")


def _not_published(file: MadeFile) -> str:
    """What of a file differs from what is published of it, in words; "" where nothing does."""
    from ..vectors.published import published_digests, published_tolerances

    for what, digest, published in (
        ("content differs", file.content_sha256, published_digests()),
        ("tolerances differ", file.tolerance_sha256, published_tolerances()),
    ):
        if published.get(file.relative, digest) != digest:
            return f"{what} from the published digest"
    return ""


def _say_published(files: Sequence[MadeFile]) -> int:
    """Print how the digests compare with the published ones; returns how many are equal."""
    from ..vectors.published import published_digests

    published = published_digests()
    known = [file for file in files if file.relative in published]
    differ = {file.relative: why for file in known if (why := _not_published(file))}
    for file in known:
        if file.relative in differ:
            say(file.damage or f"{file.relative}: {differ[file.relative]}")
    equal = len(known) - len(differ)
    if equal == len(files):
        say(f"content digests: all {equal} equal the published ones, and so do those of tolerances")
    elif known:
        say(f"content digests: {equal} of {len(files)} equal a published one")
    elif published:
        say("content digests: none is published of these specs")
    return equal
