"""The content digest: what it is, what it depends on, and what it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from grucible import load_vectors
from grucible.cases.errors import VectorFileError
from grucible.vectors.digest import file_digest, published_digests
from grucible.vectors.hdf5 import Folder, tree_of
from grucible.vectors.reader import open_vectors

from .conftest import CORE
from .damage import attribute, delete, edit, flip_bit, put, stored_as, texts
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

FOLDERS = ("bnnsgraph/gru", "onnx/gru", "openvino/gru_cell", "openvino/gru_sequence")
CORE_FILES = sorted(
    [f"{folder}/{name}.h5" for folder in FOLDERS for name in ("core", "plain", "plain_sizes")]
    + ["openvino/gru_sequence/core_with_zero.h5"]
)
BLOCK = REQUIRED.path
READ = f"{AMBIGUOUS.path}/readings/{READING}/outputs"


def digest_of(path: Path) -> str:
    with h5py.File(path) as file:
        return file_digest(Folder(tree_of(file), ""), "content_sha256")[0]


def text_of(file: Any, name: str) -> str:
    """A text attribute of the file, which is of fixed length."""
    return str(file.attrs[name], "utf-8")


def tolerance_digest_of(path: Path) -> str:
    with h5py.File(path) as file:
        return file_digest(Folder(tree_of(file), ""), "tolerance_sha256")[0]


def test_the_core_vectors_are_the_ones_tested() -> None:
    assert sorted(p.relative_to(CORE).as_posix() for p in CORE.rglob("*.h5")) == CORE_FILES


@pytest.mark.parametrize("relative", CORE_FILES)
def test_core_vectors_by_an_independent_reader(relative: str) -> None:
    path = CORE / relative
    computed = content_sha256(path)
    with h5py.File(path) as file:
        assert text_of(file, "content_sha256") == computed
    published = (CORE / "digests.txt").read_text(encoding="utf-8").splitlines()
    assert f"{computed}  {relative}" in published
    assert published_digests()[relative] == computed
    assert digest_of(path) == computed
    with h5py.File(path) as file:
        name = "tolerance_sha256"
        assert (
            text_of(file, name)
            == tolerance_sha256(path)
            == file_digest(Folder(tree_of(file), ""), name)[0]
        )


def test_published_digests_are_one_line_per_file() -> None:
    lines = (CORE / "digests.txt").read_text(encoding="utf-8").splitlines()
    assert set(lines) == {f"{sha256}  {name}" for name, sha256 in published_digests().items()}
    assert all(len(sha256) == 64 for sha256 in published_digests().values())
    assert len(set(published_digests().values())) == len(lines)


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
    "width of texts": edit(
        lambda f: (
            f.move(f"{BLOCK}/id", "was"),
            f.create_dataset(f"{BLOCK}/id", data=f["was"][()].astype("S200")),
            f.pop("was"),
        )
    ),
}


@pytest.mark.parametrize("change", UNCHANGED.values(), ids=UNCHANGED.keys())
def test_digest_does_not_depend_on(change: Callable[[Path], None], handmade: Path) -> None:
    before = digest_of(handmade), tolerance_digest_of(handmade)
    change(handmade)
    assert (digest_of(handmade), tolerance_digest_of(handmade)) == before
    with open_vectors(handmade) as vectors:
        vectors.verify_content()


LIMITS = f"{BLOCK}/tolerance/tf32"
LIMITS_READ = f"{AMBIGUOUS.path}/readings/{READING}/tolerance"
BETTER: dict[str, Callable[[Path], None]] = {
    "a bit": flip_bit(f"{LIMITS}/Y"),
    "a bit of a reading's": flip_bit(f"{LIMITS_READ}/float16/Ho"),
    "half of what they were": stored_as(f"{LIMITS}/Y", lambda array: array / 2),
    "two classes exchanged": edit(
        lambda file: (
            file.move(LIMITS, "tf32"),
            file.move(f"{BLOCK}/tolerance/bfloat16-gemm", LIMITS),
            file.move("tf32", f"{BLOCK}/tolerance/bfloat16-gemm"),
        )
    ),
    "another class": edit(lambda file: file.copy(LIMITS, f"{BLOCK}/tolerance/float8")),
    "a class less": delete(LIMITS),
    "a reading's class less": delete(f"{LIMITS_READ}/float16-gemm"),
}


@pytest.mark.parametrize("change", BETTER.values(), ids=BETTER.keys())
def test_better_tolerances_are_the_same_content(
    change: Callable[[Path], None], handmade: Path
) -> None:
    """A digest of their own covers them, so that published answers stay what they are."""
    before = digest_of(handmade), tolerance_digest_of(handmade)
    change(handmade)
    assert digest_of(handmade) == content_sha256(handmade) == before[0]
    assert tolerance_digest_of(handmade) == tolerance_sha256(handmade) != before[1]
    with (
        open_vectors(handmade) as vectors,
        pytest.raises(VectorFileError, match="does not match its tolerance_sha256"),
    ):
        vectors.verify_content()
    sign(handmade)
    with open_vectors(handmade) as vectors:
        vectors.verify_content()
        assert vectors.content_sha256 == before[0]


def swap_rows(path: Path) -> None:
    """Cases of a block in another order: the same answers, other content."""
    with h5py.File(path, "r+") as file:
        names: list[str] = []
        file[BLOCK].visit(names.append)
        for data in [file[BLOCK][name] for name in names]:
            if isinstance(data, h5py.Dataset):
                data[...] = data[()][[1, 0, 2]]


def id_to(rows: list[str]) -> Callable[[Path], None]:
    return texts(f"{BLOCK}/id", rows)


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
    "a letter of an id": id_to([IDS[0], IDS[1] + "x", IDS[2]]),
    "letters between ids": id_to([IDS[0] + "x", IDS[1][1:], IDS[2]]),
    "a number in the attributes": edit(
        lambda file: file[f"{BLOCK}/attributes"].__setitem__(
            0, file[f"{BLOCK}/attributes"][0].replace(b"0.5", b"0.6")
        )
    ),
    "a shape": stored_as(
        f"{BLOCK}/inputs/X", lambda array: array.swapaxes(1, 2).reshape(3, 3, 2, 4)
    ),
    "a shape, the bytes as they were": stored_as(
        f"{BLOCK}/inputs/X", lambda a: a.reshape(3, 2, 12)
    ),
    "a dtype, the bytes as they were": stored_as(f"{BLOCK}/inputs/X", lambda a: a.view(np.int32)),
    "the mark of bfloat16": stored_as(f"{BIDIRECTIONAL.path}/inputs/X", lambda a: a.view("f2")),
    "a name": edit(lambda file: file.move(f"{BLOCK}/outputs/Ho", f"{BLOCK}/outputs/H")),
    "the name of a reading": edit(
        lambda file: file.move(
            f"{AMBIGUOUS.path}/readings/{READING}", f"{AMBIGUOUS.path}/readings/x"
        )
    ),
    "the name of a block": edit(lambda file: file.move(BLOCK, f"{BLOCK}x")),
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
    before = digest_of(handmade)
    change(handmade)
    if change is not CHANGED["a dtype, the bytes as they were"]:
        assert digest_of(handmade) == content_sha256(handmade)
    assert digest_of(handmade) != before
    with (
        open_vectors(handmade) as vectors,
        pytest.raises(VectorFileError, match="does not match its content_sha256"),
    ):
        vectors.verify_content()


@pytest.mark.parametrize("rows", [["a\nb", "c", "d"], ["a", "b\nc", "d"]])
def test_an_id_with_a_line_feed_is_refused(rows: list[str], handmade: Path) -> None:
    """The digest separates texts by line feeds, so both of these lists have the same one."""
    id_to(rows)(handmade)
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
    assert digest_of(handmade) == content_sha256(handmade)
    assert tolerance_digest_of(handmade) == tolerance_sha256(handmade)
