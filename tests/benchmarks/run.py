"""Print the figures that pages quote: `python tests/benchmarks/run.py [NAME]…`, on an idle machine.

Each figure is of one command: seconds by the clock, CPU seconds, and the largest resident size of a process.
The fastest of several runs counts where one takes less than a few seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# the size that a child reports counts the memory of the process that starts it: so a small one does
LAUNCHER = """\
import resource, subprocess, sys
ended = subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.DEVNULL)
if ended.returncode > 1:  # 1: the runtime does not conform
    raise SystemExit(ended.returncode)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""
GRUCIBLE = ("-m", "grucible")
COMMANDS: dict[str, tuple[int, tuple[str, ...]]] = {
    "import numpy": (9, ("-c", "import numpy")),
    "import grucible": (9, ("-c", "import grucible")),
    "grucible --help": (9, (*GRUCIBLE, "--help")),
    "grucible cases": (3, (*GRUCIBLE, "cases")),
    "gen --jobs 1": (1, (*GRUCIBLE, "gen", "-o", "{out}/one", "--jobs", "1")),
    "gen": (1, (*GRUCIBLE, "gen", "-o", "{out}/all", "--verify")),
    "check openvino": (1, (*GRUCIBLE, "check", "{out}/all", "--runtime", "openvino")),
}
"""By name: how often the command runs, and the arguments of Python; what is checked is made before."""


def measure(arguments: tuple[str, ...]) -> tuple[float, float, float]:
    """Run `python …`; return its seconds by the clock, its CPU seconds and its largest size in MB."""
    start = time.perf_counter()
    command = [sys.executable, "-S", "-c", LAUNCHER, *arguments]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    cpu, size = map(float, printed.split())
    return time.perf_counter() - start, cpu, size / 1e6


def main() -> None:
    """Measure the commands that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(COMMANDS)}")
    names = parser.parse_args().names or [*COMMANDS]
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f}")
    print(f"{'':20} {'seconds':>9} {'CPU s':>9} {'MB':>7}")
    with tempfile.TemporaryDirectory() as out:
        for name in names:
            times, arguments = COMMANDS[name]
            given = tuple(word.format(out=Path(out)) for word in arguments)
            wall, cpu, size = min(measure(given) for _ in range(times))
            print(f"{name:20} {wall:9.2f} {cpu:9.2f} {size:7.0f}")


if __name__ == "__main__":
    main()
