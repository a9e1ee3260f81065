"""A runtime in a process of its own, so that a crash or a hang is one case's finding.

The child loads the runtime and answers questions one by one over a pipe. Where it dies (SIGFPE, abort)
or does not answer in time, the question at hand gets an error that says so, and a new child goes on
with the next. The child's standard output is its standard error: results stay clean.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from threadpoolctl import threadpool_limits

from ...cases.errors import GrucibleError, RuntimeNotUsable
from ...cases.question import Question
from ..runtimes.runtime import load_runtime
from .source import Reply, reply

START_SECONDS = 300.0
_PROCESSES = threading.Lock()
"""Held where a child is started or looked after: multiprocessing looks after all of them at once."""


class IsolatedRuntime:
    """The runtime called `name` in a child process, which starts at once; `ready` waits for it.

    A question may take `timeout` seconds. One thread asks at a time; any may close.
    """

    def __init__(self, name: str, timeout: float) -> None:
        self.name, self.version, self.parallel = name, "", False
        self._spec, self._timeout = name, timeout
        self._gone, self._ready, self._closed, self._stopped = "", False, False, False
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        with _PROCESSES:
            if self._closed:
                raise RuntimeNotUsable(f"runtime {self._spec}: was closed")
            self._pipe, child_end = context.Pipe()
            self._process: BaseProcess = context.Process(
                target=_serve, args=(self._spec, child_end), daemon=True
            )
            self._process.start()
        child_end.close()
        self._ready = self._stopped = False

    def ready(self) -> None:
        """Wait until the runtime is loaded; RuntimeNotUsable where it is not."""
        if self._ready:
            return
        try:
            if not self._pipe.poll(START_SECONDS):
                self._kill()
                raise RuntimeNotUsable(f"runtime {self._spec}: did not load in {START_SECONDS:g} s")
            kind, *told = self._pipe.recv()
        except (EOFError, ConnectionError):
            raise RuntimeNotUsable(f"runtime {self._spec}: {self._death()} while loading") from None
        if kind == "unusable":
            raise RuntimeNotUsable(told[0])
        self.name, self.version, self.parallel = told
        self._ready = True

    def answer(self, question: Question) -> Reply:
        """What the runtime says, or what became of it."""
        lost = self._ready and not self._stopped and not self._alive()
        died = self._death() if lost else ""
        if not self._gone:
            try:
                if not self._alive():
                    self._start()
                self.ready()
            except RuntimeNotUsable as error:
                self._gone = f"the runtime does not come back: {error}"
        if self._gone:
            return Reply("error", {}, self._gone)
        if died:  # after it had answered, and before it was asked again
            return Reply("error", {}, f"the runtime {died} after its last answer")
        try:
            self._pipe.send(question)
            if not self._pipe.poll(self._timeout):
                self._kill()
                return Reply("error", {}, f"no answer in {self._timeout:g} s; stopped")
            given: Reply = self._pipe.recv()
        except (EOFError, ConnectionError):
            return Reply("error", {}, f"the runtime {self._death()}")
        return given

    def _alive(self) -> bool:
        with _PROCESSES:
            return self._process.is_alive()

    def _death(self) -> str:
        with _PROCESSES:
            self._process.join(1)
            code = self._process.exitcode
        if code is None:
            self._kill()
            return "closed its connection, and was stopped"
        self._stopped = True
        if code < 0:
            return f"crashed ({signal_name(-code)})"
        return f"ended its process (exit status {code})"

    def _kill(self) -> None:
        self._stopped = True
        with _PROCESSES:
            self._process.kill()
            self._process.join()

    def close(self) -> None:
        """End the child, and start none again."""
        self._closed = True
        self._kill()


def signal_name(number: int) -> str:
    """The name of a signal; a real-time one, which has none of its own, is counted from the first."""
    try:
        return signal.Signals(number).name
    except ValueError:
        first, last = getattr(signal, "SIGRTMIN", 0), getattr(signal, "SIGRTMAX", 0)
        return f"SIGRTMIN+{number - first}" if first < number < last else f"signal {number}"


def _serve(name: str, pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.dup2(2, 1)
    try:
        runtime = load_runtime(name)
        pipe.send(("ready", runtime.name, runtime.version, runtime.parallel))
    except GrucibleError as error:
        pipe.send(("unusable", str(error)))
        return
    threadpool_limits(1)  # arrays are small: the threads of BLAS and OpenMP would only fight
    with contextlib.suppress(EOFError, ConnectionError):  # the parent has ended
        while True:
            question: Question = pipe.recv()
            pipe.send(reply(runtime, question))
