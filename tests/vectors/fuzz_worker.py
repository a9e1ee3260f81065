"""Feed mutants of a file to grucible, one after another: python fuzz_worker.py KIND FILE VECTORS FIRST LAST

A process of its own, because a mutant may crash the HDF5 library, exhaust memory or hang. One line
per mutant is written: `<seed> ok`, `<seed> refused` or `<seed> <what came instead>`. KIND `vectors`
reads mutants of FILE with `load_vectors` and `judge`; `outputs` judges VECTORS by mutants of FILE.
"""

from __future__ import annotations

import faulthandler
import random
import re
import resource
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from judged import judge_outputs

from grucible import GrucibleError, load_vectors
from grucible.cases.errors import VectorFileError

SECONDS = 5
MEMORY = 4 << 30


FILTERS = re.compile(rb"deflate|shuffle|fletcher32|lzf")


def beside_filters(raw: bytes) -> list[int]:
    """The places in a file near the names of filters: their values, and how the dataset is stored."""
    near = {
        at
        for found in FILTERS.finditer(raw)
        for at in range(found.start() - 90, found.end() + 110)
        if 0 <= at < len(raw)
    }
    return sorted(near)


def mutant(raw: bytes, seed: int, places: Sequence[int] = ()) -> bytes:
    """The file with one to four bytes changed, of those at `places` if any: a bit flipped, or another value."""
    draw = random.Random(seed)
    changed = bytearray(raw)
    for _ in range(draw.choice([1, 1, 2, 4])):
        at = draw.choice(places) if places else draw.randrange(len(changed))
        changed[at] = draw.choice(
            [changed[at] ^ 1 << draw.randrange(8), 0, 255, draw.randrange(256)]
        )
    return bytes(changed)


def read_vectors(path: Path) -> None:
    for case in load_vectors(path):
        assert case.id
        assert case.inputs
        assert case.answer.outputs


def judged(vectors: Path, outputs: Path) -> None:
    judge_outputs(vectors, outputs, diagnose=False)


def outcome(kind: str, path: Path, vectors: Path) -> str:
    """What came of a mutant at `path`, in one line."""
    attempts: list[Callable[[], None]] = (
        [partial(read_vectors, path), partial(judged, path, vectors)]
        if kind == "vectors"
        else [partial(judged, vectors, path)]
    )
    refused = 0
    for attempt in attempts:
        try:
            attempt()
        except VectorFileError as error:
            refused += 1
            if "\n" in str(error) or str(path) not in str(error):
                return f"a bad message: {str(error)!r}"
        except GrucibleError as error:
            return f"another GrucibleError: {error}"
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)
            ours = [frame for frame in last if "grucible" in frame.filename][-1:]
            place = "".join(f" at {Path(f.filename).name}:{f.lineno}" for f in ours)
            return f"{type(error).__name__}{place}: {' '.join(str(error).split())}"
    return "refused" if refused == len(attempts) else "ok"


def main(kind: str, file: str, vectors: str, first: str, last: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    raw = Path(file).read_bytes()
    path = Path(f"{file}.mutant.h5")
    for seed in range(int(first), int(last)):
        path.write_bytes(mutant(raw, seed))
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        print(seed, outcome(kind, path, Path(vectors)), flush=True)
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(*sys.argv[1:])
