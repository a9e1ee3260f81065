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
from .damage import HO, LIMITS, edit, flip_bit, put
from .handmade import AMBIGUOUS, READING, content_sha256, tolerance_sha256

READER = Path(__file__).with_name("reader.mjs")
CORE_FILES = sorted(CORE.rglob("core*.h5"))
READ = f"{AMBIGUOUS.path}/readings"


def node(*files: Path) -> subprocess.CompletedProcess[str]:
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed")
    command = [found, str(READER), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module", autouse=True)
def _reader() -> None:
    tried = node()
    if "ERR_MODULE_NOT_FOUND" in tried.stderr:
        pytest.skip("h5wasm is not installed; GRUCIBLE_NODE_MODULES names where it is")
    assert tried.returncode == 0, tried.stderr


def seen_by_node(*files: Path) -> list[dict[str, Any]]:
    ended = node(*files)
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_both_digests_of_every_core_file() -> None:
    published = published_digests()
    for path, seen in zip(CORE_FILES, seen_by_node(*CORE_FILES), strict=True):
        assert seen["computed"] == seen["stored"]
        assert seen["differ"] == [[], []]
        assert seen["computed"][0] == published[path.relative_to(CORE).as_posix()]


def test_ids_attributes_and_numbers_of_every_core_file() -> None:
    for path, seen in zip(CORE_FILES, seen_by_node(*CORE_FILES), strict=True):
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
            data = block["outputs"][first["output"]]
            assert first["shape"] == list(data.shape)
            values = data[()]
            if values.dtype == np.uint16:
                values = (values.astype(np.uint32) << 16).view(np.float32)
            assert first["numbers"] == values.astype(np.float64).ravel().tolist()


def two_readings(file: Any) -> None:
    """Another reading, of a name that stands before the first one's by bytes, and not by words."""
    file.copy(f"{READ}/{READING}", f"{READ}/{READING}-")


CHANGES = {
    "as it is": edit(lambda _: None),
    "an output": flip_bit(HO),
    "a tolerance": flip_bit(f"{LIMITS}/Y"),
    "another reading": edit(two_readings),
    "no readings": edit(lambda file: file.pop(READ)),
    "another spec": put("spec", np.zeros(3, np.uint8)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_digests_of_a_changed_file(change: str, handmade: Path) -> None:
    """Computed by node from the page, by h5py from the tests' own description: the same."""
    CHANGES[change](handmade)
    [seen] = seen_by_node(handmade)
    assert seen["computed"] == [content_sha256(handmade), tolerance_sha256(handmade)]
    same = [
        there == computed for there, computed in zip(seen["stored"], seen["computed"], strict=True)
    ]
    changed = {"an output": [False, True], "a tolerance": [True, False],
               "another reading": [False, False], "no readings": [False, False]}  # fmt: skip
    assert same == changed.get(change, [True, True])
    assert [not blocks for blocks in seen["differ"]] == same
