"""How long `grucible --help` takes to start."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.measure import Others, Row, in_turns, seconds, timed_command, wait_until_quiet


def startup(directory: Path, rounds: int) -> list[Row]:  # noqa: ARG001
    """`python -m grucible --help` against `python -c 'import numpy'`."""
    wait_until_quiet()
    rows = []
    for what, *command in (
        ("grucible --help", "-m", "grucible", "--help"),
        ("grucible gen --help", "-m", "grucible", "gen", "--help"),
        ("import grucible", "-c", "import grucible"),
    ):
        others = Others()
        pair = in_turns(
            partial(timed_command, *command),
            partial(timed_command, "-c", "import numpy"),
            rounds,
        )
        rows.append(
            Row(
                what,
                seconds(pair.first.wall),
                f"import numpy {seconds(pair.second.wall)}",
                pair.wall_ratio,
                "≤",
                2.5,
                pair.cpu_ratio,
                f"others used {others.cpus():.1f} CPUs",
            )
        )
    return rows
