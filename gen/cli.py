"""`grucible gen`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from .making.files import Outcome


@click.command("gen")
@click.argument("specs", metavar="[SPEC]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path, file_okay=False),
              help="Directory for the vector files.")  # fmt: skip
@click.option(
    "--dtype", "dtypes", multiple=True, metavar="D", help="Only cases of this dtype. Repeatable."
)
@click.option(
    "--select", multiple=True, metavar="GLOB", help="Only cases whose id matches. Repeatable."
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0, 2**63 - 1),
              help="Draw other numbers for the same cases.")  # fmt: skip
@click.option("--jobs", default=os.cpu_count() or 1, show_default="the CPUs", type=click.IntRange(1),
              help="Processes to use.")  # fmt: skip
@click.option("--digests", type=click.Path(path_type=Path, dir_okay=False),
              help="Write the content digests here, as sha256sum would.")  # fmt: skip
@click.option("--verify", is_flag=True,
              help="Exit with status 1 unless every content digest equals the published one.")  # fmt: skip
def gen_command(
    specs: tuple[Path, ...],
    out: Path,
    dtypes: tuple[str, ...],
    select: tuple[str, ...],
    seed: int,
    jobs: int,
    digests: Path | None,
    verify: bool,
) -> None:
    """Generate vector files: cases with their exact answers.

    SPEC is a case spec or a directory of them; without one, the specs shipped with grucible. A file
    that is there already and would come out the same is left alone, if its bytes are what its digests
    say; otherwise it is made again, or named, with --verify.
    """
    from ..cases.expansion.expand import check_dtypes, expand_all
    from ..cases.specs.spec_file import find_specs
    from ..vectors.published import published_digests
    from .making.files import make_files, plan_files, remember_interrupts, standing
    from .making.progress import progress_bar

    if verify and (seed or dtypes or select):
        raise click.UsageError("--verify goes with seed 0 and whole specs: those are published")
    check_dtypes(dtypes)
    expanded = expand_all(find_specs(specs), dtypes, select)
    plans = plan_files(expanded, out, seed=seed, dtypes=dtypes, select=select)
    found = {plan.relative: outcome for plan in plans if (outcome := standing(plan))}
    if not verify:
        found = {relative: outcome for relative, outcome in found.items() if not outcome.damage}
    missing = [plan for plan in plans if plan.relative not in found]
    outcomes = list(found.values())
    remember_interrupts()
    try:
        with (
            progress_bar("generating", sum(len(plan.cases) for plan in missing)) as advance,
            contextlib.closing(
                make_files(missing, jobs, advance)  # type: ignore[type-var]
            ) as made,
        ):
            for outcome in made:
                outcomes.append(outcome)
                click.echo(
                    f"{outcome.content_sha256[:16]}  {out / outcome.relative}  {outcome.cases} cases"
                )
    except KeyboardInterrupt:
        click.echo(
            f"interrupted; {len(outcomes)} of {len(plans)} files in {out} are whole", err=True
        )
        raise SystemExit(130) from None
    made_cases = sum(outcome.cases for outcome in outcomes if outcome.made)
    click.echo(
        f"made {len(missing)} file{'s' * (len(missing) != 1)} with {made_cases} cases in {out}; "
        f"{len(found)} {'was' if len(found) == 1 else 'were'} up to date"
    )
    if digests:
        ordered = sorted(outcomes, key=lambda outcome: outcome.relative)
        lines = [f"{o.content_sha256}  {o.relative}\n" for o in ordered]
        digests.write_text("".join(lines), encoding="utf-8")
    published = {} if seed or dtypes or select else published_digests()
    equal = _say_published(outcomes, published)
    if verify and equal < len(outcomes):
        raise SystemExit(1)


def _say_published(outcomes: list[Outcome], published: dict[str, str]) -> int:
    """Print how the digests compare with the published ones; returns how many are equal."""
    known = [outcome for outcome in outcomes if outcome.relative in published]
    differ = [o.relative for o in known if published[o.relative] != o.content_sha256]
    damaged = {outcome.relative: outcome.damage for outcome in outcomes if outcome.damage}
    for relative in differ:
        click.echo(damaged.get(relative, f"{relative}: content differs from the published digest"))
    equal = len(known) - len(differ)
    if equal == len(outcomes):
        click.echo(f"content digests: all {equal} equal the published ones")
    elif known:
        click.echo(f"content digests: {equal} of {len(outcomes)} equal a published one")
    elif published:
        click.echo("content digests: none is published of these specs")
    return equal
