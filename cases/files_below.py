"""The files in a directory and below it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

from .errors import GrucibleError

MOST_NAMES = 100_000
"""So many files and directories may be below a directory of case specs, vectors or outputs: to look through
them takes a second. A checkout has fewer."""


def files_below(
    root: Path, *endings: str, follow: bool = True, most: float = math.inf
) -> Iterator[Path]:
    """The files in a directory and those below it whose names have one of the endings, each directory once,
    however many links lead to it, by the first of its names; links are followed only with `follow`.

    Raises OSError for a directory that cannot be read, with what to do, and GrucibleError where more than
    `most` files and directories are below it.
    """
    seen = set()
    names_left = most

    def stop(error: OSError) -> None:
        said = f"{error.strerror}; make it readable, or name another place"
        raise OSError(error.errno, said, error.filename) from None

    for place, below, names in os.walk(root, onerror=stop, followlinks=follow):
        if (real := os.path.realpath(place)) in seen:
            below.clear()
            continue
        seen.add(real)
        below.sort()
        names_left -= len(below) + len(names)
        if names_left < 0:
            raise GrucibleError(
                f"{root}: more than {most:,} files and directories are below it; name a directory of fewer"
            )
        yield from (Path(place, name) for name in names if name.endswith(endings))
