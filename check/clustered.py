"""Check and fuzz on a Dask cluster: a runtime in a child of each worker, and one report."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ..cases.errors import GrucibleError
from ..cases.process import end_if_interrupted
from ..cases.selection import Shard
from ..cases.specs.random_space import RandomSpace
from ..gen.cluster import Cluster, TaskLost
from ..gen.making import open_or_make
from ..vectors.vector_set import VectorSet
from .fuzz import CHUNK, Fuzzed, fuzz, question_ranges, start_fuzzing
from .grouping import FuzzFinding
from .judging.criterion import Criterion
from .judging.expectations import Expectation
from .merging import WholeReport, merge_parts
from .observed.pool import RuntimePool
from .observed.source import Source
from .report import Report
from .reports.formats import report_value
from .verdict import Demand, judge

PARTS = 4
"""Minimum parts of the work for each thread of a worker, so that all end at about the same time."""


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
    def started(self, *, gives_up: bool = True) -> Iterator[Source]:
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
            raise GrucibleError(f"{worker}: {one}")
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

    def tasks() -> Iterator[tuple[Any, ...]]:
        for start, end in question_ranges(cases, shard):
            for at in range(start, end, size):
                left = seconds and seconds - (time.monotonic() - began)
                if found.stopped or (left is not None and left <= 0):
                    return
                given = {
                    "dtypes": dtypes,
                    "seed": seed,
                    "seconds": left,
                    "expectations": expectations,
                }
                yield fuzz_part, remote, spaces, criteria, [(at, min(at + size, end))], given

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
        found.shrink(source, lambda _: None)
    return [*found.findings.values()]


def shrink_there(cluster: Cluster, remote: Remote, found: Fuzzed) -> None:
    """Shrink cases of new findings on a worker."""
    for _, shrunk in cluster.in_order([(shrink_part, remote, found)]):
        if not isinstance(shrunk, TaskLost):
            found.findings.update(zip(found.findings, shrunk, strict=True))


def judge_part(
    remote: Remote, path: Path | None, select: Sequence[str], shard: Shard, demand: Demand
) -> dict[str, Any]:
    """Judge the cases of a shard on this worker; return the report as plain data."""
    with remote.started() as source:
        return report_value(judge(open_or_make(path, select, shard), source, demand))


def judge_there(
    cluster: Cluster,
    remote: Remote,
    vectors: VectorSet,
    demand: Demand,
    advance: Callable[[int], None],
) -> Report:
    """Judge the cases of vectors as `judge` does, on all workers; a shard is a task.

    Each worker opens the vectors at their path. Ctrl-C, or an error there, ends it with a report on the
    shards that are done, if any; the error is the report's `broken_by`.
    """
    demand.check(vectors)
    find_runtime(cluster, remote)
    firsts = [ids[0] for _, blocks in vectors.wanted for ids in blocks.values()]
    of = max(1, min(PARTS * cluster.threads, len(firsts)))
    shards = [Shard(n + 1, of) for n in range(of)]
    path = vectors.path and vectors.path.resolve()
    tasks = [
        (judge_part, remote, path, vectors.select, one, demand)
        for one in shards
        if any(map(one.takes, firsts))
    ]
    parts, broken, interrupted = dict[Path, WholeReport](), None, False
    try:
        for task, value in cluster.in_order(tasks):
            if isinstance(value, TaskLost):
                broken = TaskLost(f"shard {task[4]} was left out: {value}")
                continue
            parts[Path(f"shard {task[4]}")] = WholeReport.model_validate(value)
            advance(len(value["cases"]))
            end_if_interrupted()
    except (KeyboardInterrupt, GrucibleError) as error:
        if not parts:
            raise
        interrupted, broken = True, error if isinstance(error, GrucibleError) else None  # type: ignore[assignment]
    report = merge_parts(parts)
    return replace(report, interrupted=interrupted or broken is not None, broken_by=broken)
