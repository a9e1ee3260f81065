"""`grucible profile`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cases.console import format_command, put, say
from ...cases.files import FORCE, check_replaceable, write_whole
from ...cases.selection import FEATURES, options_of
from .options import MEMORY, RUNTIME_HELP, TIMEOUT, VECTORS, opened_with_progress, selection

if TYPE_CHECKING:
    from ..profiling.profile import Profile

_PAGE = rb"# What runtimes can do\n"
"""The start of the page, by which an earlier one is known."""


@click.command("profile")
@VECTORS
@click.option("--runtime", "runtimes", multiple=True, required=True, metavar="NAME",
              help=f"{RUNTIME_HELP} Repeatable.")  # fmt: skip
@selection(FEATURES)
@click.option("--full", is_flag=True, help="A line for each feature, however many are alike.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Write a page that shows them side by side, in Markdown; only what is not right "
              "is printed then.")  # fmt: skip
@TIMEOUT
@MEMORY
@FORCE
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
    vectors: some 10 seconds. With --select other cases, each a feature by itself. The names of features
    are the parts of an id (cases/README.md). It decides nothing: the exit status is 0 whatever is found,
    and 2 where a runtime does not load.

    \b
    grucible profile --runtime my_gru:run
    grucible profile --runtime onnxruntime --runtime openvino --page profiles.md
    """
    from ..profiling.lines import profile_lines, summary_lines
    from ..profiling.profile import profile_of

    if page:
        check_replaceable(page, _PAGE)
    found: list[Profile] = []
    try:
        for number, name in enumerate(runtimes):
            with opened_with_progress(f"asking {name}", vectors, select or FEATURES) as (
                _,
                progress,
            ):
                found.append(profile_of(name, vectors, select, timeout, memory, progress.advance))
            if as_json:
                continue
            told = summary_lines(found[-1]) if page else profile_lines(found[-1], full=full)
            for line in ["", *told][number == 0 :]:
                say(line)
    finally:  # whatever ends it, what was found is written
        if found:
            command = _command(vectors, runtimes[: len(found)], select, page) if page else ""
            _finish(found, page, command, as_json=as_json)


def _finish(found: Sequence[Profile], page: Path | None, command: str, *, as_json: bool) -> None:
    """Write the page, which a command makes again, and print what is JSON."""
    from ..profiling.lines import page_lines, profiles_json

    if page:
        write_whole(page, "".join(f"{line}\n" for line in page_lines(found, command)), mark=_PAGE)
        say(f"{page}: written", err=as_json)
    if as_json:
        put(profiles_json(found))


def _command(
    vectors: Path | None, runtimes: tuple[str, ...], select: tuple[str, ...], page: Path
) -> str:
    """The command that makes a page again."""
    words = [word for name in runtimes for word in ("--runtime", name)]
    words += [word for option in options_of(select) for word in option]
    return format_command("profile", [vectors] if vectors else [], [*words, "--page", page.name])
