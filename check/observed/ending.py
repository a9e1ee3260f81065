"""How a process that speaks the protocol ended, or what it does when its input ends."""

from __future__ import annotations

import time

from .child import Child, signal_name
from .source import Fault, Reply

END_SECONDS = 1.0
"""How long a process that has closed its pipes may take to end by itself, so that its status is told."""


def at_its_end(child: Child) -> Reply | None:
    """What goes wrong with a child when its input ends after its last answer; None where nothing does."""
    until = time.monotonic() + END_SECONDS
    child.channel.record()
    child.end_input()
    child.channel.rest(until)
    if surplus := child.channel.recorded:
        said = f"the runtime broke the protocol: after its last answer it wrote {surplus[:40]!r}"
        return Reply("error", {}, said, Fault("malformed"))
    if child.ended(max(0.0, until - time.monotonic())) and child.kill() < 0:
        said = f"after its last answer, the runtime {how_it_ended(child)}"
        return Reply("error", {}, said, Fault("crashed"))
    return None


def how_it_ended(child: Child) -> str:
    """How a child that has closed its pipes ended; one that goes on all the same is stopped."""
    by_itself = child.ended(END_SECONDS)
    code = child.kill()
    said = f"; it last wrote: {child.last_line}" if child.last_line else ""
    if not by_itself:
        return f"closed its connection, and was stopped{said}"
    if code < 0:
        return f"crashed ({signal_name(-code)}){said}"
    return f"ended its process (exit status {code}){said}"
