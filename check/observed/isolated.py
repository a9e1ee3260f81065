"""A runtime in a process of its own, so that a crash or a hang is one case's finding.

The child loads the runtime and answers questions one by one over a pipe. Where it dies (SIGFPE, abort)
or does not answer in time, the case at hand gets an error that says so, and a new child goes on
with the next case. The child's standard output is its standard error: results stay clean.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from ...cases.errors import GrucibleError, RuntimeNotUsable
from ...cases.question import Question
from ...vectors.block import Block
from ..runtimes.runtime import load_runtime
from .source import Observed, Reply, reply, stacked

START_SECONDS = 300.0


class IsolatedRuntime:
    """A `Source` that runs the runtime called `name` in a child process.

    A case may take `timeout` seconds. Raises RuntimeNotUsable where the runtime does not load.
    """

    needs_inputs = True

    def __init__(self, name: str, timeout: float) -> None:
        self._spec, self._timeout = name, timeout
        self._gone = ""
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, child_end = context.Pipe()
        self._process: BaseProcess = context.Process(
            target=_serve, args=(self._spec, child_end), daemon=True
        )
        self._process.start()
        child_end.close()
        try:
            if not self._pipe.poll(START_SECONDS):
                self.close()
                raise RuntimeNotUsable(f"runtime {self._spec}: did not load in {START_SECONDS:g} s")
            kind, *told = self._pipe.recv()
        except (EOFError, ConnectionError):
            raise RuntimeNotUsable(f"runtime {self._spec}: {self._death()} while loading") from None
        if kind == "unusable":
            raise RuntimeNotUsable(told[0])
        self.name, self.version = told

    def check_blocks(self, relative: str, paths: Sequence[str]) -> None:
        """A runtime has just the cases it is asked."""

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """A runtime has just the cases it is asked."""

    def observe(self, relative: str, block: Block) -> Observed:  # noqa: ARG002
        """Run every case of the block, in the child."""
        return stacked(block, [self._ask(question) for question in block.questions()])

    def _ask(self, question: Question) -> Reply:
        if self._gone:
            return Reply("error", {}, self._gone)
        if not self._process.is_alive():
            try:
                self._start()
            except RuntimeNotUsable as error:
                self._gone = f"the runtime does not come back: {error}"
                return Reply("error", {}, self._gone)
        try:
            self._pipe.send(question)
            if not self._pipe.poll(self._timeout):
                self.close()
                return Reply("error", {}, f"no answer in {self._timeout:g} s; stopped")
            given: Reply = self._pipe.recv()
        except (EOFError, ConnectionError):
            return Reply("error", {}, f"the runtime {self._death()}")
        return given

    def _death(self) -> str:
        self._process.join(10)
        code = self._process.exitcode
        if code is not None and code < 0:
            return f"crashed ({signal_name(-code)})"
        return f"ended its process (exit status {code})"

    def close(self) -> None:
        """End the child."""
        self._process.kill()
        self._process.join()
        self._pipe.close()


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
        pipe.send(("ready", runtime.name, runtime.version))
    except GrucibleError as error:
        pipe.send(("unusable", str(error)))
        return
    while True:
        try:
            question: Question = pipe.recv()
        except EOFError:
            return
        pipe.send(reply(runtime, question))
