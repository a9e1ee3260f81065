"""The content digest: what it is, what it depends on, and what it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from shipped import specs

from grucible import load_vectors
from grucible.cases.errors import VectorFileError
from grucible.vectors.digest import file_digest, published_digests, published_tolerances
from grucible.vectors.hdf5 import Folder, tree_of
from grucible.vectors.reader import open_vectors

from .conftest import CORE
from .damage import Spoil, attribute, delete, edit, flip_bit, move, put, stored_as, texts
from .handmade import (
    AMBIGUOUS,
    BIDIRECTIONAL,
    READING,
    REQUIRED,
    content_sha256,
    put_texts,
    sign,
    tolerance_sha256,
)

BLOCK, IDS = REQUIRED.path, REQUIRED.ids()
READINGS = f"{AMBIGUOUS.path}/readings"
LIMITS = f"{BLOCK}/tolerance/tf32"


def digests_of(path: Path) -> tuple[str, str]:
    """Digests of content and of tolerances, by grucible and by the tests' own reader: the same."""
    with h5py.File(path) as file:
        root = Folder(tree_of(file), "")
        found = [file_digest(root, name)[0] for name in ("content_sha256", "tolerance_sha256")]
    assert found == [content_sha256(path), tolerance_sha256(path)]
    return found[0], found[1]


def test_the_core_vectors_are_the_published_ones() -> None:
    lines = (CORE / "digests.txt").read_text(encoding="utf-8").splitlines()
    published, tolerances = published_digests(), published_tolerances()
    assert set(lines) == {f"{sha256}  {name}" for name, sha256 in published.items()}
    assert {len(sha256) for sha256 in published.values()} == {64}
    assert len(set(published.values())) == len(lines) == len(specs())
    files = {path.relative_to(CORE).as_posix(): path for path in CORE.rglob("*.h5")}
    shipped = [path for path in specs() if path.split("/")[-1].startswith(("core", "plain"))]
    assert set(files) == {f"{path}.h5" for path in shipped}
    for relative, path in files.items():
        found = open_vectors(path)
        said = found.content_sha256, found.tolerance_sha256
        assert said == digests_of(path) == (published[relative], tolerances[relative])


def reversed_copy(path: Path) -> None:
    """Write everything again, in the opposite order."""
    source = path.rename(path.with_suffix(".old"))
    with h5py.File(source) as old, h5py.File(path, "w", track_order=True) as new:
        new.attrs.update(old.attrs)
        found: list[str] = []
        old.visit(found.append)
        for name in reversed(found):
            node = new.get(name, None)
            if isinstance(old[name], h5py.Dataset):
                node = new.create_dataset(name, data=old[name][()])
            elif node is None:
                node = new.create_group(name, track_order=True)
            node.attrs.update(old[name].attrs)


def compressed(file: Any) -> None:
    values = file[f"{BLOCK}/inputs/W"][()]
    del file[f"{BLOCK}/inputs/W"]
    file.create_dataset(f"{BLOCK}/inputs/W", data=values, chunks=values.shape, compression="gzip")


def big_endian(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder(">"))


@pytest.mark.parametrize("change", [
    edit(lambda file: put_texts(file, f"{BLOCK}/probes", ["a", "b", "c"])),
    put("spec", np.frombuffer(b"about: something else\n", np.uint8)),
    attribute("/", "generator", "grucible 99"), attribute("/", "author", "someone"), attribute("/", "seed", 3),
    reversed_copy, edit(compressed), stored_as(f"{BLOCK}/inputs/sequence_lengths", big_endian),
    stored_as(f"{READINGS}/{READING}/outputs/Y", big_endian), stored_as(f"{BLOCK}/id", lambda array: array.astype("S200")),
])  # fmt: skip
def test_digest_does_not_depend_on(change: Spoil, handmade: Path) -> None:
    before = digests_of(handmade)
    change(handmade)
    assert digests_of(handmade) == before
    open_vectors(handmade).verify_content()


def refused(path: Path, name: str) -> None:
    with pytest.raises(VectorFileError, match=f"does not match its {name}"):
        open_vectors(path).verify_content()


def test_every_bit_counts_in_one_digest(handmade: Path) -> None:
    """A tolerance in its own, so that published answers stay what they are when bounds get better."""
    before = digests_of(handmade)
    names: list[str] = []
    with h5py.File(handmade) as file:
        file.visititems(lambda name, node: names.append(name) if hasattr(node, "shape") else None)
    assert len(names) > 40
    for name in set(names) - {"spec"}:
        flip_bit(name)(handmade)
        after, of_limit = digests_of(handmade), "/tolerance/" in name
        assert (after[0] == before[0], after[1] == before[1]) == (of_limit, not of_limit)
        refused(handmade, "tolerance_sha256" if of_limit else "content_sha256")
        flip_bit(name)(handmade)
    assert digests_of(handmade) == before


@pytest.mark.parametrize("change", [
    edit(lambda file: file.copy(LIMITS, f"{BLOCK}/tolerance/float8")),
    delete(LIMITS), delete(f"{READINGS}/{READING}/tolerance/float16-gemm"),
])  # fmt: skip
def test_classes_of_tolerances_are_the_same_content(change: Spoil, handmade: Path) -> None:
    before = digests_of(handmade)
    change(handmade)
    after = digests_of(handmade)
    assert (after[0] == before[0], after[1] == before[1]) == (True, False)
    refused(handmade, "tolerance_sha256")
    sign(handmade)
    open_vectors(handmade).verify_content()


def swap_rows(file: Any) -> None:
    """Cases of a block in another order: the same answers, other content."""
    names: list[str] = []
    file[BLOCK].visit(names.append)
    for data in [file[BLOCK][name] for name in names]:
        if isinstance(data, h5py.Dataset):
            data[...] = data[()][[1, 0, 2]]


def exchange(file: Any) -> None:
    file.move(f"{BLOCK}/inputs/W", "w")
    file.move(f"{BLOCK}/inputs/R", f"{BLOCK}/inputs/W")
    file.move("w", f"{BLOCK}/inputs/R")


CHANGED: dict[str, Callable[[Path], None]] = {
    "letters between ids": texts(f"{BLOCK}/id", [IDS[0] + "x", IDS[1][1:], IDS[2]]),
    "a shape, the bytes as they were": stored_as(f"{BLOCK}/inputs/X", lambda a: a.reshape(3, 2, 12)),
    "the mark of bfloat16": stored_as(f"{BIDIRECTIONAL.path}/inputs/X", lambda a: a.view("f2")),
    "a name": move(f"{BLOCK}/outputs/Ho", f"{BLOCK}/outputs/H"),
    "the name of a reading": move(f"{READINGS}/{READING}", f"{READINGS}/x"),
    "the name of a block": move(BLOCK, f"{BLOCK}x"),
    "two tensors exchanged": edit(exchange),
    "the order of rows": edit(swap_rows),
    "a block less": delete("float16"),
    "an input less": delete(f"{BLOCK}/inputs/B"),
    "a reading less": delete(READINGS),
    "an output more": put(f"{BLOCK}/outputs/Z", np.zeros((3, 1))),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED.keys())
def test_digest_depends_on(change: Spoil, handmade: Path) -> None:
    before = digests_of(handmade)
    change(handmade)
    assert digests_of(handmade)[0] != before[0]
    refused(handmade, "content_sha256")


@pytest.mark.parametrize("rows", [["a\nb", "c", "d"], ["a", "b\nc", "d"]])
def test_an_id_with_a_line_feed_is_refused(rows: list[str], handmade: Path) -> None:
    """The digest separates texts by line feeds, so both of these lists have the same one."""
    texts(f"{BLOCK}/id", rows)(handmade)
    sign(handmade)
    with pytest.raises(VectorFileError, match="/id"):
        list(load_vectors(handmade))


def test_readings_are_in_ascending_order_of_their_paths(handmade: Path) -> None:
    """`a.b/…` stands before `a/…`, as the description orders paths."""
    with h5py.File(handmade, "r+") as file:
        file.move(f"{READINGS}/{READING}", f"{READINGS}/a")
        file.copy(f"{READINGS}/a", f"{READINGS}/a.b")
        file[f"{READINGS}/a.b/outputs/Y"][...] = 2.0
        file[f"{READINGS}/a.b/tolerance/float16/Y"][...] = 2.0
    digests_of(handmade)
