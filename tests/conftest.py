"""What all tests share: one BLAS thread per process, for arrays here are small; memory that is kept, for the
same arrays come again and again; signals that are not ignored; no colours, and 80 columns."""

from __future__ import annotations

import copy
import gc
import os
import signal
from pathlib import Path

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")  # no test fails because a machine is busy

for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

for name, mebibytes in (("MMAP_THRESHOLD", 32), ("TRIM_THRESHOLD", 128)):
    os.environ.setdefault(f"MALLOC_{name}_", str(mebibytes << 20))  # glibc's, in processes to come

os.environ |= {"NO_COLOR": "1", "COLUMNS": "80"}
os.environ.pop("FORCE_COLOR", None)

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:  # as under nohup: commands would not see them
        default = signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL
        signal.signal(number, default)


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are CPUs: some tests wait for what must not come."""
    from grucible.cases.process import count_cpus

    return count_cpus() + 1


def pytest_configure() -> None:
    """Print no line about long work: a busy machine would add it to what a test compares."""
    from grucible.cases import console

    console.FIRST_SECONDS = 3600.0


def pytest_sessionstart() -> None:
    """Parse each file of the core vectors once per process, not once per test; each reader gets a copy."""
    from grucible.cases.apart import Tree
    from grucible.vectors import hdf5

    parse, files = hdf5._parse, dict[tuple[Path, str, bool], Tree]()

    def parse_once(path: Path, kind: str, *, whole: bool) -> Tree:
        if not path.is_relative_to(hdf5.CORE):
            return parse(path, kind, whole=whole)
        if (path, kind, whole) not in files:
            files[path, kind, whole] = parse(path, kind, whole=whole)
        return copy.deepcopy(files[path, kind, whole])

    hdf5._parse = parse_once


def pytest_collection_finish() -> None:
    """Let the collector look for circles less often: a tenth of the time of tests that diagnose."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
