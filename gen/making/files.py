"""Making vector files: what is missing or changed, in parallel, each file whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from threadpoolctl import threadpool_limits

import grucible

from ...cases.commands.interrupts import stop_if_interrupted
from ...cases.errors import GrucibleError, VectorFileError
from ...cases.expansion.case_spec import CaseSpec
from ...cases.specs.spec_file import CaseSpecFile
from ...vectors.block import Block, BlockKey
from ...vectors.reader import open_vectors
from ...vectors.writer import VectorWriter, new_vector_file
from .chunks import Chunk, bytes_of, check_sizes, chunks, make_chunk
from .undrawn import Undrawn

_ROOT = Path(__file__).parents[2]
AHEAD_BYTES = 24 << 20
"""So many bytes of cases may be under way for each process; with tolerances they are about twice as many."""


@dataclass(frozen=True)
class Plan:
    """One vector file that is asked for: from which spec, which cases, to where."""

    spec: CaseSpecFile
    cases: list[CaseSpec]
    path: Path
    made_from: str
    seed: int

    @property
    def relative(self) -> str:
        """The file's path below the output directory."""
        return f"{self.spec.path}.h5"


@dataclass(frozen=True)
class MadeFile:
    """What became of a plan: `made` now, or found there, made from the same.

    The digests, of content and of tolerances, are computed from the bytes in the file. Where those are not
    what the file's own digests say, they are empty, and `damage` says so in a sentence that names the file.
    `cases` are as many as it holds; `undrawn` those that it lacks, for no draw of them could be kept. A file
    that lacks all of them is not made, and none that lacks some in the place of a whole one.
    """

    relative: str
    cases: int
    content_sha256: str
    tolerance_sha256: str
    made: bool
    damage: str = ""
    undrawn: Sequence[Undrawn] = ()

    @property
    def sound(self) -> bool:
        """Whether it is what was asked for, and all of it."""
        return not self.damage and not self.undrawn


def plan_files(
    expanded: Sequence[tuple[CaseSpecFile, list[CaseSpec]]],
    out: Path,
    *,
    seed: int,
    dtypes: Sequence[str],
    select: Sequence[str],
) -> list[Plan]:
    """A plan for each spec that has cases; GrucibleError for a case that is too large to be answered."""
    plans = []
    for spec, cases in expanded:
        check_sizes(cases)
        made_from = {
            "spec": hashlib.sha256(spec.document.text.encode()).hexdigest(),
            "sources": source_digest(),
            "seed": seed,
            "dtypes": sorted(dtypes),
            "select": sorted(select),
        }
        text = json.dumps(made_from, sort_keys=True)
        plans.append(Plan(spec, cases, out / f"{spec.path}.h5", text, seed))
    return plans


@cache
def source_digest() -> str:
    """SHA-256 of the source code that decides what is in a vector file."""
    digest = hashlib.sha256()
    for room in ("cases", "gen", "vectors"):
        for file in sorted((_ROOT / room).rglob("*.py")):
            if file.parent.name == "exchange":  # other formats: nothing that is in a vector file
                continue
            digest.update(file.relative_to(_ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def standing(plan: Plan) -> MadeFile | None:
    """What stands at the place of a plan, if it was made from the same; None if nothing does."""
    try:
        with open_vectors(plan.path) as vectors:
            if vectors.root.attribute("made_from") != plan.made_from:
                return None
            try:
                vectors.verify_content()
            except VectorFileError as error:
                return MadeFile(
                    plan.relative, len(plan.cases), "", "", made=False, damage=str(error)
                )
            digests = vectors.content_sha256, vectors.tolerance_sha256
            return MadeFile(plan.relative, len(plan.cases), *digests, made=False)
    except GrucibleError:
        return None


def make_files(
    plans: Sequence[Plan], jobs: int, advance: Callable[[int], None] = lambda _: None
) -> Generator[MadeFile, None, None]:
    """Make every planned file, in order; `advance(n)` is called as cases are written.

    With `jobs` > 1 as many processes evaluate cases, as far as there is work for them, and this one writes.
    Memory is bounded by the chunks in flight. Raises GrucibleError where a process is killed; whatever stops
    it leaves only whole files.
    """
    with contextlib.ExitStack() as stack:
        results = stack.enter_context(_in_order(list(_tasks(plans)), jobs))
        for plan in plans:
            yield _made_file(plan, results, advance)


class _NotWritten(Exception):
    """A file is not written: it has no case, or would lack some that stand in its place."""


def _made_file(plan: Plan, results: Iterator[Chunk], advance: Callable[[int], None]) -> MadeFile:
    undrawn: list[Undrawn] = []
    try:
        with new_vector_file(
            plan.path,
            operator=plan.spec.model.operator,
            theme=plan.spec.theme,
            spec_text=plan.spec.document.text,
            seed=plan.seed,
            generator=f"grucible {grucible.__version__}",
            made_from=plan.made_from,
        ) as writer:
            for key, parts in chunks(plan.cases):
                undrawn += _write_block(writer, key, len(parts), results, advance)
            if undrawn and (len(undrawn) == len(plan.cases) or _whole(plan.path)):
                raise _NotWritten
            if undrawn:
                writer.is_incomplete()
    except _NotWritten:
        return MadeFile(plan.relative, 0, "", "", made=False, undrawn=undrawn)
    digests = writer.content_sha256, writer.tolerance_sha256
    count = len(plan.cases) - len(undrawn)
    return MadeFile(plan.relative, count, *digests, made=True, undrawn=undrawn)


def _whole(path: Path) -> bool:
    """Whether a vector file stands at a place that lacks no case."""
    try:
        with open_vectors(path) as vectors:
            return vectors.root.attribute("made_from") != ""
    except GrucibleError:
        return False


def _write_block(
    writer: VectorWriter,
    key: BlockKey,
    parts: int,
    results: Iterator[Chunk],
    advance: Callable[[int], None],
) -> list[Undrawn]:
    """Write the block that the next so many `parts` of the results make; returns the cases it lacks."""
    blocks: list[Block] = []
    undrawn: list[Undrawn] = []
    for _ in range(parts):
        stop_if_interrupted()
        chunk = next(results)
        undrawn += chunk.undrawn
        if chunk.block is not None:
            blocks.append(chunk.block)
            advance(len(chunk.block))
    if blocks:
        writer.write_block(key, blocks)
    return undrawn


def _tasks(plans: Sequence[Plan]) -> Iterator[tuple[list[CaseSpec], int]]:
    for plan in plans:
        for _, parts in chunks(plan.cases):
            for part in parts:
                yield part, plan.seed


@contextlib.contextmanager
def _in_order(tasks: Sequence[tuple[list[CaseSpec], int]], jobs: int) -> Iterator[Iterator[Chunk]]:
    """The results of `tasks`, in their order, made by `jobs` processes, and no more than there are tasks."""
    if jobs == 1:
        with threadpool_limits(1):  # matrices are small: more threads would wait for each other
            yield (make_chunk(cases, seed) for cases, seed in tasks)
        return
    if not os.access(sys.executable, os.X_OK):
        raise GrucibleError(
            f"this user cannot start {sys.executable or 'Python'}, so there are no other processes; "
            "--jobs 1 needs none"
        )
    most = max(1, min(jobs, len(tasks)))
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    with _starting_processes():
        pool = ProcessPoolExecutor(most, mp_context=context, initializer=_start_worker)
    try:
        yield _windowed(pool, tasks, most=AHEAD_BYTES * most)
    except BrokenProcessPool:
        raise GrucibleError(
            "a process that evaluates cases was killed, perhaps for lack of memory; "
            "fewer --jobs need less, and files that are whole stay"
        ) from None
    except BaseException:  # Ctrl-C above all: what is at work may take minutes
        for process in set(multiprocessing.active_children()) - others:
            process.kill()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threadpool_limits(1)  # the processes are the parallelism; BLAS threads would only fight
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()  # however it ends: a pool's process would wait for work for ever
    os._exit(1)


@contextlib.contextmanager
def _starting_processes() -> Iterator[None]:
    """A process that is started now begins with modules of Python's, not with those of this directory, and it
    never sees Ctrl-C, not while it imports them either."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    safe = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        if safe is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = safe
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _windowed(
    pool: ProcessPoolExecutor, tasks: Sequence[tuple[list[CaseSpec], int]], most: int
) -> Iterator[Chunk]:
    """The results in order; while the first is written, up to `most` bytes of others are under way."""
    running: deque[tuple[Future[Chunk], int]] = deque()
    held = 0
    for cases, seed in tasks:
        size = len(cases) * bytes_of(cases[0])
        with _starting_processes():
            future = pool.submit(make_chunk, cases, seed)
        running.append((future, size))
        held += size
        while held > most and len(running) > 1:
            future, size = running.popleft()
            held -= size
            yield future.result()
    while running:
        yield running.popleft()[0].result()
