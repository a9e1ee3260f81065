"""Files made to exhaust memory, and mutants of good files, each in a process that may die of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import pytest

from .damage import BLOCK, X, replace, zeros_bomb
from .handmade import REQUIRED, fixed, put_texts

WORKER = Path(__file__).with_name("fuzz_worker.py")
MUTANTS = 100
FIRST = [0, MUTANTS]
"""The first mutants of two rows."""

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from grucible.__main__ import main
main(args=sys.argv[1:])
"""
# Compressed some 200-fold: 8 GiB in 40 MB, 1 GiB in 5 MB.
BOMBS: dict[str, Callable[[Path], None]] = {
    "a row of 8 GiB": replace(X, zeros_bomb(8 << 30, 1, rows=1)),
    "512 million ids": replace(f"{BLOCK}/id", zeros_bomb(1 << 30, 1, "S2")),
    "512 million attributes": replace(f"{BLOCK}/attributes", zeros_bomb(1 << 30, 1, "S2")),
}


@pytest.mark.rows(6)
@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS.keys())
@pytest.mark.parametrize("command", ["check", "show"])
def test_a_bomb_is_refused_in_3_gib(
    command: str, bomb: Callable[[Path], None], handmade: Path, tmp_path: Path
) -> None:
    bomb(handmade)
    assert handmade.stat().st_size < 50_000_000
    arguments = ["--outputs", str(tmp_path)] if command == "check" else [REQUIRED.ids()[0]]
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, command, str(handmade), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        timeout=20,
        check=False,
    )
    assert (ended.returncode, ended.stdout, len(ended.stderr.splitlines())) == (2, "", 1), ended
    assert ended.stderr.startswith(f"grucible: {handmade}")


def outcomes(kind: str, file: Path, vectors: Path, first: int) -> Iterator[tuple[int, str]]:
    """What came of each mutant; a mutant that ends the worker is told by how it ended."""
    seed, end = first, first + MUTANTS
    while seed < end:
        arguments = [kind, file, vectors, seed, end]
        worker = subprocess.run(
            [sys.executable, WORKER, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
        )
        for line in worker.stdout.splitlines():
            told, _, outcome = line.partition(" ")
            yield int(told), outcome
            seed = int(told) + 1
        if seed < end:
            yield seed, f"ended with {worker.returncode}: {worker.stderr[:1000]}"
            seed += 1


def check_outcomes(found: list[tuple[int, str]], first: int) -> None:
    assert [seed for seed, _ in found] == list(range(first, first + MUTANTS))
    good = {"ok", "refused"}
    assert {outcome for _, outcome in found} >= good
    assert [(seed, outcome) for seed, outcome in found if outcome not in good] == []


@pytest.mark.rows(2)
@pytest.mark.parametrize("first", FIRST)
def test_mutants_of_a_vector_file(first: int, handmade: Path, tmp_path: Path) -> None:
    (tmp_path / "no_outputs").mkdir()
    check_outcomes(list(outcomes("vectors", handmade, tmp_path / "no_outputs", first)), first)


def outputs_of(vectors: Path, path: Path) -> None:
    """Outputs that are the expected ones."""

    def copy(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset) and (name.endswith("/id") or "/outputs/" in name):
            old.copy(name, new, name)
            if name.endswith("/id"):
                put_texts(new, name.replace("/id", "/status"), ["ok"] * len(node))

    with h5py.File(vectors) as old, h5py.File(path, "w", libver=("earliest", "v110")) as new:
        new.attrs.update({"format": fixed("grucible outputs"), "format_version": 2})
        old.visititems(copy)


@pytest.mark.rows(2)
@pytest.mark.parametrize("first", FIRST)
def test_mutants_of_an_outputs_file(first: int, handmade: Path, tmp_path: Path) -> None:
    outputs_of(handmade, tmp_path / "outputs.h5")
    check_outcomes(list(outcomes("outputs", tmp_path / "outputs.h5", handmade, first)), first)
