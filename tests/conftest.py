"""What all tests share: one BLAS thread per process, for arrays here are small and threads only fight;
memory that is kept, for the same arrays come again and again; signals that are not ignored; and of long
tables a sample of the rows, the others where they are asked for."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter

import pytest

for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

for name, mebibytes in (("MMAP_THRESHOLD", 32), ("TRIM_THRESHOLD", 128)):
    os.environ.setdefault(f"MALLOC_{name}_", str(mebibytes << 20))  # glibc's, in processes to come

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:  # as under nohup: commands would not see them
        default = signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL
        signal.signal(number, default)


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are CPUs: some tests wait for what must not come."""
    from grucible.cases.process import count_cpus

    return count_cpus() + 1


def pytest_collection_finish() -> None:
    """What is there by then stays to the end: the collector need not walk it again and again, and it looks for
    circles among what comes after less often than by default, a tenth of the time of tests that diagnose."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option `--rows`."""
    parser.addoption(
        "--rows",
        choices=("sample", "rest", "all"),
        default="sample",
        help="of long tables of tests a sample of the rows (default), the rest of them alone, or all",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The mark `rows`."""
    config.addinivalue_line(
        "markers", "rows(every): every so many rows of the test's table are the sample"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the rows that are not asked for. Whoever names tests, or asks for those that failed, gets
    all of their rows."""
    asked, option = config.getoption("--rows"), config.option
    again = ("lf", "failedfirst", "stepwise")
    named = option.keyword or any("::" in given for given in config.args)
    if asked == "all" or named or any(getattr(option, one, False) for one in again):
        return
    seen: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        mark = item.get_closest_marker("rows")
        test = item.nodeid.partition("[")[0]
        sampled = mark is None or seen[test] % mark.args[0] == 0
        seen[test] += 1
        (kept if sampled == (asked == "sample") else left).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept
