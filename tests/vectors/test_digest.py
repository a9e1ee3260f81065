"""The content digest: what it is, what it depends on, and what it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from grucible import load_vectors
from grucible.cases.errors import VectorFileError
from grucible.vectors.digest import file_digest, published_digests, published_tolerances
from grucible.vectors.hdf5 import Folder, tree_of
from grucible.vectors.reader import open_vectors

from .conftest import CORE
from .damage import attribute, delete, edit, flip_bit, move, put, stored_as, texts
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

BLOCK = REQUIRED.path
READ = f"{AMBIGUOUS.path}/readings/{READING}/outputs"


def digests_of(path: Path) -> tuple[str, str]:
    """Digests of content and of tolerances, by grucible and by the tests' own reader: the same."""
    with h5py.File(path) as file:
        root = Folder(tree_of(file), "")
        found = [file_digest(root, name)[0] for name in ("content_sha256", "tolerance_sha256")]
    assert found == [content_sha256(path), tolerance_sha256(path)]
    return found[0], found[1]


def test_the_core_vectors_are_the_published_ones() -> None:
    lines = (CORE / "digests.txt").read_text(encoding="utf-8").splitlines()
    published = published_digests()
    assert set(lines) == {f"{sha256}  {name}" for name, sha256 in published.items()}
    assert {len(sha256) for sha256 in published.values()} == {64}
    assert len(set(published.values())) == len(lines) == 63
    files = {path.relative_to(CORE).as_posix(): path for path in CORE.rglob("*.h5")}
    assert len(files) == 13
    for relative, path in files.items():
        found = digests_of(path)
        assert published[relative] == found[0]
        assert published_tolerances()[relative] == found[1]
        with h5py.File(path) as file:
            stored = [file.attrs[name] for name in ("content_sha256", "tolerance_sha256")]
        assert stored == [digest.encode() for digest in found]


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


def compressed(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        for name in [f"{BLOCK}/inputs/W", f"{BLOCK}/outputs/Y"]:
            values = file[name][()]
            del file[name]
            file.create_dataset(name, data=values, chunks=values.shape, compression="gzip")


def big_endian(path: Path) -> None:
    with h5py.File(path, "r+") as file:
        for name in [f"{BLOCK}/inputs/X", f"{BLOCK}/inputs/sequence_lengths", f"{READ}/Y"]:
            values = file[name][()]
            del file[name]
            file[name] = values.astype(values.dtype.newbyteorder(">"))


def other_names_of_provenance(path: Path) -> None:
    for name, value in {
        "generator": "grucible 99",
        "seed": 3,
        "made_from": "another machine",
        "author": "someone",
    }.items():
        attribute("/", name, value)(path)


UNCHANGED: dict[str, Callable[[Path], None]] = {
    "probes": edit(lambda file: put_texts(file, f"{BLOCK}/probes", ["a", "b", "c"])),
    "spec": put("spec", np.frombuffer(b"about: something else\n", np.uint8)),
    "provenance": other_names_of_provenance,
    "order of creation": reversed_copy,
    "compression": compressed,
    "byte order": big_endian,
    "width of texts": stored_as(f"{BLOCK}/id", lambda array: array.astype("S200")),
}


@pytest.mark.parametrize("change", UNCHANGED.values(), ids=UNCHANGED.keys())
def test_digest_does_not_depend_on(change: Callable[[Path], None], handmade: Path) -> None:
    before = digests_of(handmade)
    change(handmade)
    assert digests_of(handmade) == before
    open_vectors(handmade).verify_content()


LIMITS = f"{BLOCK}/tolerance/tf32"
LIMITS_READ = f"{AMBIGUOUS.path}/readings/{READING}/tolerance"
BETTER: dict[str, Callable[[Path], None]] = {
    "a bit": flip_bit(f"{LIMITS}/Y"),
    "a bit of a reading's": flip_bit(f"{LIMITS_READ}/float16/Ho"),
    "half of what they were": stored_as(f"{LIMITS}/Y", lambda array: array / 2),
    "another class": edit(lambda file: file.copy(LIMITS, f"{BLOCK}/tolerance/float8")),
    "a class less": delete(LIMITS),
    "a reading's class less": delete(f"{LIMITS_READ}/float16-gemm"),
}


@pytest.mark.parametrize("change", BETTER.values(), ids=BETTER.keys())
def test_better_tolerances_are_the_same_content(
    change: Callable[[Path], None], handmade: Path
) -> None:
    """A digest of their own covers them, so that published answers stay what they are."""
    before = digests_of(handmade)
    change(handmade)
    after = digests_of(handmade)
    assert after[0] == before[0]
    assert after[1] != before[1]
    with pytest.raises(VectorFileError, match="does not match its tolerance_sha256"):
        open_vectors(handmade).verify_content()
    sign(handmade)
    again = open_vectors(handmade)
    again.verify_content()
    assert again.content_sha256 == before[0]


def swap_rows(path: Path) -> None:
    """Cases of a block in another order: the same answers, other content."""
    with h5py.File(path, "r+") as file:
        names: list[str] = []
        file[BLOCK].visit(names.append)
        for data in [file[BLOCK][name] for name in names]:
            if isinstance(data, h5py.Dataset):
                data[...] = data[()][[1, 0, 2]]


IDS = REQUIRED.ids()
CHANGED: dict[str, Callable[[Path], None]] = {
    **{
        f"a bit of {where}": flip_bit(where)
        for where in (
            *(f"{BLOCK}/inputs/{n}" for n in ("X", "W", "R", "B", "initial_hidden_state")),
            f"{BLOCK}/inputs/sequence_lengths",
            f"{BLOCK}/outputs/Y",
            f"{BLOCK}/outputs/Ho",
            f"{BIDIRECTIONAL.path}/outputs/Y",
            f"{READ}/Y",
            f"{READ}/Ho",
            f"{AMBIGUOUS.path}/outputs/Ho",
        )
    },
    "a letter of an id": texts(f"{BLOCK}/id", [IDS[0], IDS[1] + "x", IDS[2]]),
    "letters between ids": texts(f"{BLOCK}/id", [IDS[0] + "x", IDS[1][1:], IDS[2]]),
    "a number in the attributes": stored_as(
        f"{BLOCK}/attributes", lambda a: np.array([t.replace(b"0.5", b"0.6") for t in a.tolist()])
    ),
    "a shape, the bytes as they were": stored_as(
        f"{BLOCK}/inputs/X", lambda a: a.reshape(3, 2, 12)
    ),
    "the mark of bfloat16": stored_as(f"{BIDIRECTIONAL.path}/inputs/X", lambda a: a.view("f2")),
    "a name": move(f"{BLOCK}/outputs/Ho", f"{BLOCK}/outputs/H"),
    "the name of a reading": move(
        f"{AMBIGUOUS.path}/readings/{READING}", f"{AMBIGUOUS.path}/readings/x"
    ),
    "the name of a block": move(BLOCK, f"{BLOCK}x"),
    "two tensors exchanged": edit(
        lambda file: (
            file.move(f"{BLOCK}/inputs/W", "w"),
            file.move(f"{BLOCK}/inputs/R", f"{BLOCK}/inputs/W"),
            file.move("w", f"{BLOCK}/inputs/R"),
        )
    ),
    "the order of rows": swap_rows,
    "a block less": delete("float16"),
    "an input less": delete(f"{BLOCK}/inputs/B"),
    "a reading less": delete(f"{AMBIGUOUS.path}/readings"),
    "an output more": put(f"{BLOCK}/outputs/Z", np.zeros((3, 1))),
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED.keys())
def test_digest_depends_on(change: Callable[[Path], None], handmade: Path) -> None:
    before = digests_of(handmade)
    change(handmade)
    assert digests_of(handmade)[0] != before[0]
    with pytest.raises(VectorFileError, match="does not match its content_sha256"):
        open_vectors(handmade).verify_content()


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
        readings = file[f"{AMBIGUOUS.path}/readings"]
        readings.move(READING, "a")
        readings.copy("a", "a.b")
        readings["a.b/outputs/Y"][...] = 2.0
        readings["a.b/tolerance/float16/Y"][...] = 2.0
    digests_of(handmade)
