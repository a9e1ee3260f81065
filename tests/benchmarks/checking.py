"""How long `grucible check --outputs` takes: against reading the files, and against a loop of cases."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from benchmarks.generation import generate
from benchmarks.measure import Others, Pair, Row, in_turns, seconds, timed, wait_until_quiet
from benchmarks.memory import megabytes
from benchmarks.synthetic import write_big_vectors, write_outputs, write_per_case
from judged import judge_outputs

from grucible.cases.specs.spec_file import SHIPPED

RTOL_ATOL = {"float16": (2e-3, 2e-3), "float32": (1e-4, 1e-5), "float64": (1e-10, 1e-12)}
"""Tolerances as people choose them, for the loop over cases."""

ATTRIBUTES = SHIPPED / "openvino" / "gru_sequence" / "attributes.yaml"


def check(vectors: Path, outputs: Path) -> None:
    """What `grucible check VECTORS --outputs OUTPUTS` does before it prints."""
    report = judge_outputs(vectors, outputs)
    assert report.verdict == "conforms", report.counts


def read_whole(vectors: Path, outputs: Path) -> float:
    """Read every dataset of both files, and take the differences of the outputs: no less will do."""
    expected, observed = _everything(vectors), _everything(outputs)
    return max(
        float(np.abs(array - expected[path]).max())
        for path, array in observed.items()
        if "/outputs/" in path
    )


def _everything(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def read(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset):
            found[name] = node[()]

    with h5py.File(path) as file:
        file.visititems(read)
    return found


def loop_over_cases(expected: Path, observed: Path) -> int:
    """The usual way: open a group, read, `assert_allclose`, next."""
    with h5py.File(expected) as left, h5py.File(observed) as right:
        for name, group in left.items():
            for output, data in group.items():
                array = data[()]
                np.testing.assert_allclose(
                    right[name][output][()], array, *RTOL_ATOL[array.dtype.name]
                )
        return len(left)


def _attributes(directory: Path) -> tuple[Path, Path]:
    generate((ATTRIBUTES,), directory)
    vectors = directory / "openvino" / "gru_sequence" / "attributes.h5"
    return vectors, write_outputs(vectors, directory / "outputs.h5")


def reading(directory: Path, rounds: int) -> list[Row]:
    """check against reading both files whole and one np.abs."""
    big = write_big_vectors(directory)
    rows = []
    for what, (vectors, outputs) in {
        "gru_sequence/attributes": _attributes(directory),
        "one file of big blocks": (big, write_outputs(big, directory / "big-outputs.h5")),
    }.items():
        pair, note = _compared(
            partial(check, vectors, outputs), partial(read_whole, vectors, outputs), rounds
        )
        size = megabytes(vectors.stat().st_size + outputs.stat().st_size)
        rows.append(
            Row(
                f"check, {what}",
                seconds(pair.first.wall),
                f"reading {size} and np.abs {seconds(pair.second.wall)}",
                pair.wall_ratio,
                "≤",
                2.0,
                pair.cpu_ratio,
                note,
            )
        )
    return rows


def per_case(directory: Path, rounds: int) -> list[Row]:
    """check against a loop of np.testing.assert_allclose over a file with a group per case."""
    vectors, outputs = _attributes(directory)
    expected, observed = write_per_case(vectors, outputs, directory)
    pair, note = _compared(
        partial(loop_over_cases, expected, observed), partial(check, vectors, outputs), rounds
    )
    return [
        Row(
            "check, gru_sequence/attributes",
            seconds(pair.second.wall),
            f"a group and assert_allclose per case {seconds(pair.first.wall)}",
            pair.wall_ratio,
            "≥",
            30.0,
            pair.cpu_ratio,
            note,
        )
    ]


def _compared(
    first: Callable[[], object], second: Callable[[], object], rounds: int
) -> tuple[Pair, str]:
    first(), second()
    wait_until_quiet()
    others = Others()
    pair = in_turns(lambda: timed(first), lambda: timed(second), rounds)
    return pair, f"others used {others.cpus():.1f} CPUs"
