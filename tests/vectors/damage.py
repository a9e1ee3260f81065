"""Ways to spoil the handmade vector file, each with what the error must say."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

import h5py
import numpy as np

from .handmade import (
    AMBIGUOUS,
    BATCH,
    BIDIRECTIONAL,
    HIDDEN,
    INPUT,
    READING,
    REQUIRED,
    TIME,
    fixed,
    put_texts,
)

BLOCK, READ = REQUIRED.path, f"{AMBIGUOUS.path}/readings/{READING}"
X, LENGTHS, HO, ID = (
    f"{BLOCK}/{name}" for name in ("inputs/X", "inputs/sequence_lengths", "outputs/Ho", "id")
)
LIMITS, LIMITS_READ = f"{BLOCK}/tolerance/tf32", f"{READ}/tolerance/float16"
SHAPE = (3, BATCH, TIME, INPUT)
CHUNK = 16 << 20

Spoil = Callable[[Path], None]
P = ParamSpec("P")


def spoiling(change: Callable[Concatenate[Any, P], object]) -> Callable[P, Spoil]:
    """Let `change(file, …)` of an open h5py.File become a spoil: `change(…)(path)`."""

    @functools.wraps(change)
    def make(*arguments: P.args, **options: P.kwargs) -> Spoil:
        def spoil(path: Path) -> None:
            with h5py.File(path, "r+") as file:
                change(file, *arguments, **options)

        return spoil

    return make


@spoiling
def edit(file: Any, change: Callable[[Any], object]) -> None:
    change(file)


@spoiling
def attribute(file: Any, where: str, name: str, value: Any) -> None:
    """Set an attribute; a text with a fixed length; None removes it."""
    if value is None:
        file[where].attrs.pop(name)
    else:
        file[where].attrs[name] = fixed(value) if isinstance(value, str) else value


@spoiling
def put(file: Any, where: str, value: Any) -> None:
    """Put an array, a link, or what `value(file, where)` makes, in place of what is at `where`, if anything."""
    if where in file or file.get(where, getlink=True):
        del file[where]
    if callable(value):
        value(file, where)
    else:
        file[where] = value


@spoiling
def delete(file: Any, where: str) -> None:
    del file[where]


@spoiling
def move(file: Any, where: str, to: str) -> None:
    file.move(where, to)


@spoiling
def stored_as(file: Any, where: str, change: Callable[[Any], Any]) -> None:
    """Replace the array at `where` by what `change` makes of it."""
    array = change(file[where][()])
    del file[where]
    file[where] = array


@spoiling
def inputs_as(file: Any, where: str, dtype: str) -> None:
    """Store all numbers of a block's inputs as another type."""
    group = file[f"{where}/inputs"]
    for name in [name for name, data in group.items() if data.dtype.kind == "f"]:
        array = group[name][()].astype(dtype)
        del group[name]
        group[name] = array


@spoiling
def element(file: Any, where: str, at: int, value: float) -> None:
    """Let an element of a dataset be `value`."""
    array = file[where][()]
    array.reshape(-1)[at] = value
    file[where][...] = array


@spoiling
def flip_bit(file: Any, where: str) -> None:
    """Flip the lowest bit of the first element of a dataset."""
    array = file[where][()]
    array.view(np.uint8).reshape(-1)[0] ^= 1
    file[where][...] = array


def texts(where: str, rows: list[str]) -> Spoil:
    return put(where, lambda file, at: put_texts(file, at, rows))


def given(text: str = "", **attributes: Any) -> Spoil:
    """Let the required block's first case have these attributes, or this text in place of them."""
    plain = {"direction": "forward", "hidden_size": HIDDEN}
    one = text or json.dumps(plain | attributes)
    return texts(f"{BLOCK}/attributes", [one, json.dumps(plain), json.dumps(plain)])


def external_storage(file: Any, where: str) -> None:
    secret = Path(file.filename).with_name("secret.raw")
    secret.write_bytes(bytes(4 * int(np.prod(SHAPE))))
    file.create_dataset(where, SHAPE, "<f4", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])


def virtual(file: Any, where: str) -> None:
    layout = h5py.VirtualLayout(SHAPE, "<f4")
    layout[:] = h5py.VirtualSource("source.hdf5", "X", SHAPE)
    file.create_virtual_dataset(where, layout)


def empty(
    shape: tuple[int, ...] = SHAPE, dtype: Any = "<f4", **layout: Any
) -> Callable[[Any, str], object]:
    """A dataset that claims `shape` and stores nothing."""
    return lambda file, where: file.create_dataset(where, shape, dtype, **layout)


def zeros_bomb(
    total: int, level: int, dtype: str = "<f4", rows: int = 0
) -> Callable[[Any, str], object]:
    """A dataset of `total` bytes of zeros, each chunk stored compressed: flat, or with `rows` rows."""

    def make(file: Any, where: str) -> None:
        flat = CHUNK // np.dtype(dtype).itemsize
        count = total // CHUNK * flat
        shape, chunks = ((rows, count), (1, flat)) if rows else ((count,), (flat,))
        data = file.create_dataset(where, shape, dtype, chunks=chunks, compression=level)
        stored = zlib.compress(bytes(CHUNK), level)
        for start in range(0, count, flat):
            for row in range(max(1, rows)):
                data.id.write_direct_chunk((row, start) if rows else (start,), stored)

    return make


def chunk_of(stored: bytes, **layout: Any) -> Callable[[Any, str], object]:
    """A dataset of X's shape, whose one chunk is stored as these bytes."""

    def make(file: Any, where: str) -> None:
        data = file.create_dataset(where, SHAPE, "<f4", chunks=SHAPE, **layout)
        data.id.write_direct_chunk((0, 0, 0, 0), stored)

    return make


def never_written(file: Any, where: str) -> None:
    """A dataset without a fill value, of which nothing is written: memory would be read."""
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    creation.set_chunk(SHAPE)
    space = h5py.h5s.create_simple(SHAPE)
    h5py.h5d.create(file.id, where.encode(), h5py.h5t.IEEE_F32LE, space, creation)


def resized(share: float) -> Spoil:
    def spoil(path: Path) -> None:
        path.write_bytes(path.read_bytes()[: int(share * 1e5)])

    return spoil


def many_groups(file: Any) -> None:
    for number in range(4096):
        file["float32"].create_group(f"x{number}")


NO_NUMBERS: list[Any] = [
    h5py.string_dtype(), h5py.vlen_dtype(np.float32), h5py.ref_dtype, [("re", "<f4"), ("im", "<f4")],
    np.dtype(("<f4", (2,))), "V4", "<c8", bool, "S4", h5py.enum_dtype({"A": 1}, "i4"),
]  # fmt: skip

PLAIN: dict[str, list[Spoil]] = {
    "no such file": [Path.unlink],
    "not an HDF5 file|damaged|is missing": [resized(share) for share in (0, 0.001, 0.1, 0.3)],
    **{
        f": (the )?{name} is ": [attribute("/", name, value) for value in (None, "no/such", -1, [2, 2])]
        for name in ("format", "format_version", "operator", "theme", "seed")
    },
    "theme is 'invalid', that of questions": [attribute("/", "theme", "invalid")],
    "": [attribute("/", "theme", "other"), attribute("/", "operator", "onnx.GRU-14")],
    ": is not a group": [
        put(where, np.zeros(3))
        for where in ("surprise", "float32/flat", f"{BLOCK}/inputs", f"{AMBIGUOUS.path}/readings",
                      f"{BLOCK}/tolerance", LIMITS)
    ],
    ": is a link; expected the thing itself": [
        put(X, h5py.SoftLink(f"/{BLOCK}/inputs/B")), put(X, h5py.SoftLink("/nowhere")),
        put(X, h5py.ExternalLink("other.h5", "/X")), put("float32/again", h5py.SoftLink(f"/{BLOCK}")),
        put("float64", h5py.SoftLink("/float32")),
    ],
    "has 2 names in the file; expected one": [put(X, lambda file, at: file.__setitem__(at, file[f"{BLOCK}/inputs/W"]))],
    "/inputs/X: is damaged .*not hold an array": [
        put(X, made) for made in (external_storage, virtual, h5py.Empty("f4"), 1.5)
    ],
    "/inputs/X: was not written as a whole": [put(X, never_written)],
    "tier is .*; expected 'required' from the block's name": [
        attribute(BLOCK, "tier", value) for value in (None, "urgent", "nonportable", [1, 2])
    ],
    "tier is 'required'; expected 'ambiguous'": [attribute(AMBIGUOUS.path, "tier", "required")],
    "has other sizes": [attribute(BLOCK, "batch_size", value) for value in (None, 0, 7, "2", [2, 2])],
    "/float32": [edit(lambda file, name=name: file.create_group(name)) for name in (b"float32/\xff", "float32/a\nb")],
    "X: is damaged|X is ": [put(X, empty(dtype=dtype)) for dtype in NO_NUMBERS],
    "/id: is not UTF-8 text": [put(ID, np.array([b"\xff", b"a", b"b"]))],
    "/id: is not a list of texts": [put(ID, np.arange(3)), put(ID, np.array([[b"a"], [b"b"], [b"c"]]))],
    ": is missing": [
        delete(where) for where in (ID, f"{BLOCK}/attributes", f"{BLOCK}/inputs", f"{BLOCK}/outputs",
                                    f"{READ}/outputs", f"{BLOCK}/tolerance")
    ],
    "/inputs/X: is not a dataset": [put(X, lambda file, at: file.create_group(at))],
    "claims to hold more than 512 MiB": [put(X, empty((10**4, 10**8))), put(X, zeros_bomb(16 << 20, 1, rows=48))],
    "expected at most 32,768": [
        put(X, empty((10**12,), chunks=(1000,))), put(X, zeros_bomb(4 << 30, 9)), put(ID, empty((10**12,), "S9")),
    ],
    "/inputs/X: has 1 rows; expected 3": [put(X, zeros_bomb(48 << 20, 1, rows=1))],
    "is damaged": [
        put(X, chunk_of(zlib.compress(bytes(288))[:-5], compression="gzip")),
        put(X, chunk_of(b"\x1fx", compression="lzf")), put(X, chunk_of(b"xyz", fletcher32=True)),
    ],
    "/float32: holds 4097 things": [edit(many_groups)],
}  # fmt: skip
"""Spoils that the digests do not cover, or that are found before them, by what the error says (a pattern)."""

SIGNED: dict[str, list[Spoil]] = {
    "dtype is not one of float32, float16": [move("float16", "float8")],
    "forward-a: .* has shape .*; expected": [
        given(hidden_size=5), given(direction="bidirectional"), given(linear_before_reset=True),
    ],
    "is float32; expected float64": [stored_as(X, lambda a: a.astype("f8"))],
    "both-a: ": [stored_as(f"{BIDIRECTIONAL.path}/inputs/X", change) for change in (lambda a: a.view("f2"), lambda a: a)],
    "a row has other dtype": [inputs_as(AMBIGUOUS.path, "f4")],
    "sequence_lengths is .*expected int64 or int32": [
        stored_as(LENGTHS, lambda a, dtype=dtype: a.astype(dtype)) for dtype in ("i2", "f4")
    ],
    f"/forward-a: .*expected 0 to {TIME}": [element(LENGTHS, 0, TIME + 1), element(LENGTHS, 0, -1)],
    f"/forward-b: .*expected 0 to {TIME}": [element(LENGTHS, BATCH, TIME + 1)],
    "X has shape|W has shape": [stored_as(X, lambda a: a.swapaxes(2, 3))],
    "has .* rows; expected 3": [stored_as(X, np.ravel)],
    r"is float\d+ \([\d, ]+\); expected float\d+ \(": [
        stored_as(HO, lambda a: a[:2]), stored_as(f"{READ}/outputs/Ho", lambda a: a[:, :, 0]),
        stored_as(f"{LIMITS}/Ho", lambda a: a[:, :, 0]), stored_as(f"{LIMITS}/Ho", lambda a: a[:-1]),
        stored_as(f"{LIMITS}/Ho", lambda a: a.astype("f8")),
    ],
    "/id: expected at least one id, and none twice": [texts(ID, ["a", "b", "a"]), put(ID, np.zeros((0,), "S1"))],
    "has attributes for 3 cases, but 2 ids": [texts(ID, REQUIRED.ids()[:2])],
    "is in another block already": [edit(lambda file: file.copy(BLOCK, f"{BLOCK}-again"))],
    "/id: .* does not begin with": [
        texts(f"{BIDIRECTIONAL.path}/id", REQUIRED.ids()[:2]),
        texts(ID, [*REQUIRED.ids()[:2], "onnx.GRU-14/handmade/float32/a"]),
    ],
    "/id: a text has a line feed": [texts(ID, ["a\nTraceback", *REQUIRED.ids()[1:]])],
    "attributes of openvino.*/forward-a: ": [
        given("{clip}"), given('{"clip": NaN}'), given("[]"), given('{"hidden_size": 2}'), given(clip=10**400),
        given(layout=1), given(hidden_size=None), given(hidden_size=1.5), given(clip=0), given(clip="1.0"),
        given(clip=True), given(activations=["tanh"] * 3), given(activations=["tanh", "Tanh"]),
    ],
    "texts of at most 65536 bytes": [given('{"clip":' + "[" * 100_000 + "]" * 100_000 + "}")],
    "is missing|other tensors": [
        delete(where) for where in (f"{BLOCK}/inputs/W", HO, f"{READ}/outputs/Ho", f"{LIMITS}/Ho", f"{READ}/tolerance")
    ],
    "has no input|has no output|other tensors": [
        put(where, np.zeros((3, 2), "f4"))
        for where in (f"{BLOCK}/inputs/Z", f"{BLOCK}/inputs/Y", f"{BLOCK}/outputs/Z", f"{LIMITS}/Z")
    ],
    "holds no block": [edit(lambda file: [file.pop(name) for name in ("float32", "float16", "bfloat16")])],
    "readings/paper: is not a reading that this version of grucible knows": [
        move(READ, f"{AMBIGUOUS.path}/readings/paper"),
    ],
    "/Y: a tolerance is negative, -0 or NaN": [
        *(element(f"{LIMITS}/Y", 0, value) for value in (-1e-30, float("nan"), float("-inf"), -0.0)),
        element(f"{LIMITS_READ}/Y", -1, -1.0),
    ],
}  # fmt: skip
"""Spoils of files that are signed again afterwards, so that the digests cannot be what is complained about."""

FLIPS: dict[str, list[Spoil]] = {
    "does not match its content_sha256": [flip_bit(where) for where in (X, LENGTHS, HO, f"{READ}/outputs/Y")],
    "does not match its tolerance_sha256": [flip_bit(f"{LIMITS}/Y"), flip_bit(f"{LIMITS_READ}/Y")],
    **{
        f"what it holds does not match its {name}": [
            attribute("/", name, value) for value in (None, 7, "0" * 64, [7, 8])
        ]
        for name in ("content_sha256", "tolerance_sha256")
    },
}  # fmt: skip
"""Spoils that a digest alone can see."""
