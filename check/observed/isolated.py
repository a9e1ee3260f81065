"""A runtime in a process of its own, so that a crash or a hang is one case's finding.

The child loads the runtime and answers questions one by one, in the protocol of `check/protocol`. If the
child dies (SIGFPE, abort), does not answer in time or breaks the protocol, the current question gets an
error that says so. A new child goes on with the next question.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ...cases.console import MOST_MESSAGE, format_command, shorten, waiting_for
from ...cases.errors import RuntimeNotUsable
from ...cases.process import count_cpus
from ...cases.question import Question
from ..protocol.header import (
    Fault,
    Hello,
    ProtocolError,
    Reply,
    hello_lines,
    hello_of,
    question_parts,
    read_answer,
)
from ..runtimes.runtime import RuntimeNotInstalled, registered_runtimes
from .child import Child, ClosedError, LateError
from .serve import COMMAND

START_SECONDS = 300.0
"""Maximum seconds for a runtime to load."""
RESTART_SECONDS = 10.0
"""Maximum seconds to load again, unless the timeout, or twice the last time to load, is longer."""
MOST_DEATHS = 20
"""Maximum deaths and time-outs in a row; a runtime that still dies is broken."""
MOST_LATE = 2
"""Maximum time-outs of a runtime that never answered; each takes the whole timeout."""
LIST_SECONDS = 60.0
"""Maximum seconds for a runtime to load where runtimes are only listed."""
NOT_INSTALLED = "not installed"
"""The word for a runtime whose package is not here."""
EXEC = "exec:"
"""The beginning of a runtime's name if the runtime is a program: `exec: ./my_gru --flag`."""
GONE = "the runtime does not come back"
"""The beginning of the message of an error if no process of the runtime loads any more."""
NOT_ASKED = "not asked"
"""The beginning of the message of a case that is missing because the runtime is asked no more."""


class IsolatedRuntime:
    """The runtime called `name` in a child process, which starts at once; `ready` waits for it.

    `timeout` limits the seconds for a question, `loading` those for loading, `memory` the bytes of address
    space. With `gives_up`, a runtime that only dies or hangs is asked no more. Each process must send the
    hello `like`, or without it that of the first process. Only one thread may ask; any may `stop`.
    """

    def __init__(
        self,
        name: str,
        timeout: float,
        memory: int | None = None,
        loading: float = START_SECONDS,
        *,
        gives_up: bool = True,
        like: Hello | None = None,
    ) -> None:
        self._spec, self._timeout, self._memory, self._gives_up = name, timeout, memory, gives_up
        self._loading, self._command, self._like = loading, command_of(name), like
        self.hello = Hello()
        """What the process says of itself, once it is ready."""
        self._gone: Reply | None = None
        self._ready, self._stopped, self._answered = False, False, False
        self._deaths, self._late = 0, 0
        self._changing = threading.Lock()
        self._child: Child | None = None
        self._last = self._start()

    @property
    def name(self) -> str:
        """The name that the runtime gives itself, else the one it is called by."""
        return self.hello.name or self._spec

    @property
    def came(self) -> bytes:
        """What the current process, or the last one, wrote since it was last sent something."""
        return self._last.came

    def _start(self) -> Child:
        """Start a child if there is none; give the child."""
        with self._changing:
            if self._stopped:
                raise RuntimeNotUsable(f"runtime {self._spec}: was closed")
            if self._child is None:
                self._began = time.monotonic()
                try:
                    self._child = self._last = Child(self._command, self._spec, self._memory)
                except OSError as error:
                    raise RuntimeNotUsable(
                        f"runtime {self._spec}: {self._command[0]} cannot be started: "
                        f"{error.strerror or error}; expected a program, such as ./my_gru"
                    ) from None
            return self._child

    def ready(self) -> Child:
        """Wait until the runtime is loaded. Raises RuntimeNotUsable where it does not load."""
        child = self._start()
        if self._ready:
            return child
        deadline, why, hello = self._began + self._loading, "", Hello()
        try:
            child.send([hello_lines()], deadline)
            hello = hello_of(child.header(deadline))
        except LateError:
            why = f"did not load in {self._loading:.3g} s"
        except (ClosedError, ProtocolError) as error:
            given = f" with --memory {self._memory >> 10:,}K" if self._memory else ""
            tells = f"; see {format_command('probe', [self._spec])}"
            why = f"{error} while loading{given}"
            why += tells * (self._gives_up and self._spec.startswith(EXEC))
        else:
            if self._like not in (None, hello) and not hello.unusable:
                why = "another process of it says other things of itself: is it another build?"
        if why or hello.unusable:
            self.drop()
            kind = RuntimeNotUsable if hello.installed else RuntimeNotInstalled
            raise kind(f"runtime {self._spec}: {why}" if why else hello.unusable)
        took = time.monotonic() - self._began
        self._loading = min(START_SECONDS, max(RESTART_SECONDS, self._timeout, 2 * took))
        self._ready, self._like, self.hello = True, hello, hello
        return child

    def answer(self, question: Question) -> Reply:
        """Ask the runtime; give its answer, or what became of it."""
        if self._gone is not None:
            return self._gone
        try:
            child = self.ready()
        except RuntimeNotUsable as error:
            self._gone = _crash(f"{GONE}: {error}")
            return self._gone
        if refused := self.hello.refuses(question):
            return Reply("unsupported", {}, refused)
        if why := self._pointless():
            return Reply("missing", {}, f"{NOT_ASKED}: {why}")
        with waiting_for(question.id):
            return self._ask(child, question)

    def _pointless(self) -> str:
        """Say why the runtime is asked no more; "" if it still is."""
        if self._gives_up and self._deaths >= MOST_DEATHS:
            return f"the runtime died or did not answer {MOST_DEATHS} times in a row"
        if self._gives_up and self._late >= MOST_LATE and not self._answered:
            why = f"the runtime never answered, {MOST_LATE} times"
            if self._spec.startswith(EXEC):
                why += f"; is its standard output flushed? {format_command('probe', [self._spec])} tells"
            return why
        return ""

    def _ask(self, child: Child, question: Question) -> Reply:
        deadline = time.monotonic() + self._timeout
        self._deaths += 1  # unless it answers
        try:
            child.send(question_parts(question), deadline)
            lines = child.header(deadline)
            reply = read_answer(lines, question, lambda count: child.data(count, deadline))
            if surplus := child.surplus():
                raise ProtocolError(f"after its answer it wrote {surplus[:40]!r}")
        except ClosedError as error:
            wrong = _crash(f"the runtime {error}")
        except LateError:
            self._late += 1
            why = f"no answer in {self._timeout:g} s; stopped"
            wrong = Reply("error", {}, why, Fault("hung"))
        except ProtocolError as error:
            why = f"the runtime broke the protocol: {shorten(str(error), MOST_MESSAGE)}"
            wrong = Reply("error", {}, why, Fault("malformed"))
        else:
            self._deaths, self._answered = 0, True
            return reply
        self.drop()
        return wrong

    def drop(self) -> None:
        """End the child; the next question starts another."""
        with self._changing:
            if self._child is not None:
                self._child.close()
            self._child, self._ready = None, False

    def stop(self) -> None:
        """End the child, from any thread, and start no other; a thread that waits for it goes on."""
        with self._changing:
            self._stopped = True
            if self._child is not None:
                self._child.kill()

    def close(self) -> None:
        """End the child, and start no other."""
        self.stop()
        self.drop()


def _crash(why: str) -> Reply:
    return Reply("error", {}, why, Fault("crashed"))


def command_of(runtime: str) -> list[str]:
    """Give the command of a process that runs `runtime` and speaks the protocol.

    Behind EXEC, the name is the command; else Python loads the runtime. Raises RuntimeNotUsable for no words.
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


class Registered(NamedTuple):
    """A runtime that is known by name: its version and a line about it, or why it is `not_here`."""

    name: str
    version: str
    about: str
    not_here: str = ""


def described_runtimes() -> Iterator[Registered]:
    """Say what each runtime that is known by name is, in order; each is loaded in its own process."""
    names = dict.fromkeys(point.name for point in registered_runtimes())
    with ThreadPoolExecutor(count_cpus()) as executor:
        yield from executor.map(_describe, names)


def _describe(name: str) -> Registered:
    try:
        with contextlib.closing(IsolatedRuntime(name, 0, loading=LIST_SECONDS)) as runtime:
            runtime.ready()
            return Registered(name, runtime.hello.version, runtime.hello.about)
    except RuntimeNotInstalled as error:
        return Registered(name, "", str(error), NOT_INSTALLED)
    except RuntimeNotUsable as error:
        return Registered(name, "", str(error), "not usable")
