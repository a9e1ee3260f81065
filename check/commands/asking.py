"""`grucible ask`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cases.console import format_command, say
from ...cases.files import FORCE
from ...cases.selection import options_of
from .options import SELECT, VECTORS, opened_with_progress

if TYPE_CHECKING:
    from ..observed.exchange import Asked


@click.command("ask")
@VECTORS
@click.option("-o", "--out", required=True, type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Directory for the files of questions; the answers belong there, too.")  # fmt: skip
@SELECT
@FORCE
def ask_command(vectors: Path | None, out: Path, select: tuple[str, ...]) -> None:
    """Write the questions of vectors into files, for devices that no pipe leads to.

    VECTORS is a vector file or a directory of them; without it, the core vectors installed with
    grucible. Of each, NAME.questions is what --runtime 'exec: COMMAND' would send to a program. What
    the program says to it belongs in NAME.answers beside it, for grucible check --outputs DIR.
    """
    from ..observed.exchange import ask

    written: list[Asked] = []
    with opened_with_progress("writing", vectors, select) as (opened, progress):
        for asked in ask(opened, out, progress.advance):
            written.append(asked)
            count = f"{asked.questions} question{'s' * (asked.questions > 1)}"
            progress.say(f"{asked.files.questions}: {count}, {_size(asked.bytes)}")
    _say_what_next(written, vectors, out, select)


def _say_what_next(
    written: Sequence[Asked], vectors: Path | None, out: Path, select: Sequence[str]
) -> None:
    """Say how a file is answered, and what judges the answers."""
    selects = [word for option in options_of(select) for word in option]
    judged = format_command("check", [vectors] if vectors else [], ["--outputs", out, *selects])
    if len(written) == 1:
        questions, answers = (shlex.quote(str(path)) for path in written[0].files)
        say("answer it with a program (see check/protocol/README.md):")
        say(f"  ./my_gru < {questions} \\")
        say(f"    > {answers}")
    else:
        say("answer each of them with a program (see check/protocol/README.md):")
        say(f"  find {shlex.quote(str(out))} -name '*.questions' | while read -r q")
        say('  do ./my_gru < "$q" > "${q%.questions}.answers"; done')
    say("then judge the answers:")
    say(f"  {judged}")


def _size(count: int) -> str:
    """A number of bytes in the largest unit of which there is one."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):.1f} {unit}"
    return f"{count} bytes"
