"""The commands that ask and do not judge: `grucible run`, `ask`, `profile` and `runtimes`."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path

import click

from ...cases.console import find_page, format_command, format_table, put, say, show_progress
from ...cases.files import FORCE, check_replaceable, write_whole
from ...cases.selection import FEATURES, options_of
from ...cases.strict_json import format_json
from ..observed import pool
from ..observed.exchange import ask
from ..observed.isolated import NOT_INSTALLED, Registered, described_runtimes
from ..observed.outputs_file import record
from ..profile import Profile, profile_of
from ..reports.profile import page_lines, profile_lines, profiles_json, summary_lines
from ..reports.text import group, plural
from . import options

_PAGE = rb"# What runtimes can do\n"
"""The start of the page, by which an earlier page is recognized."""


@click.command("run")
@options.VECTORS
@click.option("--runtime", required=True, metavar="NAME", help=options.RUNTIME_HELP)
@click.option("-o", "--out", required=True, type=options.PATH, metavar="OUTPUTS",
              help="Where the outputs go: a file if VECTORS is one, else a directory.")  # fmt: skip
@options.SELECT
@options.LIMITS
@options.JOBS
@FORCE
def run_command(
    vectors: Path | None,
    runtime: str,
    out: Path,
    select: tuple[str, ...],
    timeout: float,
    memory: int | None,
    jobs: int | None,
) -> None:
    """Run a runtime on vectors and keep its outputs, for `grucible check --outputs`.

    Outputs of the same cases are replaced. Where outputs of other cases would be lost, nothing is run.
    For a runtime that cannot be run from here, see `grucible ask`.
    """
    with (
        contextlib.closing(pool.RuntimePool(runtime, timeout, jobs, memory)) as source,
        options.opened_with_progress("running", vectors, select) as (opened, progress),
    ):
        for place, counts in record(opened, source, out, progress.advance):
            found = ", ".join(f"{count} {status}" for status, count in counts.items())
            progress.say(f"{place}: {found}")


@click.command("ask")
@options.VECTORS
@click.option("-o", "--out", required=True, type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Directory for the files of questions; the answers belong there, too.")  # fmt: skip
@options.SELECT
@FORCE
def ask_command(vectors: Path | None, out: Path, select: tuple[str, ...]) -> None:
    """Write the questions of vectors into files, for devices that no pipe leads to.

    VECTORS is a vector file or a directory of them; without it, the core vectors installed with
    grucible. NAME.questions is what --runtime 'exec: COMMAND' would send to a program for NAME.h5. What
    the program answers belongs in NAME.answers beside it, for grucible check --outputs DIR.
    """
    written = []
    with options.opened_with_progress("writing", vectors, select) as (opened, progress):
        for files, asked in ask(opened, out, progress.advance):
            written.append(files)
            counted = f"{plural(asked, 'question')}, {files.questions.stat().st_size:,} bytes"
            progress.say(f"{files.questions}: {counted}")
    questions, answers = (shlex.quote(str(path)) for path in written[0])
    each = "it" if len(written) == 1 else f"each of these {len(written)}"
    say(f"answer {each} with a program (see {find_page('check/protocol/README.md')}):")
    say(f"  PROGRAM < {questions} \\")
    say(f"    > {answers}")
    say("or look at a crash in a debugger:")
    say(f"  gdb PROGRAM -ex {shlex.quote(f'run < {questions}')}")
    say("then judge the answers:")
    say(f"  {_command('check', vectors, select, '--outputs', str(out))}")


def _command(name: str, vectors: Path | None, select: tuple[str, ...], *words: str) -> str:
    """Write a command on the selected cases of vectors, or of the core."""
    chosen = [word for option in options_of(select) for word in option]
    return format_command(name, [vectors] if vectors else [], [*words, *chosen])


@click.command("profile")
@options.VECTORS
@click.option("--runtime", "runtimes", multiple=True, required=True, metavar="NAME",
              help=f"{options.RUNTIME_HELP} Repeatable.")  # fmt: skip
@options.selection(FEATURES)
@click.option("--full", is_flag=True, help="Print a line for each feature, even if many are alike.")
@options.JSON
@click.option("--page", type=options.FILE, metavar="FILE",
              help="Write a Markdown page that shows the runtimes side by side; then only what is "
              "not right is printed.")  # fmt: skip
@options.LIMITS
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

    The runtime is asked the plain questions of VECTORS, each about one feature; without VECTORS, those
    of the core, in some 10 seconds. With --select, each selected case is a feature by itself. The
    names of features are the parts of an id (cases/README.md). There is no verdict: the exit status is
    0, or 2 if a runtime does not load.

    \b
    grucible profile --runtime my_gru:run
    grucible profile --runtime onnxruntime --runtime openvino --page profiles.md
    """
    if page:
        check_replaceable(page, _PAGE)
    found: list[Profile] = []
    try:
        for number, name in enumerate(runtimes):
            asking = options.opened_with_progress(f"asking {name}", vectors, select or FEATURES)
            with asking as (_, progress):
                found.append(profile_of(name, vectors, select, timeout, memory, progress.advance))
            if not as_json:
                lines = summary_lines(found[-1]) if page else profile_lines(found[-1], full=full)
                for line in ["", *lines][number == 0 :]:
                    say(line)
    finally:  # what was found is written, also after an error
        if found and page:
            words = [word for name in runtimes[: len(found)] for word in ("--runtime", name)]
            command = _command("profile", vectors, select, *words, "--page", page.name)
            text = "".join(f"{line}\n" for line in page_lines(found, command))
            write_whole(page, text, mark=_PAGE)
            say(f"{page}: written", err=as_json)
        if found and as_json:
            put(profiles_json(found))


def _what(one: Registered) -> str:
    """Say what a runtime is, without how it is asked; or why it is not here, and the remedy."""
    if one.not_here:
        remedy = one.about.rpartition("; ")[2] if one.not_here == NOT_INSTALLED else one.about
        return f"{one.not_here}: {remedy}"
    return f"{one.about.partition('; ')[0]}, {one.version or 'no version'}"


@click.command("runtimes")
@options.JSON
def runtimes_command(as_json: bool) -> None:
    """List the runtimes that --runtime takes by name, and how to install those that are not here.

    `grucible profile` shows what each can do, feature by feature.
    """
    if as_json:
        keys = ("name", "version", "about")
        put(format_json([{key: getattr(one, key) for key in keys} for one in described_runtimes()]))
        return
    with show_progress("loading runtimes", None):
        found = sorted(described_runtimes(), key=lambda one: bool(one.not_here))
    for what, some in group(found, _what).items():
        rows = [
            ("", one.name, "" if one.not_here else one.about.partition("; ")[2]) for one in some
        ]
        for line in (what, *format_table((), rows).splitlines()):
            say(line)
    say("any other: package.module:function, ./file.py:function, or 'exec: COMMAND'")
