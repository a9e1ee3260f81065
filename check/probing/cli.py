"""`grucible probe`."""

from __future__ import annotations

import click

from ...cases.console import format_command, say
from ..cli.options import Seconds


@click.command("probe")
@click.argument("words", metavar="'exec: COMMAND'", nargs=-1, required=True)
@click.option("--timeout", default=10.0, show_default=True, metavar="SECONDS",
              type=Seconds(min=0, min_open=True),
              help="How long the program may take for each step.")  # fmt: skip
def probe_command(words: tuple[str, ...], timeout: float) -> None:
    """Talk to a program step by step, and say what is wrong with its protocol.

    COMMAND is a program in any language that answers questions on its standard input and output
    (check/protocol/README.md). Each step is a line. Where one is wrong, the bytes that came are
    shown, those expected, and what to change. `grucible check` judges its numbers.

    Exit status 0: the protocol is right, perhaps with remarks; 1: something is wrong.
    """
    from ..reports.text import wrap
    from .probe import ProbeStep, probe, step_lines

    if len(words) > 1:
        raise click.UsageError(f"put the command in quotes, as one word: '{' '.join(words)}'")

    def report(step: ProbeStep) -> None:
        for line in step_lines(step):
            indent = len(line) - len(line.lstrip())
            for one in wrap(line.lstrip(), indent, indent + 10, cut=False):
                say(one)

    probed = probe(words[0], timeout, report)
    results = [step.result for step in probed.steps]
    wrong, remarks = results.count("wrong"), results.count("remark")
    noted = f", with {remarks} remark{'s' * (remarks > 1)}" if remarks else ""
    say("")
    if wrong:
        say(f"the protocol is not right: {wrong} step{'s' * (wrong > 1)} wrong{noted}")
        say("how it should be: check/protocol/README.md, with complete programs beside it")
        raise SystemExit(1)
    say(f"the protocol is right{noted}. Judge the numbers with:")
    say(f"    {format_command('check', (), ['--runtime', words[0]])}")
