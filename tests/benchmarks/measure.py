"""Measuring on a machine that others use too: interleaved pairs, medians, CPU time beside the clock.

A single timing on a shared machine says little. Two things that are compared are run in turns, the
figure is the median of each, and the ratio is the median of the turns' own ratios, so that what
slows down one turn slows down both its sides. CPU time is the cross-check.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal


@dataclass(frozen=True)
class Row:
    """One line of the table: a figure, what it is compared with, and the target of their ratio.

    `ratio` is measured by the clock (or in bytes), `cpu_ratio` in CPU time, None where there is none.
    """

    what: str
    figure: str
    against: str
    ratio: float
    relation: Literal["≤", "≥"]
    target: float
    cpu_ratio: float | None = None
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the ratio is within its target."""
        return self.ratio <= self.target if self.relation == "≤" else self.ratio >= self.target


@dataclass(frozen=True)
class Timed:
    """Seconds by the clock and of CPU that something took."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Pair:
    """What two things took, run in turns: the medians, and the medians of the turns' ratios."""

    first: Timed
    second: Timed
    wall_ratio: float
    cpu_ratio: float


def timed(function: Callable[[], object]) -> Timed:
    """What one call takes, in this process."""
    cpu, wall = time.process_time(), time.perf_counter()
    function()
    return Timed(time.perf_counter() - wall, time.process_time() - cpu)


def timed_command(*arguments: str) -> Timed:
    """What `python …` takes, from its start to its end, CPU time of its children included."""
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, os.times()
    spent = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return Timed(wall, spent)


def in_turns(first: Callable[[], Timed], second: Callable[[], Timed], rounds: int) -> Pair:
    """Run `first` and `second` in turns, `rounds` times, every other turn in the other order."""
    found: list[tuple[Timed, Timed]] = []
    for number in range(rounds):
        if number % 2:
            late = second()
            found.append((first(), late))
        else:
            found.append((first(), second()))
    return Pair(
        _middle([a for a, _ in found]),
        _middle([b for _, b in found]),
        median(a.wall / b.wall for a, b in found),
        median(a.cpu / max(b.cpu, 1e-9) for a, b in found),
    )


def _middle(found: Sequence[Timed]) -> Timed:
    return Timed(median(t.wall for t in found), median(t.cpu for t in found))


def seconds(value: float) -> str:
    """A time, readable."""
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"


def busy(duration: float = 0.5) -> float:
    """How many CPUs are busy now, while this process sleeps; 0 where that cannot be told."""
    before, start = _busy_seconds(), time.perf_counter()
    time.sleep(duration)
    return (_busy_seconds() - before) / (time.perf_counter() - start)


def _busy_seconds() -> float:
    """CPU seconds that all processes together have used since the machine started (Linux)."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _, _, irq, soft, *_ = map(int, stat.read_text().split()[1:10])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def wait_until_quiet(most: float = 0.15, patience: float = 120.0) -> float:
    """Wait until fewer than `most` CPUs are busy, or patience ends; returns how many were."""
    deadline = time.monotonic() + patience
    while (found := busy()) > most and time.monotonic() < deadline:
        time.sleep(1.0)
    return found


class Others:
    """How many CPUs everybody else used in the meantime, to tell a disturbed measurement."""

    def __init__(self) -> None:
        self._busy, self._own, self._start = _busy_seconds(), _own_seconds(), time.perf_counter()

    def cpus(self) -> float:
        """CPUs that processes other than this one and its finished children kept busy."""
        spent = (_busy_seconds() - self._busy) - (_own_seconds() - self._own)
        return max(0.0, spent / (time.perf_counter() - self._start))


def _own_seconds() -> float:
    return sum(os.times()[:4])


def undisturbed(run: Callable[[], Timed], most: float = 0.1, attempts: int = 4) -> Timed:
    """`run` on a quiet machine, again where others got busy meanwhile; the least disturbed one."""
    found: list[tuple[float, Timed]] = []
    while len(found) < attempts and (not found or found[-1][0] > most):
        wait_until_quiet()
        others = Others()
        taken = run()
        found.append((others.cpus(), taken))
    return min(found, key=lambda pair: pair[0])[1]
