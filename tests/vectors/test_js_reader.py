"""A reader in JavaScript, written from FORMAT.md alone, finds in every core file what is there.

It runs where node and h5wasm are (npm install h5wasm; GRUCIBLE_NODE_MODULES names the folder node_modules).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from grucible.vectors.digest import published_digests

from .conftest import CORE
from .damage import HO, LIMITS, Spoil, edit, flip_bit
from .handmade import AMBIGUOUS, READING, content_sha256, tolerance_sha256

READER = Path(__file__).with_name("reader.mjs")
READ = f"{AMBIGUOUS.path}/readings"


def seen_by_node(*files: Path) -> list[dict[str, Any]]:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    command = [found, str(READER), *map(str, files)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if "ERR_MODULE_NOT_FOUND" in ended.stderr:
        pytest.skip("h5wasm is not installed; GRUCIBLE_NODE_MODULES names where it is")
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_every_core_file() -> None:
    files, published = sorted(CORE.rglob("core*.h5")), published_digests()
    for path, seen in zip(files, seen_by_node(*files), strict=True):
        assert seen["computed"] == seen["stored"]
        assert seen["differ"] == [[], []]
        assert seen["computed"][0] == published[path.relative_to(CORE).as_posix()]
        with h5py.File(path) as file:
            ids = [
                raw.decode() for block in seen["blocks"] for raw in file[f"{block}/id"][()].tolist()
            ]
            assert (seen["ids"], seen["theme"]) == (ids, path.stem)
            first = seen["first"]
            block = file[first["block"]]
            assert first["id"] == block["id"][0].decode()
            assert first["attributes"] == json.loads(block["attributes"][0])
            assert first["tier"] == block.attrs["tier"].decode()
            values = block["outputs"][first["output"]][()]
            assert first["shape"] == list(values.shape)
            if values.dtype == np.uint16:
                values = (values.astype(np.uint32) << 16).view(np.float32)
            assert first["numbers"] == values.astype(np.float64).ravel().tolist()


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (edit(lambda _: None), [True, True]),
        (flip_bit(HO), [False, True]),
        (flip_bit(f"{LIMITS}/Y"), [True, False]),
        # a name that stands before the first reading's by bytes, and not by words
        (edit(lambda file: file.copy(f"{READ}/{READING}", f"{READ}/{READING}-")), [False, False]),
    ],
)
def test_digests_of_a_changed_file(change: Spoil, same: list[bool], handmade: Path) -> None:
    """Computed by node from the page, by h5py from the tests' own description: the same."""
    change(handmade)
    [seen] = seen_by_node(handmade)
    assert seen["computed"] == [content_sha256(handmade), tolerance_sha256(handmade)]
    both = zip(seen["stored"], seen["computed"], strict=True)
    assert [stored == computed for stored, computed in both] == same
    assert [not blocks for blocks in seen["differ"]] == same
