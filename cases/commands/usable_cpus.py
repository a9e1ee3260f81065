"""How many CPUs this process may use, which may be fewer than the machine has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def usable_cpus(root: Path = Path("/")) -> int:
    """The CPUs in the affinity mask, or as many as the cgroup's time amounts to where that is less.

    At least 1. `proc` and `sys` are looked for below `root`.
    """
    return max(1, min([_in_the_mask(), *(int(limit) for limit in _cgroup_limits(root))]))


def _in_the_mask() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cgroup_limits(root: Path) -> Iterator[float]:
    """The CPUs that each control group around this process is limited to, of version 2 and 1.

    A container may see its own group as the root, or under the name that the host gives it.
    """
    mounted = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        for group in (PurePosixPath(path), *PurePosixPath(path).parents):
            below = str(group).lstrip("/")
            if not controllers:
                yield from _limit(_text(mounted / below / "cpu.max"))
            elif "cpu" in controllers.split(","):
                for folder in (mounted / controllers / below, mounted / "cpu" / below):
                    quota, period = (
                        _text(folder / f"cpu.cfs_{name}_us") for name in ("quota", "period")
                    )
                    yield from _limit(f"{quota} {period}")


def _limit(text: str) -> Iterator[float]:
    """Of "quota period", in microseconds, their ratio; nothing where the quota is `max`, or -1."""
    try:
        quota, period = map(int, text.split())
    except ValueError:
        return
    if quota > 0 and period > 0:
        yield quota / period


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""
