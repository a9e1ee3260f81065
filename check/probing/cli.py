"""`grucible probe`."""

from __future__ import annotations

import click

from ...cases.console import say
from ..commands.option_values import seconds


@click.command("probe")
@click.argument("words", metavar="'exec: COMMAND'", nargs=-1, required=True)
@click.option("--timeout", default=10.0, show_default=True, metavar="SECONDS",
              type=click.FloatRange(min=0, min_open=True), callback=seconds,
              help="How long the program may take for each step.")  # fmt: skip
def probe_command(words: tuple[str, ...], timeout: float) -> None:
    """Talk to a program step by step, and say what is wrong with its protocol.

    COMMAND is a program in any language that answers questions on its standard input and output
    (check/protocol/README.md). Each step is a line. Where one is wrong, the bytes that came are
    shown, those expected, and what to change. Whether its numbers are right, `grucible check` tells.

    Exit status 0: the protocol is right, perhaps with remarks; 1: something is wrong.
    """
    from .lines import end_lines, step_lines
    from .probe import probe
    from .step import Step

    if len(words) > 1:
        raise click.UsageError(f"put the command in quotes, as one word: '{' '.join(words)}'")

    def tell(step: Step) -> None:
        for line in step_lines(step):
            say(line)

    probed = probe(words[0], timeout, tell)
    for line in end_lines(probed, words[0]):
        say(line)
    raise SystemExit(0 if probed.right else 1)
