"""A runtime in a process of its own, so that a crash or a hang is one case's finding.

The child loads the runtime and answers questions one by one, in the protocol of `check/protocol`. Where it
dies (SIGFPE, abort), does not answer in time or breaks the protocol, the question at hand gets an error
that says so, and a new child goes on with the next.
"""

from __future__ import annotations

import contextlib
import json
import math
import shlex
import sys
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from ...cases.console import MOST_MESSAGE, format_command, shorten
from ...cases.errors import RuntimeNotUsable
from ...cases.question import Question
from ..protocol.channel import Channel, Closed, LateError
from ..protocol.header import (
    READY,
    ProtocolError,
    array_of,
    hello_lines,
    prepare_parts,
    question_parts,
)
from ..protocol.program import Greeted, Hello, answer_head, hello_of
from .child import Child
from .ending import at_its_end, how_it_ended
from .serve import COMMAND
from .source import Fault, Reply, reply_of

START_SECONDS = 300.0
"""How long a runtime may take to load."""
RESTART_SECONDS = 10.0
"""How long when it is started anew: longer with a longer timeout, or where it took more than half of this."""
EXEC = "exec:"
"""What the name of a runtime that is a program begins with: `exec: ./my_gru --flag`."""
MOST_DEATHS = 20
"""After so many deaths or time-outs in a row a runtime is asked no more."""
MOST_LATE = 2
"""After so many time-outs a runtime that has not answered anything yet is asked no more."""


class Patience(NamedTuple):
    """A runtime is asked no more after so many `deaths` or time-outs in a row, or where it was so often
    `late` and never answered."""

    deaths: float = MOST_DEATHS
    late: float = MOST_LATE


class OtherHello(RuntimeNotUsable):
    """A process of a runtime says another hello than the first one did."""


USUAL = Patience()
ENDLESS = Patience(math.inf, math.inf)
"""For who looks for a smaller question that kills the runtime, or lets it hang, too."""


class IsolatedRuntime:
    """The runtime called `name` in a child process, which starts at once; `ready` waits for it.

    A question may take `timeout` seconds, the address space of the process `memory` bytes. Where it does not
    answer, `patience` says when it is asked no more. Where its hello is another than was `greeted`, every
    question is an error. One thread asks at a time; any may close.
    """

    def __init__(
        self,
        name: str,
        timeout: float,
        memory: int | None = None,
        patience: Patience = USUAL,
        greeted: Greeted | None = None,
    ) -> None:
        self.name, self.version, self.parallel = name, "", False
        self._patience = patience
        self._spec, self._timeout, self._memory = name, timeout, memory
        self._gone: Reply | None = None
        self._greeted = greeted or Greeted()
        self._ready, self._closed, self._unprepared = False, False, False
        self._deaths, self._late, self._answered = 0, 0, False
        self._last, self._began, self._took, self._loading = "", 0.0, 0.0, START_SECONDS
        self._hello = Hello()
        self._asking, self._starting = threading.RLock(), threading.Lock()
        self._child: Child | None = None
        self._start()

    def _start(self) -> Child:
        """A child, which is new where there is none."""
        with self._starting:
            if self._closed:
                raise RuntimeNotUsable(f"runtime {self._spec}: was closed")
            if self._child is None:
                self._child = _started(self._spec, self._memory)
                self._ready, self._began = False, time.monotonic()
            return self._child

    def ready(self) -> None:
        """Wait until the runtime is loaded; RuntimeNotUsable where it is not."""
        with self._asking:
            child = self._start()
            if not self._ready:
                self._greet(child)

    def _greet(self, child: Child) -> None:
        deadline = time.monotonic() + self._loading
        try:
            with contextlib.suppress(Closed):  # what it said before it ended is read all the same
                child.channel.send([hello_lines()], deadline)
            hello = hello_of(child.channel.lines(deadline))
        except Closed:
            given = f" with --memory {self._memory >> 10:,}K" if self._memory else ""
            raise RuntimeNotUsable(
                f"runtime {self._spec}: {self._lost()} while loading{given}"
            ) from None
        except LateError:
            self._drop()
            raise RuntimeNotUsable(
                f"runtime {self._spec}: did not load in {self._loading:.3g} s"
            ) from None
        except ProtocolError as error:
            self._drop()
            raise RuntimeNotUsable(f"runtime {self._spec}: {error} while loading") from None
        if hello.unusable:
            self._drop()
            raise RuntimeNotUsable(hello.unusable)
        if differs := self._greeted.differs(hello):
            self._drop()
            said = f"its hello is another than that of its first process: {shorten(differs, MOST_MESSAGE)}"
            self._gone = Reply(
                "error", {}, f"the runtime broke the protocol: {said}", Fault("malformed")
            )
            raise OtherHello(f"runtime {self._spec}: {said}")
        self.name, self.version = hello.name or self._spec, hello.version
        self.parallel, self._hello = hello.parallel, hello
        self._took = max(self._took, time.monotonic() - self._began)
        self._loading = min(START_SECONDS, max(RESTART_SECONDS, self._timeout, 2 * self._took))
        self._ready = True

    @property
    def prepares(self) -> bool:
        """Whether the runtime wants to see questions before they are asked. Of a program nobody knows."""
        return self._hello.prepares and not self._unprepared and not self._spec.startswith(EXEC)

    def prepare_for(self, questions: Sequence[Question]) -> None:
        """Show the runtime what it is asked next, for which it has the time of one question.

        What goes wrong then is no finding: a new child is asked all the same, and is shown nothing.
        """
        with self._asking:
            child = self._child
            if not self._ready or child is None or not child.alive() or not self.prepares:
                return
            deadline = time.monotonic() + self._timeout
            self._unprepared = True  # unless it says that it is ready
            with contextlib.suppress(Closed, LateError, ProtocolError):
                child.channel.send(prepare_parts(questions), deadline)
                self._unprepared = child.channel.lines(deadline)[:1] != [READY]
            if self._unprepared:
                self._drop()

    def answer(self, question: Question) -> Reply:
        """What the runtime says, or what became of it."""
        with self._asking:
            died = self._lost() if self._ready and not self._alive() else ""
            if not self._gone:
                try:
                    with contextlib.suppress(OtherHello):  # it is told of each question
                        self.ready()
                except RuntimeNotUsable as error:
                    said = f"the runtime does not come back: {error}"
                    self._gone = Reply("error", {}, said, Fault("crashed"))
            if self._gone:
                return self._gone
            if refused := self._hello.refuses(question):
                return Reply("unsupported", {}, refused)
            if why := self._pointless():
                return Reply("missing", {}, f"not asked: {why}")
            if died:  # after it had answered, and before it was asked again
                said = f"the runtime {died} after its last answer"
                return Reply("error", {}, said, Fault("crashed"))
            return self._asked(question)

    def _pointless(self) -> str:
        """Why it is asked no more; "" where it is."""
        if self._deaths >= self._patience.deaths:
            return f"the runtime died or did not answer {self._patience.deaths} times in a row"
        if self._late >= self._patience.late and not self._answered:
            why = f"the runtime never answered, {self._patience.late} times"
            if self._spec.startswith(EXEC):
                why += f"; is its standard output flushed? {format_command('probe', [self._spec])} tells"
            return why
        return ""

    def _asked(self, question: Question) -> Reply:
        assert self._child is not None
        deadline = time.monotonic() + self._timeout
        self._deaths += 1  # unless it answers
        try:
            self._child.channel.send(question_parts(question), deadline)
            given = received(self._child.channel, question, deadline)
            self._deaths, self._answered, self._last = 0, True, question.id
            return given
        except Closed:
            return Reply("error", {}, f"the runtime {self._lost()}", Fault("crashed"))
        except LateError:
            self._late += 1
            self._drop()
            said = f"no answer in {self._timeout:g} s; stopped"
            return Reply("error", {}, said, Fault("crashed"))
        except ProtocolError as error:
            self._drop()
            said = f"the runtime broke the protocol: {shorten(str(error), MOST_MESSAGE)}"
            return Reply("error", {}, said, Fault("malformed"))

    def finish(self) -> dict[str, Reply]:
        """End the input of a program that answered, and give an error under the id of its last question where
        it writes more then, or dies by a signal. One that does not end by itself is stopped."""
        with self._asking:
            child, found = self._child, dict[str, Reply]()
            if child is not None and self._ready and self._last and self._spec.startswith(EXEC):
                if reply := at_its_end(child):
                    found[self._last] = reply
                self._drop()
            return found

    def _alive(self) -> bool:
        return self._child is not None and self._child.alive()

    def _lost(self) -> str:
        """How the child ended, which is dropped."""
        child = self._child
        assert child is not None
        told = how_it_ended(child)
        self._drop()
        return told

    def _drop(self) -> None:
        """End the child; the next question starts another."""
        with self._starting:
            if self._child is not None:
                self._child.close()
            self._child, self._ready, self._last = None, False, ""

    def close(self) -> None:
        """End the child, and start none again."""
        with self._starting:
            self._closed = True
            if self._child is not None:
                self._child.kill()
        with self._asking:  # whoever asks finds it ended
            self._drop()


def _started(runtime: str, memory: int | None) -> Child:
    command = command_of(runtime)
    try:
        return Child(command, runtime, memory)
    except OSError as error:
        raise RuntimeNotUsable(
            f"runtime {runtime}: {command[0]} cannot be started: {error.strerror or error}"
        ) from None


def command_of(runtime: str) -> list[str]:
    """The command of a process that is the runtime of this name and speaks the protocol: a program
    (EXEC), or Python, which loads it. RuntimeNotUsable for a command that is none."""
    if not runtime.startswith(EXEC):
        return [sys.executable, "-P", "-c", COMMAND, json.dumps(sys.path), runtime]
    try:
        words = shlex.split(runtime.removeprefix(EXEC))
    except ValueError as error:
        raise RuntimeNotUsable(f"runtime {runtime}: {str(error).lower()}") from None
    if not words:
        raise RuntimeNotUsable(f"runtime {runtime}: expected a program after exec:")
    return words


def received(channel: Channel, question: Question, deadline: float) -> Reply:
    """The answer to a question, and nothing after it. Raises Closed, LateError, ProtocolError."""
    head = answer_head(channel.lines(deadline), question)
    given = reply_of(head, {
        one.name: array_of(one, channel.data(one.bytes, deadline)) for one in head.outputs
    })  # fmt: skip
    surplus = channel.surplus()
    if surplus:
        raise ProtocolError(f"after its answer it wrote {surplus[:40]!r}")
    return given
