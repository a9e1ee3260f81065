"""Whether the memory of `grucible gen` grows with the number of cases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Row

SPEC = """\
operator: openvino.GRUSequence-5
about: one shape, as many cases as clip has values
dtypes: [float64]
sizes: {{batch_size: 2, seq_length: 3, input_size: {size}, hidden_size: {size}}}
cases:
  - product:
      activations: [[sigmoid, tanh], [tanh, relu]]
      clip: [{clips}]
      linear_before_reset: [false, true]
      direction: [forward, reverse]
      sequence_lengths: [full, ragged]
"""
PER_CLIP = 16

# ru_maxrss of a child counts the memory of the process that starts it, up to then: so a small one does
LAUNCHER = """\
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(*arguments: str) -> int:
    """The largest resident size, in bytes, of `python …` or any of its children."""
    command = [sys.executable, "-S", "-c", LAUNCHER, *arguments]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return int(told) * (1 if sys.platform == "darwin" else 1024)


def write_spec(file: Path, cases: int, size: int) -> None:
    """A case spec of `cases` cases of one shape."""
    clips = ", ".join(f"{1 + number / 1024}" for number in range(cases // PER_CLIP))
    file.write_text(SPEC.format(size=size, clips=clips), encoding="utf-8")


def memory(directory: Path, rounds: int) -> list[Row]:
    """Peak memory of gen with N and with 4N cases, of few large cases and of many small ones."""
    rows = []
    for what, count, size in (("large", 160, 80), ("small", 2048, 3)):
        for jobs in (1, 2):
            least: list[int] = []
            for cases in (count, 4 * count):
                spec = directory / f"{what}{cases}.yaml"
                write_spec(spec, cases, size)
                out = directory / f"{what}{cases}-{jobs}"
                command = ("-m", "grucible", "gen", str(spec), "-o", str(out), "--jobs", str(jobs))
                least.append(min(_fresh_peak(out, command) for _ in range(rounds)))
                stored = sum(file.stat().st_size for file in out.rglob("*.h5"))
            more = (least[1] - least[0]) / (3 * count)
            rows.append(
                Row(
                    f"memory, {4 * count} {what} cases, --jobs {jobs}",
                    megabytes(least[1]),
                    f"{count} cases {megabytes(least[0])}",
                    least[1] / least[0],
                    "≤",
                    1.1,
                    note=f"{more / 1e3:+.1f} kB a case, of {stored / 4 / count / 1e3:.0f} stored",
                )
            )
    return rows


def _fresh_peak(out: Path, command: tuple[str, ...]) -> int:
    for file in out.rglob("*.h5"):
        file.unlink()
    return peak_memory(*command)


def megabytes(count: int) -> str:
    """A size in bytes, readable."""
    return f"{count / 1e6:.1f} MB"
