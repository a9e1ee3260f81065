"""A probe as a person reads it, at 80 columns: a line for each step, and more where it is not ok."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ...cases.console import format_command
from .questions import core_asked
from .step import Probed, Step

_WIDTH = 80
_WORDS = {"ok": "ok", "remark": "remark", "wrong": "WRONG"}
_INDENT, _INSET = 8, 4
_BESIDE_OFFSETS = 12
"""Where the text of a row of bytes begins, behind its offset."""


def step_lines(step: Step) -> Iterator[str]:
    """The lines of one step; its bytes where it is not ok, or where the question is shown, too."""
    yield from _wrapped(f"{_WORDS[step.result]:{_INDENT}}{step.name}: {step.said}", "", _INDENT + 2)
    shown = step.result != "ok" or step.sent
    for title, lines in (("sent", step.sent), ("seen", step.seen), ("expected", step.expected)):
        if len(lines) == 1 and shown:
            yield f"{'':{_INSET}}{title}: {lines[0].strip()}"
        elif lines and shown:
            yield f"{'':{_INSET}}{title}:"
            indent = " " * (_BESIDE_OFFSETS if title == "expected" else _INSET)
            yield from (_cut(f"{indent}{line}") for line in lines)
    if step.remedy:
        yield from _wrapped(f"remedy: {step.remedy}", " " * _INSET, _INSET + 2)


def end_lines(probed: Probed, runtime: str) -> Iterator[str]:
    """The lines after the last step: what to do now."""
    yield ""
    wrong = sum(step.result == "wrong" for step in probed.steps)
    remarks = sum(step.result == "remark" for step in probed.steps)
    told = f", with {remarks} remark{'s' * (remarks > 1)}" if remarks else ""
    if wrong:
        yield f"the protocol is not right: {wrong} step{'s' * (wrong > 1)} wrong{told}"
        yield "how it should be: check/protocol/README.md, with complete programs beside it"
        return
    asked, total = core_asked(probed.operators, probed.dtypes)
    yield f"the protocol is right{told}. Whether the numbers are, this tells:"
    yield f"    {format_command('check', (), ['--runtime', runtime])}"
    yield f"It asks {asked} of the {total} core cases."


def _wrapped(text: str, indent: str, more: int) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=" " * more,
                         break_on_hyphens=False, break_long_words=False)  # fmt: skip


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
