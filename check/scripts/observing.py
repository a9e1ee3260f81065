"""What a runtime gives when its script is made: lines for the comment at its head."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ...cases.dtypes import Arrays
from ...cases.errors import RuntimeNotUsable
from ...vectors.case import Case
from ..observed.isolated import IsolatedRuntime
from ..observed.source import held_to
from .asked_case import AskedCase, asked_by
from .comparing import held
from .numbers import WIDTH, number


def observed_lines(case: Case, name: str, timeout: float) -> list[str]:
    """What the runtime called `name` gives for `case`, in a process of its own, in at most `timeout` seconds;
    or that it is not here. GrucibleError where the case is not asked of it."""
    asked = asked_by(case, name)
    try:
        runtime = IsolatedRuntime(name, timeout)
        try:
            runtime.ready()
            reply = held_to(case.question.outputs, runtime.answer(case.question))
        finally:
            runtime.close()
    except RuntimeNotUsable as error:
        return _wrapped(f"Not observed when this was made: {error}")
    who = f"{runtime.name} {runtime.version}".strip()
    if reply.status != "ok":
        return _wrapped(
            f"{who} gave no outputs when this was made: {reply.status}, {reply.message}"
        )
    return list(_compared(asked, asked.outputs(reply.outputs), who))


def _compared(asked: AskedCase, observed: Arrays, who: str) -> Iterator[str]:
    signed = asked.case.tier == "nonportable"
    wrong, said = min(
        held(one.outputs, one.tolerances, observed, signed) for one in asked.accepted.values()
    )
    total = sum(array.size for array in observed.values())
    count = f"{wrong} of {total} elements wrong" if wrong else "nothing wrong"
    yield from _wrapped(f"{who} gave this when the script was made, {count}; the worst:")
    yield f"  {said}"
    for name, array in observed.items():
        text = " ".join(number(value) for value in array.ravel())
        yield from textwrap.wrap(
            f"{name}: {text}", WIDTH, subsequent_indent="  ", break_on_hyphens=False
        )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
