"""Bombs: small inputs that would take gigabytes or minutes if what they claim were believed."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from robustness.measured import GRUCIBLE, Row, ended

from vectors import damage, handmade

SECONDS, MEGABYTES = 2.0, 500.0
"""What refusing may take. A busy machine takes longer: run this alone."""


def many_links(file: Any) -> None:
    """20,000 names of one block."""
    group = file[damage.BLOCK]
    for number in range(20_000):
        file[f"float32/{number:05}"] = group


def many_blocks(file: Any) -> None:
    """20,000 empty blocks."""
    for number in range(20_000):
        file.create_group(f"float32/{number:05}")


def wide_texts(file: Any) -> None:
    """Ids of 1 GiB in all."""
    where = f"{damage.BLOCK}/id"
    del file[where]
    file.create_dataset(where, (4,), "S268435456", chunks=(1,), compression=1)


def many_attributes(file: Any) -> None:
    """2,000 attributes of 30 KiB."""
    for number in range(2_000):
        file.attrs.create(f"x{number}", np.zeros(30 << 10, "u1"))
    del file.attrs["operator"]
    file.attrs.create("operator", np.zeros(30 << 10, "u1"))


def deep(file: Any) -> None:
    """Groups 4,000 deep."""
    group = file
    for _ in range(4_000):
        group = group.create_group("g")


def file_bombs() -> dict[str, Callable[[Path], None]]:
    """Ways to make a bomb of the handmade file."""
    return {
        "a row of 8 GiB, compressed": damage.replace(
            damage.X, damage.zeros_bomb(8 << 30, 1, rows=1)
        ),
        "three rows of 250 MiB": damage.replace(damage.X, damage.zeros_bomb(250 << 20, 1, rows=3)),
        "4 GiB, compressed thousandfold": damage.replace(damage.X, damage.zeros_bomb(4 << 30, 9)),
        "512 million ids": damage.replace(
            f"{damage.BLOCK}/id", damage.zeros_bomb(1 << 30, 1, "S2")
        ),
        "10^12 ids that are not there": damage.replace(
            f"{damage.BLOCK}/id", lambda file, at: file.create_dataset(at, (10**12,), "S9")
        ),
        "20,000 names of one block": damage.edit(many_links),
        "20,000 empty blocks": damage.edit(many_blocks),
        "ids of 1 GiB": damage.edit(wide_texts),
        "2,000 attributes of 30 KiB": damage.edit(many_attributes),
        "groups 4,000 deep": damage.edit(deep),
    }


def spec(
    cases: str, sizes: str = "batch_size: 1, input_size: 1, hidden_size: 1, seq_length: 1"
) -> str:
    """A case spec with these cases."""
    return (
        "operator: openvino.GRUSequence-5\nabout: a bomb\ndtypes: [float32]\n"
        f"sizes: {{{sizes}}}\ncases:\n{cases}"
    )


def _numbers(count: int) -> str:
    return "[" + ", ".join(map(str, range(1, count + 1))) + "]"


SPECS: dict[str, str] = {
    "a product of 10^8": spec(
        "  - product: {direction: [forward], "
        + ", ".join(f"{name}: {_numbers(100)}" for name in ("batch_size", "input_size", "hidden_size", "seq_length"))
        + "}\n",
        "{}".strip("{}"),
    ),
    "a covering of 30 values squared": spec(
        f"  - covering: {{batch_size: {_numbers(400)}, input_size: {_numbers(400)}, direction: [forward]}}\n",
        "hidden_size: 1, seq_length: 1",
    ),
    "a list of 100,000": spec("  - list: [" + ", ".join(["{direction: forward}"] * 100_000) + "]\n"),
    "a case of 4096^3": spec(
        "  - list: [{direction: forward}]\n",
        "batch_size: 4096, input_size: 4096, hidden_size: 4096, seq_length: 64",
    ),
    "an integer of a million digits": spec(f"  - list: [{{clip: {'9' * 1_000_000}}}]\n"),
    "lists 100,000 deep": "operator: " + "[" * 100_000,
    "maps 100,000 deep": "{a: " * 100_000,
    "a billion laughs": "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\n",
    "a text of 5 MB": "about: " + "x" * (5 << 20),
    "a key of a megabyte": "x" * (1 << 20) + ": 1\n",
    "200,000 duplicate keys": "a: 1\n" * 200_000,
    "4 MB of colons": ":" * (4 << 20),
    "4 MB of a: b": "a: b, " * 600_000,
}  # fmt: skip


def rows(folder: Path) -> Iterator[Row]:
    """A row for each bomb."""
    (folder / "none").mkdir()
    for what in file_bombs():
        path = folder / "bomb.h5"
        made = multiprocessing.get_context("spawn").Process(target=_make, args=(what, path))
        made.start()  # a process is charged with the memory of the one that started it
        made.join()
        size = path.stat().st_size >> 10
        commands: dict[str, list[str | Path]] = {
            "check": ["--outputs", folder / "none"],
            "show": [handmade.REQUIRED.ids()[0]],
            "score": [],
        }
        yield _row(
            f"{what} ({size:,} KiB)",
            [[*GRUCIBLE, verb, path, *more] for verb, more in commands.items()],
        )
    for what, text in SPECS.items():
        path = folder / "spec.yaml"
        path.write_text(text)
        verbs: list[list[str | Path]] = [
            ["cases", path],
            ["gen", path, "-o", folder / "out"],
            ["check", "--runtime", "x", "--expect", path],
        ]
        yield _row(f"{what} ({len(text) >> 10:,} KiB)", [[*GRUCIBLE, *verb] for verb in verbs])


def _make(what: str, path: Path) -> None:
    handmade.write_handmade(path)
    file_bombs()[what](path)


def _row(what: str, commands: list[list[str | Path]]) -> Row:
    row = Row(what)
    for command in commands:
        found = ended(command)
        verb = str(command[len(GRUCIBLE)])
        how = "refused" if found.one_line else f"{verb}: status {found.status}"
        row.see(how, found.seconds, found.megabytes)
        said = " ".join(found.err.split())[:200]
        if not found.one_line and found.status != 0:
            row.findings.append(f"{what}, {verb}: status {found.status}: {said}")
        if found.seconds > SECONDS or found.megabytes > MEGABYTES:
            row.findings.append(
                f"{what}, {verb}: {found.seconds:.1f} s, {found.megabytes:.0f} MB: {said}"
            )
    return row
