"""A runtime on a Dask cluster, in a child of each worker: asked by `check`, fuzzed by `fuzz`."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..cases.errors import GrucibleError
from ..cases.process import end_if_interrupted
from ..cases.question import Question
from ..cases.selection import Shard
from ..cases.specs.random_space import RandomSpace
from ..gen.cluster import Cluster, TaskLost
from .fuzz import CHUNK, Fuzzed, fuzz, question_ranges, saying_so, split, start_fuzzing
from .grouping import FuzzFinding
from .judging.criterion import Criterion
from .judging.expectations import Expectation
from .observed.pool import ASKED, RUN, RuntimePool, runs
from .protocol.header import Reply

PARTS = 4
"""Minimum parts of the work for each thread of a worker, so that all end at about the same time."""
TASK = 32
"""Questions of the first tasks; later ones have as many as each thread has answered: Ctrl-C loses what is
under way."""

_IDLE: dict[tuple[Remote, bool], list[RuntimePool]] = {}
"""The idle processes of runtimes on this worker."""


class Remote(NamedTuple):
    """A runtime that each worker runs in a child of its own, by name, with its limits.

    `run` names the command: another one loads the runtime anew, which may have changed.
    """

    name: str
    timeout: float
    memory: int | None
    run: str

    @contextlib.contextmanager
    def started(self, *, gives_up: bool = True) -> Iterator[RuntimePool]:
        """Lend this worker's idle process of the runtime, or start one; it is kept for the next task."""
        for other in [other for other in _IDLE if other[0].run != self.run]:
            for source in _IDLE.pop(other, ()):
                source.close()
        idle = _IDLE.setdefault((self, gives_up), [])
        source = idle.pop() if idle else RuntimePool(*self[:2], 1, self.memory, gives_up=gives_up)
        try:
            yield source
        except BaseException:
            source.close()
            raise
        if not source.closed:
            idle.append(source)


def remote_runtime(name: str, timeout: float, memory: int | None) -> Remote:
    """Name a runtime for the workers of this command."""
    return Remote(name, timeout, memory, secrets.token_hex(8))


def version_there(remote: Remote) -> tuple[str, str]:
    """Load a runtime on this worker, and return its name and version."""
    with remote.started() as source:
        return source.name, source.version


def find_runtime(cluster: Cluster, remote: Remote) -> tuple[str, str]:
    """Return the name and version of a runtime. Raises GrucibleError unless all workers have the same."""
    found = cluster.on_each(version_there, remote)
    known = ("", "")
    for worker, one in found.items():
        if isinstance(one, Exception):
            found_not = any(why in str(one) for why in ("import", "no such file", "no file"))
            where = "; name a file by its whole path, or a module that each worker finds"
            raise GrucibleError(f"worker {worker}: {one}{where * found_not}")
        if any(known) and one != known:
            here, there = (" ".join(version) for version in (known, one))
            raise GrucibleError(f"{worker} has {there}, and others {here}; install one version")
        known = one
    return known


def fuzz_part(
    remote: Remote,
    spaces: Sequence[RandomSpace],
    criteria: Mapping[str, Criterion],
    ranges: Sequence[tuple[int, int]],
    given: Mapping[str, Any],
) -> Fuzzed:
    """Ask the questions of some ranges on this worker."""
    with remote.started() as source:
        found = fuzz(source, spaces, criteria, ranges=ranges, **given)
        if found.stopped:
            source.close()
        return found.without_passing()


def fuzz_there(
    cluster: Cluster,
    remote: Remote,
    spaces: Sequence[RandomSpace],
    criteria: Mapping[str, Criterion],
    *,
    dtypes: Sequence[str],
    seed: int,
    cases: int | None,
    seconds: float | None,
    shard: Shard,
    expectations: Sequence[Expectation],
    advance: Callable[[Fuzzed], None],
) -> Fuzzed:
    """Ask random questions as `fuzz` does, on all workers; a range of questions is a task."""
    found, _ = start_fuzzing(
        *find_runtime(cluster, remote), spaces, criteria, dtypes, seed, expectations
    )
    began = time.monotonic()
    size = max(1, min(CHUNK, (cases or CHUNK << 20) // (PARTS * cluster.threads)))

    def most() -> int:
        return min(size, max(TASK, found.asked_to // cluster.threads))

    def tasks() -> Iterator[tuple[Any, ...]]:
        for one in split(question_ranges(cases, shard), most):
            left = seconds and seconds - (time.monotonic() - began)
            if found.stopped or (left is not None and left <= 0):
                return
            given = {"dtypes": dtypes, "seed": seed, "seconds": left, "expectations": expectations}
            yield fuzz_part, remote, spaces, criteria, [one], given

    try:
        for task, part in cluster.in_order(tasks()):
            [(start, stop)] = task[4]
            if isinstance(part, TaskLost):
                found.lost.append(f"questions {start} to {stop - 1} were left out: {part}")
            else:
                found.merge(part)
            found.seconds = time.monotonic() - began
            advance(found)
            end_if_interrupted()
    except KeyboardInterrupt:
        found.interrupted = True
    except (GrucibleError, OSError) as error:
        if not found.ranges:
            raise
        found.stopped = str(error)
    found.two_readings()
    return found


def shrink_part(remote: Remote, found: Fuzzed) -> list[FuzzFinding]:
    """Shrink cases of new findings on this worker."""
    with remote.started(gives_up=False) as source:
        found.shrink(source, lambda _: None, source.restart)
    return [*found.findings.values()]


def shrink_there(cluster: Cluster, remote: Remote, found: Fuzzed) -> None:
    """Shrink cases of new findings on a worker, unless the fuzzing was interrupted, or this is."""
    if not found.new or found.interrupted:
        return
    try:
        with saying_so(), contextlib.suppress(GrucibleError):
            for _, shrunk in cluster.in_order([(shrink_part, remote, found)]):
                if not isinstance(shrunk, TaskLost):
                    found.findings.update(zip(found.findings, shrunk, strict=True))
    except KeyboardInterrupt:
        found.interrupted = True


def answer_part(remote: Remote, questions: Sequence[Question]) -> list[Reply]:
    """Answer questions on this worker."""
    with remote.started() as source:
        return list(source.answer(questions))


class RuntimeThere:
    """A `Source` that runs a runtime on the workers of a cluster; a run of questions is a task.

    Of `count` questions each worker gets several runs; as in a pool, those of a case that is asked again
    stay together. Questions of a task that is lost are missing.
    """

    def __init__(self, cluster: Cluster, remote: Remote, count: int) -> None:
        self.name, self.version = find_runtime(cluster, remote)
        self._cluster, self._remote = cluster, remote
        most = min(RUN, count // (PARTS * cluster.threads))
        self._most = max(ASKED, most - most % ASKED)

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        """Yield the replies in the order of the questions; some runs are asked ahead."""
        tasks = ((answer_part, self._remote, run) for run in runs(questions, self._most))
        for task, replies in self._cluster.in_order(tasks):
            if isinstance(replies, TaskLost):
                yield from [Reply("missing", {}, str(replies))] * len(task[2])
            else:
                yield from replies

    def close(self) -> None:
        """Do nothing: workers keep the runtime for the next command."""
