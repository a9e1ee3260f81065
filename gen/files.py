"""Making missing and changed vector files, in parallel; each file appears whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import itertools
import json
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import __version__
from ..cases.errors import GrucibleError, VectorFileError
from ..cases.process import end_if_interrupted
from ..cases.selection import WHOLE, Shard
from ..cases.specs.expand import CaseSpec
from ..cases.specs.spec_file import CaseSpecFile
from ..vectors.block import BlockKey
from ..vectors.digest import GENERATOR, published_digests, published_tolerances
from ..vectors.reader import VectorFile, open_vectors
from ..vectors.writer import VectorWriter, new_vector_file
from .cluster import Cluster, TaskLost, result_of
from .drawing import (
    CHUNK_BYTES,
    Chunk,
    Undrawn,
    bytes_of,
    check_sizes,
    chunks,
    make_chunks,
    take_shard,
)
from .processes import open_executor

AHEAD_BYTES = 24 << 20
"""Maximum bytes of cases under way for each process; their tolerances take about as many again."""


_Task = tuple[list[list[CaseSpec]], int]
"""Chunks of work that are made together, and a seed."""
_TASKS = 4
"""Minimum tasks of each process, so that all end at about the same time."""


def _tasks(plans: Sequence[Plan], jobs: int) -> Iterator[_Task]:
    """Put consecutive chunks of a file together: cases of several blocks can be evaluated at once."""
    total = sum(bytes_of(part[0]) * len(part) for p in plans for part in p.missing)
    most = min(CHUNK_BYTES, total // (_TASKS * jobs)) if jobs > 1 else CHUNK_BYTES
    for plan in plans:
        together, size = list[list[CaseSpec]](), 0
        for part in plan.missing:
            each = bytes_of(part[0]) * len(part)
            if together and size + each > most:
                yield together, plan.seed
                together, size = [], 0
            together.append(part)
            size += each
        if together:
            yield together, plan.seed


def _make_ahead(executor: Executor, tasks: Iterable[_Task], most: int) -> Iterator[Chunk]:
    """Make the chunks of each task; yield them in order.

    Tasks are submitted ahead of the chunk that is waited for, as long as their tensors take at most `most`
    bytes together.
    """
    ahead: deque[tuple[list[list[CaseSpec]], Future[list[Chunk]], int]] = deque()
    size = 0
    for parts, seed in tasks:
        future = executor.submit(make_chunks, parts, seed)
        ahead.append((parts, future, sum(len(part) * bytes_of(part[0]) for part in parts)))
        size += ahead[-1][2]
        while ahead and (ahead[0][1].done() or (size > most and len(ahead) > 1)):
            parts, future, less = ahead.popleft()
            size -= less
            yield from _made(parts, future)
    for parts, future, _ in ahead:
        yield from _made(parts, future)


def _made(parts: list[list[CaseSpec]], future: Future[list[Chunk]]) -> list[Chunk]:
    """Wait for the chunks of a task; if it is lost, its cases are undrawn."""
    try:
        return result_of(future)
    except TaskLost as error:
        return [(None, [Undrawn(case, str(error)) for case in part]) for part in parts]


@dataclass(frozen=True)
class Plan:
    """One vector file to make: the spec, its cases, and the directory that it is made in.

    `made_from` names everything that the file is made from. With a `shard`, it is a part of the file.
    """

    spec: CaseSpecFile
    cases: list[CaseSpec]
    out: Path
    made_from: Mapping[str, Any]
    seed: int
    shard: Shard = WHOLE

    @property
    def relative(self) -> str:
        """The file's path below the output directory."""
        part = "" if self.shard == WHOLE else f".{self.shard.number}-of-{self.shard.of}"
        return f"{self.spec.path}{part}.h5"

    @property
    def path(self) -> Path:
        """The place of the file."""
        return self.out / self.relative

    @property
    def origin(self) -> str:
        """The text in the file by which a later `gen` knows what it was made from."""
        part = {} if self.shard == WHOLE else {"shard": str(self.shard)}
        return json.dumps({**self.made_from, **part}, sort_keys=True)

    @cached_property
    def blocks(self) -> list[tuple[BlockKey, list[list[CaseSpec]]]]:
        """The blocks of the file in order, each in chunks of work."""
        return list(chunks(self.cases))

    @property
    def missing(self) -> Iterator[list[CaseSpec]]:
        """The chunks of work of those blocks that no part holds."""
        for key, parts in self.blocks:
            yield from () if key.path in self.standing else parts

    @cached_property
    def parts(self) -> list[tuple[Shard, VectorFile]]:
        """The parts of the file that stand beside its place; none is read yet."""
        found, beside = list[tuple[Shard, VectorFile]](), f"{glob.escape(self.path.stem)}.*-of-*.h5"
        for path in sorted(self.path.parent.glob(beside)) if self.shard == WHOLE else ():
            number, _, of = path.stem.rpartition(".")[2].partition("-of-")
            with contextlib.suppress(GrucibleError, ValueError):
                shard, part = Shard(int(number), int(of)), open_vectors(path)
                if part.attributes.attribute("made_from") == replace(self, shard=shard).origin:
                    found.append((shard, part))
        return found

    @cached_property
    def standing(self) -> dict[str, VectorFile]:
        """The part that holds a block, by the block's path."""
        return {
            key.path: part
            for shard, part in self.parts
            for key, cases in self.blocks
            if shard.takes(cases[0][0].id)
        }

    def drop_parts(self) -> None:
        """Remove the parts of the file, which holds their blocks now."""
        for _, part in self.parts:
            part.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class MadeFile:
    """The result of a plan: a file that was `made` now, or an up-to-date file that was found.

    The digests, of content and of tolerances, are computed from the bytes in the file. If the digests stated
    in the file differ, these are empty, and `damage` is a sentence that names the file. `cases` counts the
    cases in the file; `undrawn` has the others. A file without cases is not made, and a file that lacks cases
    never replaces a whole one.
    """

    relative: str
    cases: int
    content_sha256: str = ""
    tolerance_sha256: str = ""
    made: bool = False
    damage: str = ""
    undrawn: Sequence[Undrawn] = ()

    def difference(self) -> str:
        """Describe how the file differs from the published one; "" if it does not."""
        for what, digest, published in (
            ("content differs", self.content_sha256, published_digests()),
            ("tolerances differ", self.tolerance_sha256, published_tolerances()),
        ):
            if published.get(self.relative, digest) != digest:
                return self.damage or f"{self.relative}: {what} from the published digest"
        return ""


def plan_files(
    expanded: Sequence[tuple[CaseSpecFile, list[CaseSpec]]],
    out: Path,
    *,
    seed: int,
    dtypes: Sequence[str],
    select: Sequence[str],
    shard: Shard = WHOLE,
) -> list[Plan]:
    """Plan a file for each spec that has cases in the shard.

    Raises GrucibleError for a case too large to be answered.
    """
    plans = []
    for spec, cases in expanded:
        check_sizes(cases)
        made_from = {
            "spec": hashlib.sha256(spec.document.text.encode()).hexdigest(),
            "generator": GENERATOR,
            "seed": seed,
            "dtypes": sorted(dtypes),
            "select": sorted(select),
        }
        mine = cases if shard == WHOLE else take_shard(cases, shard)
        plans += [Plan(spec, mine, out, made_from, seed, shard)] if mine else []
    return plans


def find_made(plan: Plan) -> MadeFile | None:
    """Find the file at the place of a plan; return None unless it was made from what the plan names.

    A part is found in the whole file, too.
    """
    count = len(plan.cases)
    if plan.shard != WHOLE and (whole := find_made(replace(plan, shard=WHOLE))):
        return replace(whole, relative=plan.relative, cases=count)
    try:
        vectors = open_vectors(plan.path)
        if vectors.attributes.attribute("made_from") != plan.origin:
            return None
        try:
            vectors.verify_content()
        except VectorFileError as error:
            return MadeFile(plan.relative, count, damage=str(error))
        return MadeFile(plan.relative, count, vectors.content_sha256, vectors.tolerance_sha256)
    except GrucibleError:
        return None


def make_files(
    plans: Sequence[Plan],
    jobs: int,
    advance: Callable[[int], None] = lambda _: None,
    *,
    force: bool = False,
    cluster: Cluster | None = None,
) -> Generator[MadeFile, None, None]:
    """Make every planned file, in order; `advance(n)` is called as cases are written.

    With `jobs` > 1, up to that many processes evaluate cases, or a `cluster` does; this process writes.
    The chunks under way bound the memory. Raises GrucibleError if a process is killed. However the function
    ends, it leaves only whole files.
    """
    tasks = list(_tasks(plans, cluster.threads if cluster else jobs))
    jobs = max(1, min(cluster.threads if cluster else jobs, len(tasks)))
    with open_executor(jobs, cluster) as executor:
        made = _make_ahead(executor, tasks, AHEAD_BYTES * jobs)
        for plan in plans:
            yield _make_file(plan, made, advance, force)


class _NotWritten(Exception):
    """A file that is not written: it has no case, or it lacks cases and would replace a whole file."""


def _make_file(
    plan: Plan, made: Iterator[Chunk], advance: Callable[[int], None], force: bool
) -> MadeFile:
    undrawn, opened = list[Undrawn](), dict[Path, VectorFile]()
    writer: VectorWriter | None = None
    with contextlib.suppress(_NotWritten):
        with new_vector_file(
            plan.path,
            operator=plan.spec.model.operator,
            theme=plan.spec.theme,
            spec_text=plan.spec.document.text,
            seed=plan.seed,
            generator=f"grucible {__version__}",
            made_from=plan.origin,
            force=force,
        ) as writer:
            for key, parts in plan.blocks:
                blocks = []
                mine = made
                if part := plan.standing.get(key.path):  # a copy, which goes with its blocks
                    part = opened.setdefault(part.path, replace(part, _blocks={}, _verified=set()))
                    mine = _stored(part, key.path) or iter(make_chunks(parts, plan.seed))
                for block, others in itertools.islice(mine, len(parts)):
                    end_if_interrupted()
                    undrawn += others
                    if block is not None:
                        blocks.append(block)
                        advance(len(block))
                if blocks:
                    writer.write_block(key, blocks)
            if undrawn and (len(undrawn) == len(plan.cases) or _is_whole(plan.path)):
                raise _NotWritten
            if undrawn:
                writer.is_incomplete()
        return MadeFile(
            plan.relative,
            len(plan.cases) - len(undrawn),
            writer.content_sha256,
            writer.tolerance_sha256,
            made=True,
            undrawn=undrawn,
        )
    return MadeFile(plan.relative, 0, undrawn=undrawn)


def _stored(part: VectorFile, path: str) -> Iterator[Chunk] | None:
    """Read a block of a part; return None if it is not what its digests say."""
    try:
        part.verify_content([path])
        return iter([(part.block(path), [])])
    except GrucibleError:
        return None


def _is_whole(path: Path) -> bool:
    """Say whether a vector file that lacks no case is at `path`."""
    try:
        return open_vectors(path).attributes.attribute("made_from") != ""
    except GrucibleError:
        return False
