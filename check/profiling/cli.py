"""`grucible profile`."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from ...cases.commands.terminal import put, say
from ..commands.options import MEMORY, RUNTIME_HELP, SELECT, TIMEOUT, VECTORS, progress_over_cases


@click.command("profile")
@VECTORS
@click.option("--runtime", "runtimes", multiple=True, required=True, metavar="NAME",
              help=f"{RUNTIME_HELP} Repeatable.")  # fmt: skip
@SELECT
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@TIMEOUT
@MEMORY
def profile_command(
    vectors: Path | None,
    runtimes: tuple[str, ...],
    select: tuple[str, ...],
    as_json: bool,
    timeout: float,
    memory: int | None,
) -> None:
    """Show what a runtime can do, feature by feature: right, refused, wrong or crashed.

    It is asked the plain questions of VECTORS, each of one feature; without VECTORS, of the core
    vectors. With --select other cases, each a feature by itself. It decides nothing: the exit status
    is 0 whatever is found.
    """
    from ..observed.pool import RuntimePool
    from .lines import profile_lines, profiles_json
    from .profile import FEATURES, profile

    found = []
    for number, name in enumerate(runtimes):
        source = RuntimePool(name, timeout, 1, memory)
        wanted = select or FEATURES
        with (
            contextlib.closing(source),
            progress_over_cases(f"asking {name}", vectors, wanted) as progress,
        ):
            found.append(profile(source, vectors, wanted, progress.advance))
        if as_json:
            continue
        for line in ["", *profile_lines(found[-1])][number == 0 :]:
            say(line)
    if as_json:
        put(profiles_json(found))
