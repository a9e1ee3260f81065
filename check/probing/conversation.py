"""A program that is talked to as the judge talks to it, with every byte that it writes kept."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ...cases.question import Question
from ..observed.child import Child
from ..observed.ending import END_SECONDS, how_it_ended
from ..observed.isolated import received
from ..observed.source import Reply, held_to
from ..protocol.channel import Channel, Closed, LateError
from ..protocol.header import ProtocolError, check_hello, hello_lines, parsed, question_parts

QUIET_SECONDS = 0.05
"""So long is waited for what follows a message and was not announced."""
AFTER_SECONDS = 2.0
"""So long a program that did not answer is listened to when its input has ended: what it says then, it
had not flushed, or it had read on."""
ENDING_SECONDS = 5.0
"""How long a program may take to end by itself after the end of its input."""

How = Literal["told", "broken", "closed", "late"]
Lines = list[tuple[str, str]]


@dataclass(frozen=True)
class Heard:
    """What came of one message to a program.

    `how`: it *told* what it should; it has *broken* the protocol, in which way `problem` says; it has
    *closed* its output before; or it was *late*. `data` is all that it wrote meanwhile, the first bytes
    of it where that is much. `afterwards` is what a late one wrote when its input had ended, and `left` how
    many bytes of the `sent` it had not read until then. `ended` says how the process ended, if it did.
    `answers` is how many it had given before.
    """

    how: How
    data: bytes
    problem: str = ""
    hello: Lines | None = None
    reply: Reply | None = None
    afterwards: bytes = b""
    left: int | None = None
    ended: str = ""
    sent: int = 0
    answers: int = 0


class Conversation:
    """A program that runs `command`, and may take `timeout` seconds for each message; to be closed.

    What it writes to standard error is passed on under `name`. Raises OSError where it does not start.
    """

    def __init__(self, command: Sequence[str], name: str, timeout: float) -> None:
        self._child = Child(command, name)
        self._timeout, self._answers = timeout, 0

    def close(self) -> None:
        """End the program."""
        self._child.close()

    def greet(self) -> Heard:
        """Say hello, and hear its hello: `hello` has the keyword and the rest of each line."""

        def hear(channel: Channel, deadline: float) -> Heard:
            lines = parsed(channel.lines(deadline))
            if "unusable" not in dict(lines):
                check_hello(lines)
            return Heard("told", b"", hello=lines)

        return self._heard([hello_lines()], hear)

    def ask(self, question: Question, more: bytes = b"") -> Heard:
        """Ask a question, with `more` lines in its header, and hear the answer: `reply`."""

        def hear(channel: Channel, deadline: float) -> Heard:
            reply = received(channel, question, deadline)
            held = held_to(question.outputs, reply)
            if held.status != reply.status:
                raise ProtocolError(held.message)
            return Heard("told", b"", reply=reply)

        header, *arrays = question_parts(question)
        return self._heard(
            [header.replace(b"\ninput ", b"\n" + more + b"input ", 1), *arrays], hear
        )

    def end(self) -> Heard:
        """End its input, and hear how it ends: *closed*, or *late* where it does not."""
        channel = self._child.channel
        channel.record()
        until = time.monotonic() + ENDING_SECONDS
        self._child.end_input()
        channel.rest(until)
        if not self._child.ended(max(0.0, until - time.monotonic())):
            return Heard("late", channel.recorded)
        return Heard("closed", channel.recorded, ended=how_it_ended(self._child))

    def _heard(self, parts: Sequence[bytes], hear: Callable[[Channel, float], Heard]) -> Heard:
        self._child.channel.record()
        heard = replace(self._tried(parts, hear), sent=sum(map(len, parts)), answers=self._answers)
        self._answers += heard.reply is not None
        return heard

    def _tried(self, parts: Sequence[bytes], hear: Callable[[Channel, float], Heard]) -> Heard:
        channel = self._child.channel
        deadline = time.monotonic() + self._timeout
        try:
            with contextlib.suppress(Closed):  # what it said before it ended is read all the same
                channel.send(parts, deadline)
            told = hear(channel, deadline)
            time.sleep(QUIET_SECONDS)
            if surplus := channel.surplus():
                raise ProtocolError(f"after it, it wrote {surplus[:40]!r}")
        except ProtocolError as error:
            channel.rest(time.monotonic() + QUIET_SECONDS)
            return Heard("broken", channel.recorded, str(error))
        except Closed:
            return Heard("closed", channel.recorded, ended=how_it_ended(self._child))
        except LateError:
            return self._late()
        return replace(told, data=channel.recorded)

    def _late(self) -> Heard:
        """What becomes of a program that has not answered, when its input ends."""
        channel = self._child.channel
        left, data = channel.left, channel.recorded
        self._child.end_input()
        channel.rest(time.monotonic() + AFTER_SECONDS)
        ended = how_it_ended(self._child) if self._child.ended(END_SECONDS) else ""
        afterwards = channel.recorded[len(data) :]
        return Heard("late", data, afterwards=afterwards, left=left, ended=ended)
