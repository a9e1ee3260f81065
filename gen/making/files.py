"""Making vector files: what is missing or changed, in parallel, each file whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import grucible

from ...cases.errors import GrucibleError, VectorFileError
from ...cases.expansion.case_spec import CaseSpec
from ...cases.specs.spec_file import CaseSpecFile
from ...vectors.block import Block, BlockKey
from ...vectors.published import GENERATOR
from ...vectors.reader import open_vectors
from ...vectors.writer import VectorWriter, new_vector_file
from .chunks import Chunk, check_sizes, chunks
from .processes import in_order
from .undrawn import Undrawn


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
            "generator": GENERATOR,
            "seed": seed,
            "dtypes": sorted(dtypes),
            "select": sorted(select),
        }
        text = json.dumps(made_from, sort_keys=True)
        plans.append(Plan(spec, cases, out / f"{spec.path}.h5", text, seed))
    return plans


def standing(plan: Plan) -> MadeFile | None:
    """What stands at the place of a plan, if it was made from the same; None if nothing does."""
    try:
        with open_vectors(plan.path) as vectors:
            if vectors.attributes.attribute("made_from") != plan.made_from:
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
        results = stack.enter_context(in_order(list(_tasks(plans)), jobs))
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
            return vectors.attributes.attribute("made_from") != ""
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
