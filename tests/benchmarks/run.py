"""The project's performance promises, measured: `python tests/benchmarks/run.py [NAME]…`.

Prints a table of figures, what each is compared with, their ratio and the promise. Nothing fails:
a figure depends on the machine and on what else it is doing. Without a NAME, all are run (some ten
minutes on two CPUs).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.measure import Row

Benchmark = Callable[[Path, int], "list[Row]"]
"""A benchmark takes a directory of its own and the number of rounds, and gives its rows."""

BENCHMARKS = {
    "generation": ("generation", "generation", 3, "exact answers against a plain numpy loop"),
    "jobs": ("generation", "jobs", 3, "gen --jobs 2 against --jobs 1"),
    "memory": ("memory", "memory", 1, "peak memory of gen with N and with 4N cases"),
    "reading": ("checking", "reading", 9, "check --outputs against reading the files whole"),
    "per-case": ("checking", "per_case", 3, "check --outputs against assert_allclose per case"),
    "startup": ("startup", "startup", 15, "grucible --help against importing numpy"),
}
"""By name: the module and function, the rounds it runs by default, what it compares."""


def main() -> None:
    """Run the benchmarks named on the command line and print their table."""
    arguments = _arguments()
    rows: list[Row] = []
    for name in arguments.names or BENCHMARKS:
        module, function, rounds, about = BENCHMARKS[name]
        print(f"{name}: {about}", file=sys.stderr)
        run: Benchmark = getattr(import_module(f"benchmarks.{module}"), function)
        with tempfile.TemporaryDirectory(prefix="grucible-bench-") as directory:
            found = run(Path(directory), arguments.rounds or rounds)
        rows += found
    for line in table(rows):
        print(line)
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"\nratio: by the clock; cpu: the same in CPU time. Load average now {load}.")


def _arguments() -> argparse.Namespace:
    listing = "\n".join(f"  {name:12}{about}" for name, (*_, about) in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"benchmarks:\n{listing}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run")
    parser.add_argument("--rounds", type=int, help="how often each is measured")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in BENCHMARKS:
            parser.error(f"{name}: expected one of {', '.join(BENCHMARKS)}")
    return arguments


def table(rows: Sequence[Row]) -> list[str]:
    """The rows as lines of aligned columns."""
    cells = [("", "figure", "compared with", "ratio", "cpu", "target", "")]
    for row in rows:
        cpu = "" if row.cpu_ratio is None else f"{row.cpu_ratio:.3g}"
        told = f"{'met' if row.met else 'MISSED'}{', ' + row.note if row.note else ''}"
        target = f"{row.relation} {row.target:g}"
        cells.append((row.what, row.figure, row.against, f"{row.ratio:.3g}", cpu, target, told))
    widths = [max(len(line[column]) for line in cells) for column in range(7)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # so that `benchmarks` is a package
    main()
