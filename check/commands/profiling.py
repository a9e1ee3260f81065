"""`grucible profile`."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

import click

from ...cases.commands.given_path import GivenPath
from ...cases.commands.terminal import put, say
from ...cases.commands.text_file import PAGE, check_replaceable, replace_text
from .options import MEMORY, RUNTIME_HELP, SELECT, TIMEOUT, VECTORS, progress_over_cases


@click.command("profile")
@VECTORS
@click.option("--runtime", "runtimes", multiple=True, required=True, metavar="NAME",
              help=f"{RUNTIME_HELP} Repeatable.")  # fmt: skip
@SELECT
@click.option("--full", is_flag=True, help="A line for each feature, however many are alike.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--page", type=GivenPath(dir_okay=False), metavar="FILE",
              help="Write a page that shows them side by side, in Markdown.")  # fmt: skip
@TIMEOUT
@MEMORY
def profile_command(
    vectors: Path | None,
    runtimes: tuple[str, ...],
    select: tuple[str, ...],
    full: bool,
    as_json: bool,
    page: Path | None,
    timeout: float,
    memory: int | None,
) -> None:
    """Show what a runtime can do, feature by feature: right, refused, wrong or crashed.

    It is asked the plain questions of VECTORS, each of one feature; without VECTORS, of the core
    vectors. With --select other cases, each a feature by itself. It decides nothing: the exit status
    is 0 whatever is found.
    """
    from ..observed.pool import RuntimePool
    from ..profiling.lines import profile_lines, profiles_json
    from ..profiling.page import page_lines
    from ..profiling.profile import FEATURES, profile

    if page:
        check_replaceable(page, PAGE)
    found = []
    for number, name in enumerate(runtimes):
        source = RuntimePool(name, timeout, 1, memory)
        wanted = select or FEATURES
        with (
            contextlib.closing(source),
            progress_over_cases(f"asking {name}", vectors, wanted) as progress,
        ):
            found.append(profile(source, vectors, wanted, progress.advance))
        if as_json or page:
            continue
        for line in ["", *profile_lines(found[-1], full=full)][number == 0 :]:
            say(line)
    if page:
        words = [word for name in runtimes for word in ("--runtime", name)]
        command = shlex.join(["grucible", "profile", *words, "--page", page.name])
        replace_text(page, "".join(f"{line}\n" for line in page_lines(found, command)), PAGE)
    if as_json:
        put(profiles_json(found))
