"""Going through the selected cases of vector files, with what was observed of them."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ...cases.dtypes import Array
from ...vectors.block import Block
from ...vectors.reader import VectorFile, open_vectors
from ...vectors.stored_block import StoredBlock
from .origin import Origin, origin
from .source import Observed, Source

MOST_BYTES = 64 << 20
"""So many bytes of questions and answers may be held while a runtime is at work on them."""


class Slice(NamedTuple):
    """Selected cases of a block: `block` holds them, and no inputs where the source needs none.

    `file` is the vector file, of `origin`, at `relative` below the vectors asked for, `stored` the whole
    block, and `rows` (n,) says which of its rows the cases are.
    """

    file: Path
    origin: Origin
    relative: str
    stored: StoredBlock
    rows: Array
    block: Block
    observed: Observed


class _Asked(NamedTuple):
    """A slice that waits for what is observed of it; its block has so many `bytes`."""

    slice: Callable[[Observed], Slice]
    block: Block
    bytes: int
    observed: Callable[[], Observed]


_Waiting = deque[_Asked | contextlib.ExitStack]
"""Slices in order; where a file's last one is past, the file is closed."""


def observations(
    files: Iterable[tuple[Path, str]],
    source: Source,
    select: Sequence[str],
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Slice]:
    """The selected cases of the vector files, in slices of blocks, with what was observed of them.

    The content of every block that holds a selected case is verified against its digests first; of the
    others nothing but ids is read. While a
    source is at work on some slices, the next are read, and whoever goes through the observations has
    those before.
    """
    waiting: _Waiting = deque()
    try:
        for one in _asked(files, source, select):
            waiting.append(one)
            while not _room(waiting, source):
                yield from _first(waiting, advance)
        while waiting:
            yield from _first(waiting, advance)
    finally:
        for one in waiting:
            if isinstance(one, contextlib.ExitStack):
                one.close()


def _asked(
    files: Iterable[tuple[Path, str]], source: Source, select: Sequence[str]
) -> Iterator[_Asked | contextlib.ExitStack]:
    """The slices, each asked of the source, and after those of a file what closes it."""
    for file, relative in files:
        with contextlib.ExitStack() as opened:
            vectors = opened.enter_context(open_vectors(file, relative))
            yield from _asked_of_file(vectors, source, select)
            closing = opened.pop_all()
        yield closing


def _asked_of_file(vectors: VectorFile, source: Source, select: Sequence[str]) -> Iterator[_Asked]:
    wanted = vectors.ids(select)
    if not wanted:
        return
    vectors.verify_content(wanted)
    came_from = origin(vectors)
    source.check_blocks(vectors)
    for path in wanted:
        stored = vectors.block(path)
        source.check_ids(vectors.relative, path, stored.ids)
        for rows, block in stored.selected(select, inputs=source.needs_inputs):
            made = partial(Slice, vectors.path, came_from, vectors.relative, stored, rows, block)
            yield _Asked(made, block, _bytes(block), source.ask(vectors.relative, block))


def _room(waiting: _Waiting, source: Source) -> bool:
    """Whether more may be asked before the first answers are waited for."""
    asked = [one for one in waiting if isinstance(one, _Asked)]
    if not asked:
        return not waiting
    cases = sum(len(one.block) for one in asked)
    return cases < source.ahead and sum(one.bytes for one in asked) < MOST_BYTES


def _bytes(block: Block) -> int:
    arrays = [*block.inputs.values()]
    for answer in block.answers.values():
        arrays += answer.outputs.values()
        arrays += [limit for limits in answer.tolerances.values() for limit in limits.values()]
    return sum(array.nbytes for array in arrays)


def _first(waiting: _Waiting, advance: Callable[[int], None]) -> Iterator[Slice]:
    """The first slice, with what was observed of it; nothing where it is the end of a file."""
    one = waiting.popleft()
    if isinstance(one, contextlib.ExitStack):
        one.close()
        return
    yield one.slice(one.observed())
    advance(len(one.block))
