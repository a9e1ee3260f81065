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
from typing import Literal, NamedTuple

from ...cases.console import MOST_MESSAGE, format_command, shorten
from ...cases.errors import RuntimeNotUsable
from ...cases.question import Question
from ..protocol.channel import Channel, Closed, LateError
from ..protocol.header import (
    READY,
    Hello,
    ProtocolError,
    answer_head,
    array_of,
    hello_lines,
    hello_of,
    prepare_parts,
    question_parts,
)
from .child import Child
from .serve import COMMAND
from .source import Fault, Reply, make_reply

START_SECONDS = 300.0
"""How long a runtime may take to load."""
RESTART_SECONDS = 10.0
"""How long when it is started anew: longer with a longer timeout, or where it took more than half of this."""
EXEC = "exec:"
"""What the name of a runtime that is a program begins with: `exec: ./my_gru --flag`."""


class Patience(NamedTuple):
    """When a runtime is asked no more.

    After `deaths` deaths or time-outs in a row, or after `late` time-outs of one that never answered.
    """

    deaths: float = 20
    late: float = 2


USUAL = Patience()
ENDLESS = Patience(math.inf, math.inf)
"""For `shrink`, which looks for a smaller question that kills the runtime, too."""


class IsolatedRuntime:
    """The runtime called `name` in a child process, which starts at once; `ready` waits for it.

    A question may take `timeout` seconds, the address space of the process `memory` bytes. One thread asks at
    a time; any may close.
    """

    def __init__(
        self, name: str, timeout: float, memory: int | None = None, patience: Patience = USUAL
    ) -> None:
        self._spec, self._timeout, self._memory, self._patience = name, timeout, memory, patience
        self.hello = Hello()
        """What the process at hand says of itself, once it is ready."""
        self._loading = START_SECONDS
        self._gone: Reply | None = None
        self._ready, self._closed, self._prepares = False, False, True
        self._deaths, self._late = 0, 0
        self._answered, self._answered_before = False, False
        """Whether the process at hand, or any before it, gave an answer."""
        self._asking, self._changing = threading.RLock(), threading.Lock()
        self._child: Child | None = None
        self._start()

    @property
    def name(self) -> str:
        """The name that the runtime gives itself, else the one it is called by."""
        return self.hello.name or self._spec

    def _start(self) -> Child:
        """Start a child where there is none."""
        with self._changing:
            if self._closed:
                raise RuntimeNotUsable(f"runtime {self._spec}: was closed")
            if self._child is None:
                self._ready, self._answered, self._began = False, False, time.monotonic()
                command = command_of(self._spec)
                try:
                    self._child = Child(command, self._spec, self._memory)
                except OSError as error:
                    raise RuntimeNotUsable(
                        f"runtime {self._spec}: {command[0]} cannot be started: "
                        f"{error.strerror or error}"
                    ) from None
            return self._child

    def ready(self) -> Child:
        """Wait until the runtime is loaded; RuntimeNotUsable where it is not."""
        with self._asking:
            child = self._start()
            return child if self._ready else self._greet(child)

    def _greet(self, child: Child) -> Child:
        deadline, loading = self._began + self._loading, f"runtime {self._spec}"
        try:
            with contextlib.suppress(Closed):  # what it sent before it ended is read
                child.channel.send([hello_lines()], deadline)
            hello = hello_of(child.channel.lines(deadline))
        except Closed:
            given = f" with --memory {self._memory >> 10:,}K" if self._memory else ""
            raise RuntimeNotUsable(f"{loading}: {self._end()} while loading{given}") from None
        except LateError:
            self._drop()
            raise RuntimeNotUsable(f"{loading}: did not load in {self._loading:.3g} s") from None
        except ProtocolError as error:
            self._drop()
            raise RuntimeNotUsable(f"{loading}: {error} while loading") from None
        if hello.unusable:
            self._drop()
            raise RuntimeNotUsable(hello.unusable)
        took = time.monotonic() - self._began
        self._loading = min(START_SECONDS, max(RESTART_SECONDS, self._timeout, 2 * took))
        self.hello, self._ready = hello, True
        return child

    @property
    def prepares(self) -> bool:
        """Whether the runtime wants to see questions before they are asked; no program does."""
        return self.hello.prepares and self._prepares and not self._is_program

    def prepare_for(self, questions: Sequence[Question]) -> None:
        """Show the runtime what it is asked next, for which it has the time of one question.

        What goes wrong then is no finding: a new child is asked all the same, and is shown nothing.
        """
        child = self._child
        if not self._ready or child is None or not child.alive() or not self.prepares:
            return
        deadline = time.monotonic() + self._timeout
        self._prepares = False  # unless it says that it is ready
        with contextlib.suppress(Closed, LateError, ProtocolError):
            child.channel.send(prepare_parts(questions), deadline)
            self._prepares = child.channel.lines(deadline)[:1] == [READY]
        if not self._prepares:
            self._drop()

    def answer(self, question: Question) -> Reply:
        """Ask the runtime; give its answer, or what became of it."""
        with self._asking:
            return self._answer(question)

    def _answer(self, question: Question) -> Reply:
        died = ""
        if self._ready and self._child is not None and not self._child.alive():
            died = self._end()
        if self._gone is None:
            try:
                self.ready()
            except RuntimeNotUsable as error:
                why = f"the runtime does not come back: {error}"
                self._gone = Reply("error", {}, why, Fault("crashed"))
        if self._gone is not None:
            return self._gone
        if refused := self.hello.refuses(question):
            return Reply("unsupported", {}, refused)
        if why := self._pointless():
            return Reply("missing", {}, f"not asked: {why}")
        if died:  # after it had answered, and before it was asked again
            why = f"the runtime {died} after its last answer"
            return Reply("error", {}, why, Fault("crashed"))
        return self._ask(question)

    def _pointless(self) -> str:
        """Say why it is asked no more; "" where it is."""
        if self._deaths >= self._patience.deaths:
            return f"the runtime died or did not answer {self._patience.deaths} times in a row"
        if self._late >= self._patience.late and not self._answered_before:
            why = f"the runtime never answered, {self._patience.late} times"
            if self._is_program:
                why += f"; is its standard output flushed? {format_command('probe', [self._spec])} tells"
            return why
        return ""

    def _ask(self, question: Question) -> Reply:
        assert self._child is not None
        channel, deadline = self._child.channel, time.monotonic() + self._timeout
        self._deaths += 1  # unless it answers
        try:
            channel.send(question_parts(question), deadline)
            reply = received(channel, question, deadline)
        except Closed:
            return Reply("error", {}, f"the runtime {self._end()}", Fault("crashed"))
        except LateError:
            self._late += 1
            self._drop()
            why = f"no answer in {self._timeout:g} s; stopped"
            return Reply("error", {}, why, Fault("crashed"))
        except ProtocolError as error:
            self._drop()
            why = f"the runtime broke the protocol: {shorten(str(error), MOST_MESSAGE)}"
            return Reply("error", {}, why, Fault("malformed"))
        self._deaths, self._answered, self._answered_before = 0, True, True
        return reply

    def finish(self) -> Reply | None:
        """End the input of a program that answered; give an error where it goes wrong then.

        It does where it writes more, or dies by a signal. One that does not end by itself is stopped.
        """
        child = self._child
        if child is None or not self._ready or not self._answered or not self._is_program:
            return None
        wrong = child.wrong_at_its_end()
        self._drop()
        kind: Literal["malformed", "crashed"] = "malformed" if "protocol" in wrong else "crashed"
        return Reply("error", {}, wrong, Fault(kind)) if wrong else None

    def _end(self) -> str:
        """Say how the child ended, and drop it."""
        assert self._child is not None
        how = self._child.how_it_ended()
        self._drop()
        return how

    def _drop(self) -> None:
        """End the child; the next question starts another."""
        with self._changing:
            if self._child is not None:
                self._child.close()
            self._child, self._ready = None, False

    def close(self) -> None:
        """End the child, and start none again."""
        with self._changing:
            self._closed = True
            if self._child is not None:
                self._child.kill()
        with self._asking:  # whoever asks finds it ended
            self._drop()

    @property
    def _is_program(self) -> bool:
        return self._spec.startswith(EXEC)


def command_of(runtime: str) -> list[str]:
    """Give the command of a process that is the runtime of this name and speaks the protocol.

    That is a program (EXEC), or Python, which loads the runtime. RuntimeNotUsable for a command that is none.
    """
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
    """Receive the answer to a question, and nothing after it. Raises Closed, LateError, ProtocolError."""
    head = answer_head(channel.lines(deadline), question)
    given = make_reply(head, {
        one.name: array_of(one, channel.data(one.bytes, deadline)) for one in head.outputs
    })  # fmt: skip
    if surplus := channel.surplus():
        raise ProtocolError(f"after its answer it wrote {surplus[:40]!r}")
    return given
