"""Mutants of vector files and outputs files, by the thousand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
from robustness.measured import Row

from vectors import handmade

WORKER = Path(__file__).with_name("mutant_worker.py")
PART = 500
NUMBERS = {
    ("vectors", "bytes", "vectors"): 10_000,
    ("outputs", "bytes", "outputs"): 9_000,
    ("outputs", "bytes", "outputs written with plain h5py"): 2_000,
    ("vectors", "filters", "vectors, filtered"): 3_000,
    ("outputs", "filters", "outputs, filtered"): 3_000,
    ("vectors", "structure", "vectors"): 2_500,
    ("outputs", "structure", "outputs"): 1_000,
    ("outputs", "structure", "outputs written with plain h5py"): 500,
}


def rows(folder: Path, share: float = 1.0) -> Iterator[Row]:
    """A row for each kind of mutant; `share` of the NUMBERS."""
    vectors = folder / "handmade.h5"
    handmade.write_handmade(vectors)
    fixed, plain, none = folder / "outputs.h5", folder / "plain.h5", folder / "none"
    none.mkdir()
    write_outputs(vectors, fixed, plain=False)
    write_outputs(vectors, plain, plain=True)
    files = {what: vectors if kind == "vectors" else fixed for kind, _, what in NUMBERS}
    files["outputs written with plain h5py"] = plain
    for what in ("vectors, filtered", "outputs, filtered"):
        other = folder / f"{what}.h5"
        write_filtered(files[what], other)
        files[what] = other
    for (kind, how, what), count in NUMBERS.items():
        file = files[what]
        other = none if kind == "vectors" else vectors
        yield _row(kind, how, what, file, other, int(count * share))


def write_outputs(vectors: Path, path: Path, *, plain: bool) -> None:
    """Outputs that are the expected ones; `plain`: as h5py writes texts."""
    text: Any = str if plain else handmade.fixed

    def copy(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset) and (name.endswith("/id") or "/outputs/" in name):
            if "readings/" in name:
                return
            old.copy(name, new, name)
            if "dtype" in node.attrs:
                new[name].attrs["dtype"] = text("bfloat16")
            if name.endswith("/id"):
                handmade.put_texts(new, name.replace("/id", "/status"), ["ok"] * len(node))

    with h5py.File(vectors) as old, h5py.File(path, "w", libver=("earliest", "v110")) as new:
        new.attrs.update(
            {"format": text("grucible outputs"), "format_version": 2, "runtime": text("x")}
        )
        old.visititems(copy)


LAYOUTS: tuple[dict[str, Any], ...] = (
    {"compression": "gzip"},
    {"compression": "gzip", "shuffle": True, "fletcher32": True},
    {"compression": "lzf", "shuffle": True},
    {"fletcher32": True},
    {},
)
"""How the datasets of a filtered file are stored, one after the other."""


def write_filtered(path: Path, to: Path) -> None:
    """A file with the same in it, its datasets in chunks of up to two rows and with filters that are read."""
    count = 0

    def copy(name: str, node: Any) -> None:
        nonlocal count
        if isinstance(node, h5py.Dataset):
            chunks = (min(2, len(node)), *node.shape[1:])
            made = new.create_dataset(
                name,
                data=node[()],
                dtype=node.dtype,
                chunks=chunks,
                **LAYOUTS[count % len(LAYOUTS)],
            )
            count += 1
        else:
            made = new.require_group(name)
        _copy_attributes(node, made)

    with h5py.File(path) as old, h5py.File(to, "w", libver=("earliest", "v110")) as new:
        _copy_attributes(old, new)
        old.visititems(copy)


def _copy_attributes(node: Any, made: Any) -> None:
    for name, value in node.attrs.items():
        made.attrs.create(name, value, dtype=node.attrs.get_id(name).dtype)


def _row(kind: str, how: str, what: str, file: Path, vectors: Path, count: int) -> Row:
    row = Row(f"{how} of {what}")
    parts = [(start, min(start + PART, count)) for start in range(0, count, PART)]
    with ThreadPoolExecutor(2) as pool:
        for lines in pool.map(lambda part: _outcomes(kind, how, file, vectors, *part), parts):
            for seed, seconds, outcome in lines:
                if seed == "memory":
                    row.megabytes = max(row.megabytes, float(outcome))
                    continue
                row.see(outcome if outcome in ("ok", "refused") else "otherwise", seconds)
                if outcome not in ("ok", "refused"):
                    row.findings.append(f"{row.what} {seed}: {outcome}")
    return row


def _outcomes(
    kind: str, how: str, file: Path, vectors: Path, start: int, stop: int
) -> list[tuple[str, float, str]]:
    """What came of each mutant; one that ends the worker is told by how it ended."""
    found: list[tuple[str, float, str]] = []
    seed = start
    while seed < stop:
        arguments = [kind, how, file, vectors, seed, stop]
        worker = subprocess.run(
            [sys.executable, WORKER, *map(str, arguments)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        for line in worker.stdout.splitlines():
            told, seconds, outcome = (*line.split(" ", 2), "")[:3]
            if told == "memory":
                found.append((told, 0.0, seconds))
            else:
                found.append((told, float(seconds), outcome))
                seed = int(told) + 1
        if seed < stop:
            last = " ".join(worker.stderr.split())[-300:]
            found.append((str(seed), 0.0, f"ended with {worker.returncode}: {last}"))
            seed += 1
    return found
