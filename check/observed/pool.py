"""A runtime in several processes at a time, with the answers and order of a single process.

Each child answers one run of questions after another, because neighbouring questions often share a model.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import cached_property, partial
from queue import LifoQueue

from ...cases.console import longest_wait, put, say
from ...cases.errors import RuntimeNotUsable
from ...cases.process import count_cpus
from ...cases.question import Question
from ..protocol.header import Hello, Reply
from .isolated import IsolatedRuntime

ASKED = 4
"""Questions of a case that is asked again: they stay in one process, which may keep a state."""
RUN = 8 * ASKED
"""Maximum questions of a run; all children should finish at about the same time."""
RUN_BYTES = 4 << 20
"""Bytes of inputs beyond which a run ends, with a multiple of ASKED questions."""
AHEAD = 2
"""Runs submitted for each child before the oldest run's answers are waited for."""


class RuntimePool:
    """A `Source` that runs the runtime called `name` in up to `jobs` child processes.

    Without `jobs`, a runtime that declares itself `parallel` gets a child for each usable CPU; any other gets
    one. `timeout` limits the seconds for a question, `memory` the bytes of a process's address space. With
    `gives_up`, a process that only dies or hangs is asked no more. The first child starts at once, others
    when there is work for them; those that do not start, or are another build, are skipped, with a line on
    standard error. If the runtime does not load, the first use of the pool raises RuntimeNotUsable.
    """

    def __init__(
        self,
        name: str,
        timeout: float,
        jobs: int | None = None,
        memory: int | None = None,
        *,
        gives_up: bool = True,
    ) -> None:
        self._new = partial(IsolatedRuntime, name, timeout, memory, gives_up=gives_up)
        self._jobs = jobs
        self._changing, self._closing = threading.Lock(), False
        self._children: list[IsolatedRuntime] = []
        self._another()

    def _another(self, like: Hello | None = None) -> IsolatedRuntime:
        with self._changing:
            if self._closing:
                raise CancelledError
            child = self._new(like=like)
            self._children.append(child)
            return child

    @cached_property
    def _first(self) -> IsolatedRuntime:
        self._children[0].ready()
        return self._children[0]

    @property
    def name(self) -> str:
        """The runtime's name."""
        return self._first.name

    @property
    def hello(self) -> Hello:
        """What the runtime says of itself."""
        return self._first.hello

    @property
    def version(self) -> str:
        """The runtime's version."""
        return self.hello.version

    @cached_property
    def jobs(self) -> int:
        """The maximum number of children."""
        return self._jobs or (count_cpus() if self._first.hello.parallel else 1)

    @cached_property
    def _executor(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.jobs)

    @cached_property
    def _free(self) -> LifoQueue[IsolatedRuntime | None]:
        """The idle children, the latest on top; below them, None for each child that may still start."""
        free: LifoQueue[IsolatedRuntime | None] = LifoQueue()
        for one in [*[None] * (self.jobs - 1), self._first]:
            free.put(one)
        return free

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        """Yield the answers in the order of the questions; some runs are asked ahead."""
        _ = self._free  # raises where the runtime does not load
        waiting: deque[Future[list[Reply]]] = deque()
        most = RUN if self.jobs > 1 else 1  # one child: a stop loses no answer
        try:
            for run in runs(questions, most):
                waiting.append(self._executor.submit(self._ask, run))
                if len(waiting) > AHEAD * self.jobs:
                    yield from waiting.popleft().result()
            for asked in waiting:
                yield from asked.result()
        except KeyboardInterrupt:
            if waits := longest_wait():
                put("\r\033[K" * sys.stderr.isatty(), err=True)  # over a bar
                say(f"grucible: interrupted while {waits}", err=True)
            raise

    def _ask(self, run: Sequence[Question]) -> list[Reply]:
        """Have a free child answer a run of questions."""
        child = self._free.get()
        while child is None:
            try:
                child = self._another(self._first.hello)
                child.ready()
            except RuntimeNotUsable as error:
                say(f"grucible: goes on with fewer processes: {error}", err=True)
                child = self._free.get()
        try:
            return [child.answer(question) for question in run]
        finally:
            self._free.put(child)

    def restart(self) -> None:
        """Let the next question meet a process that answered none before; call it when none is under way."""
        for child in self._children:
            child.drop()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closing

    def close(self) -> None:
        """End the children, and give up the runs that are under way."""
        with self._changing:
            self._closing = True
        for child in self._children:
            child.stop()
        if "_executor" in vars(self):
            self._executor.shutdown(cancel_futures=True)
        for child in self._children:
            child.close()


def runs(questions: Iterable[Question], most: int) -> Iterator[list[Question]]:
    """Split questions into runs of at most `most` questions and of a limited size."""
    run: list[Question] = []
    size = 0
    for question in questions:
        run.append(question)
        size += sum(array.nbytes for array in question.inputs.values())
        if len(run) == most or (size > RUN_BYTES and len(run) % ASKED == 0):
            yield run
            run, size = [], 0
    if run:
        yield run
