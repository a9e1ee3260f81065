"""Cases made on the spot: those of random spaces, and those of shipped specs that no file holds."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from .. import __version__
from ..cases.console import suggest
from ..cases.errors import GrucibleError
from ..cases.operators import OPERATORS
from ..cases.question import too_large, why_no_theme
from ..cases.selection import WHOLE, Shard, is_glob, suggest_part
from ..cases.specs.expand import CaseSpec, expand
from ..cases.specs.random_space import THEME, RandomSpace, numbered, usual_space
from ..cases.specs.spec_file import SHIPPED, CaseSpecFile, Drawn, find_specs
from ..vectors.block import Block, BlockKey
from ..vectors.digest import GENERATOR
from ..vectors.drawn import ATTEMPTS
from ..vectors.vector_set import VectorSet
from ..vectors.writer import new_vector_file
from .drawing import FEW_ATTEMPTS, Undrawn, block_key, chunks, make_chunks

SHRUNK = "shrunk"
"""The theme of shrunk cases, which only the file that they were written to has."""
SPECS = (".yaml", ".yml")
"""Endings of case specs, whose cases are made where a command takes vectors."""


class Made(NamedTuple):
    """Cases that were made: `specs` has what was drawn, `blocks` those with answers.

    `impossible` counts, by reason, the questions without an assignment that is possible.
    """

    specs: Sequence[CaseSpec]
    blocks: Sequence[Block]
    undrawn: Sequence[Undrawn]
    impossible: Sequence[str]


def make_random(
    streams: Sequence[tuple[RandomSpace, str]], seed: int, start: int, stop: int
) -> Made:
    """Make the questions `start` to `stop` - 1 of a seed; the streams, space and dtype, take turns."""
    specs, impossible = list[CaseSpec](), list[str]()
    for number in range(start, stop):
        place, of = divmod(number, len(streams))
        space, dtype = streams[of]
        try:
            specs.append(space.case(dtype, seed, place))
        except GrucibleError as error:
            impossible.append(str(error))
    blocks, undrawn = make_blocks(specs, FEW_ATTEMPTS)
    return Made(specs, blocks, undrawn, impossible)


def make_blocks(
    cases: Sequence[CaseSpec], attempts: Sequence[int] = ATTEMPTS
) -> tuple[list[Block], list[Undrawn]]:
    """Draw and answer cases of any operators, in blocks; say of others why they cannot be drawn."""
    blocks, undrawn, small = list[Block](), list[Undrawn](), list[CaseSpec]()
    for case in cases:
        why = too_large(OPERATORS[case.operator], case.attributes, case.sizes)
        undrawn += [Undrawn(case, why)] if why else []
        small += [] if why else [case]
    parts = [part for _, parts in chunks(small) for part in parts]
    for block, others in make_chunks(parts, 0, attempts):
        undrawn += others
        blocks += [block] if block else []
    return blocks, undrawn


def open_or_make(
    path: Path | None = None, select: Sequence[str] = (), shard: Shard = WHOLE
) -> VectorSet:
    """Open vectors as `open_set` does, and make selected cases that no file holds.

    A case spec at `path` stands for the cases that ids in `select` name. Made cases are in files that go with
    this process. Raises GrucibleError for a case that cannot be drawn.
    """
    ids = [one for one in dict.fromkeys(getattr(select, "given", select)) if not is_glob(one)]
    if path is not None and path.suffix in SPECS and path.is_file():
        if not ids:
            raise GrucibleError(
                f"{path}: is a case spec; name the ids of its cases to make, or gen all"
            )
        made = _write(tuple(ids), (path,))
        opened = VectorSet(made, select, made, shard)
        opened.path = path  # reports name it: what was made goes with this process
        return opened
    opened = VectorSet(path, select, shard=shard)
    if path is not None or not ids:
        return opened
    known = set(opened.whole.ids)
    missing = [one for one in ids if one not in known and _shipped_specs(one)]
    return VectorSet(path, select, _write(tuple(missing)), shard) if missing else opened


def case_called(case_id: str, paths: tuple[Path, ...] = ()) -> CaseSpec:
    """Find the case with an id in case specs: those at `paths`, or else the shipped and built-in ones.

    Raises GrucibleError where there is none.
    """
    found = numbered(case_id)
    for spec in find_specs(paths) if paths else _shipped_specs(case_id):
        if not case_id.startswith(spec.prefix):
            continue
        if not _is_random(spec):
            if cases := expand(spec, select=(case_id,)):
                return cases[0]
        elif found and found[0] in spec.model.dtypes:
            return RandomSpace(spec).case(*found)
    where = f"{paths[0]}" if paths else "grucible's case specs"
    raise GrucibleError(f"no case of {where} is called {case_id!r}{_suggest_id(case_id, paths)}")


def _suggest_id(case_id: str, paths: tuple[Path, ...]) -> str:
    """Suggest the id that is most like a mistaken one of case specs."""
    if case_id.count("/") < 3:
        return "; an id has four parts, as onnx.GRU-14/plain/float32/default has"
    if case_id.split("/")[1] == SHRUNK:
        return "; shrunk cases are in the file that was written: name it before the id"
    every = [*find_specs(paths), *(usual_space(one).spec for one in OPERATORS if not paths)]
    near = suggest_part(case_id, [one.prefix for one in every]) or case_id
    mine = [one for one in every if one.prefix in near]
    for spec in filter(_is_random, mine):
        return f"; ids of a random space are as {spec.prefix}DTYPE/SEED-NUMBER"
    return suggest(case_id, [one.id for spec in mine for one in expand(spec)])


def _is_random(spec: CaseSpecFile) -> bool:
    return any(isinstance(entry, Drawn) for entry in spec.model.cases)


def _shipped_specs(case_id: str) -> Iterator[CaseSpecFile]:
    """Find the shipped specs whose theme an id has, and the built-in space if it has that."""
    operator, theme, *_ = [*case_id.split("/"), ""]
    if operator not in OPERATORS:
        return
    if theme == THEME:
        yield usual_space(operator).spec
    elif not why_no_theme(theme):
        files = (SHIPPED / OPERATORS[operator].owner).glob(f"*/{theme}.yaml")
        yield from find_specs(tuple(files)) if files else ()


@functools.cache
def _write(ids: tuple[str, ...], paths: tuple[Path, ...] = ()) -> Path:
    """Write vector files of the cases with these ids into a directory that goes with this process."""
    cases = [case_called(one, paths) for one in ids]
    folder = Path(tempfile.mkdtemp(prefix="grucible-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    by_id = {case.id: case for case in cases}
    blocks, undrawn = list[Block](), list[Undrawn]()
    for attempts, some in ((FEW_ATTEMPTS, True), (ATTEMPTS, False)):
        found, others = make_blocks([c for c in cases if bool(numbered(c.id)) == some], attempts)
        blocks += found
        undrawn += others
    for one in undrawn:
        raise GrucibleError(f"{one.case.id}: {one.why}")
    files: dict[tuple[str, str], dict[BlockKey, list[Block]]] = {}
    for block in blocks:
        operator, theme, _ = block.ids[0].split("/", 2)
        key = block_key(by_id[block.ids[0]])
        files.setdefault((operator, theme), {}).setdefault(key, []).append(block)
    for (operator, theme), members in files.items():
        named = [one for parts in members.values() for block in parts for one in block.ids]
        with new_vector_file(
            folder / operator / f"{theme}.h5", operator=operator, theme=theme, spec_text="", seed=0,
            generator=f"grucible {__version__}",
            made_from=json.dumps({"cases": named, "generator": GENERATOR}),
        ) as writer:  # fmt: skip
            for key, parts in members.items():
                writer.write_block(key, parts)
    return folder
