"""Feed mutants of a file to grucible: python mutant_worker.py KIND HOW FILE VECTORS FIRST LAST

A process of its own, because a mutant may crash the HDF5 library, exhaust memory or hang. One line per
mutant is written: its seed, seconds, and `ok`, `refused` or what came instead. KIND is what FILE is, `vectors`
or `outputs`; HOW is `bytes`, `filters` (bytes beside the names of filters) or `structure`.
"""

from __future__ import annotations

import faulthandler
import resource
import shutil
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from robustness import structures  # noqa: E402

from vectors import fuzz_worker, handmade  # noqa: E402

SECONDS, MEMORY = 10, 3 << 30


def main(kind: str, how: str, file: str, vectors: str, first: str, last: str) -> None:
    """Write a line per mutant."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    raw = Path(file).read_bytes()
    path = Path(f"{file}.{first}.h5")
    places = fuzz_worker.beside_filters(raw)
    for seed in range(int(first), int(last)):
        done = ""
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        if how in ("bytes", "filters"):
            path.write_bytes(fuzz_worker.mutant(raw, seed, places if how == "filters" else ()))
        else:
            shutil.copy(file, path)
            done = structures.mutate(path, seed, handmade.sign if kind == "vectors" else None)
        start = time.monotonic()
        found = fuzz_worker.outcome(kind, path, Path(vectors))
        seconds = time.monotonic() - start
        faulthandler.cancel_dump_traceback_later()
        if found not in ("ok", "refused"):
            found = f"{found} [{done}]"
        print(seed, f"{seconds:.3f}", found, flush=True)
    print("memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
