"""A runtime in several processes at a time: what it answers, and the order, are those of one.

Each child has a thread here, which hands it one run of questions after another. In a run, questions with
equal attributes follow one another: they often share what a runtime keeps, such as a compiled model.
A pool that nobody closes keeps no process from its end: the threads are daemons, and the watchdog ends
the children then.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue

from ...cases.errors import RuntimeNotUsable
from ...cases.process import count_cpus
from ...cases.question import Question
from ...vectors.block import Block, canonical_json
from ...vectors.reader import VectorFile
from ..protocol.program import Greeted
from .isolated import USUAL, IsolatedRuntime, OtherHello, Patience
from .source import Observed, Reply, stacked
from .threads import all_at_a_time, start_thread

RUN = 32
"""A child gets at most so many questions of a block at a time."""
AHEAD = 2 * RUN
"""So many questions for each child may be under way before their answers are looked at."""
SHOWN = 64
"""A runtime that prepares for what comes is shown at most so many questions at a time."""
WORTH_A_CHILD = 16
"""A further child is started where each that there is has so many questions before it: to start one
takes as long as to answer some."""

_Work = tuple[Sequence[Question], Future[list[Reply]]]


class RuntimePool:
    """A `Source` that runs the runtime called `name` in up to `jobs` child processes.

    Without `jobs`, as many as there are usable CPUs for a runtime that declares itself `parallel`, and
    one for any other. A question may take `timeout` seconds, and the address space of a process `memory`
    bytes. Of a process that does not answer, `patience` says when it is asked no more. The first child starts
    at once, others when there is work for them; one that does not start is done without. Raises
    RuntimeNotUsable, when it is first asked anything, where the runtime does not load.
    """

    needs_inputs = True

    def __init__(
        self,
        name: str,
        timeout: float,
        jobs: int | None = None,
        memory: int | None = None,
        patience: Patience = USUAL,
    ) -> None:
        self._spec, self._timeout, self._wanted, self._memory = name, timeout, jobs, memory
        self._patience, self._greeted = patience, Greeted()
        self._children = [self._another()]
        self._threads: list[threading.Thread] = []
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._left, self._loaded, self._closing = 0, False, False
        self._changing = threading.Lock()

    def _another(self) -> IsolatedRuntime:
        return IsolatedRuntime(
            self._spec, self._timeout, self._memory, self._patience, self._greeted
        )

    @property
    def name(self) -> str:
        """The runtime's name."""
        return self._first.name

    @property
    def version(self) -> str:
        """The runtime's version."""
        return self._first.version

    @property
    def jobs(self) -> int:
        """How many children there may be."""
        if self._wanted is None:  # to ask the system takes a millisecond
            self._wanted = count_cpus() if self._first.parallel else 1
        return self._wanted

    @property
    def ahead(self) -> int:
        """How many questions may be under way before their answers are looked at."""
        return AHEAD * self.jobs

    @property
    def _first(self) -> IsolatedRuntime:
        first = self._children[0]
        if not self._loaded:
            first.ready()
            self._loaded = True
        return first

    def check_blocks(self, vectors: VectorFile) -> None:
        """A runtime has just the cases it is asked."""

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """A runtime has just the cases it is asked."""

    def ask(self, relative: str, block: Block) -> Callable[[], Observed]:  # noqa: ARG002
        """Have the children run every case of the block; what is returned waits for their answers."""
        asked = [
            (run, self._hand_out([block.question(row) for row in run])) for run in _runs(block)
        ]
        self._start_threads()
        return partial(_gathered, block, asked)

    def replies(self, questions: Sequence[Question]) -> list[Reply]:
        """What the children say to each question, in their order."""
        asked = [
            self._hand_out(questions[start : start + RUN])
            for start in range(0, len(questions), RUN)
        ]
        self._start_threads()
        return [reply for answers in asked for reply in answers.result()]

    def finish(self) -> dict[str, Reply]:
        """Let the children end that are programs, all at a time; what goes wrong then, by the id of the last
        question that each answered. All that was asked has been waited for."""
        found = all_at_a_time([child.finish for child in self._children])
        return {name: reply for one in found for name, reply in one.items()}

    def _hand_out(self, questions: Sequence[Question]) -> Future[list[Reply]]:
        """A run of questions for whichever child is free."""
        answers: Future[list[Reply]] = Future()
        with self._changing:
            self._left += len(questions)
        self._work.put((questions, answers))
        return answers

    def _start_threads(self) -> None:
        """One thread for the first child, others where there is work for them and the system gives them."""
        while len(self._threads) < self.jobs:
            if self._left < WORTH_A_CHILD * len(self._threads) or not self._left:
                return
            serve = self._serve_another if self._threads else partial(self._serve, self._first)
            thread = threading.Thread(target=serve, daemon=True)
            self._threads.append(thread)
            try:
                start_thread(thread)
            except OSError as error:
                self._threads.pop()
                if not self._threads:
                    said = f"runtime {self._spec}: cannot be asked: {error.strerror}"
                    raise RuntimeNotUsable(said) from None
                self._wanted = len(self._threads)

    def _serve_another(self) -> None:
        try:
            with self._changing:
                if self._closing:
                    return
                child = self._another()
                self._children.append(child)
            child.ready()
        except OtherHello:
            pass  # every case asked of it is an error
        except (RuntimeNotUsable, OSError, MemoryError):
            return  # the first answers all there is
        self._serve(child)

    def _serve(self, child: IsolatedRuntime) -> None:
        while (work := self._work.get()) is not None:
            together = [work, *(self._more_work(len(work[0])) if child.prepares else ())]
            try:
                if sum(len(questions) for questions, _ in together) > 1:
                    child.prepare_for([one for questions, _ in together for one in questions])
                for questions, answers in together:
                    answers.set_result(self._answers(child, questions))
            except BaseException as error:
                for _, answers in together:
                    if not answers.done():
                        answers.set_exception(error)

    def _more_work(self, taken: int) -> Iterator[_Work]:
        """Work that is there besides so many questions, as far as a child is shown, and no more than its
        share of all that is left."""
        while taken <= min(SHOWN - RUN, self._left // self.jobs):
            try:
                work = self._work.get_nowait()
            except Empty:
                return
            if work is None:
                self._work.put(None)
                return
            taken += len(work[0])
            yield work

    def _answers(self, child: IsolatedRuntime, questions: Sequence[Question]) -> list[Reply]:
        replies = []
        for question in questions:
            replies.append(child.answer(question))
            with self._changing:
                self._left -= 1
        return replies

    def close(self) -> None:
        """End the children; what is under way is given up."""
        with self._changing:
            self._closing = True
        with contextlib.suppress(Empty):  # the threads take from it too
            while True:
                self._work.get_nowait()
        for _ in self._threads:
            self._work.put(None)
        for child in self._children:
            child.close()
        for thread in self._threads:
            if thread.ident:  # Ctrl-C may arrive before one is started
                thread.join()


def _runs(block: Block) -> Iterator[list[int]]:
    """The rows of a block in runs of at most RUN; those with equal attributes follow one another."""
    alike: dict[str, list[int]] = {}
    for row, given in enumerate(block.given):
        alike.setdefault(canonical_json(given), []).append(row)
    run: list[int] = []
    for rows in alike.values():
        for start in range(0, len(rows), RUN):
            some = rows[start : start + RUN]
            if len(run) + len(some) > RUN:
                yield run
                run = []
            run = run + some
    yield run


def _gathered(block: Block, asked: Sequence[tuple[Sequence[int], Future[list[Reply]]]]) -> Observed:
    """The answers to all runs, in the order of the block."""
    found = {
        row: reply
        for run, answers in asked
        for row, reply in zip(run, answers.result(), strict=True)
    }
    return stacked(block, [found[row] for row in range(len(block))])
