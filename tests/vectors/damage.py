"""Ways to spoil the handmade vector file, each with what the error must say."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec

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
    sign,
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


class Damage(NamedTuple):
    """`spoil` spoils the file; the error names the file and matches `says` (a regular expression).

    `signed`: the digest is taken again afterwards, so that it cannot be what is complained about.
    """

    name: str
    says: str
    spoil: Spoil
    signed: bool = False

    def __call__(self, path: Path) -> None:
        self.spoil(path)
        if self.signed:
            sign(path)


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


def rows(says: str, **spoils: Spoil) -> list[Damage]:
    """Damages of which the error says the same."""
    return [Damage(name.replace("_", "-"), says, spoil) for name, spoil in spoils.items()]


def all_of(says: str, spoil: Callable[[Any], Spoil], *values: Any) -> list[Damage]:
    """Damages of one kind, by different values."""
    return [
        Damage(f"{says}-{number}", says, spoil(value)) for number, value in enumerate(values, 1)
    ]


NO_NUMBERS = [
    h5py.string_dtype(), h5py.vlen_dtype(np.float32), h5py.ref_dtype, [("re", "<f4"), ("im", "<f4")],
    np.dtype(("<f4", (2,))), "V4", "<c8", bool, "S4", h5py.enum_dtype({"A": 1}, "i4"),
]  # fmt: skip

# What the digests do not cover, or what is found before them.
PLAIN = [
    *rows("no such file", missing=Path.unlink),
    *all_of(
        "not an HDF5 file|damaged|is missing",
        lambda share: lambda path: path.write_bytes(path.read_bytes()[: int(share * 1e5)]),
        0, 0.001, 0.1, 0.3,
    ),
    *(
        damage
        for name in ("format", "format_version", "operator", "theme", "seed")
        for damage in all_of(
            f": (the )?{name} is .*", lambda value, name=name: attribute("/", name, value),
            None, "no/such", -1, [2, 2],
        )
    ),
    *rows("theme is 'invalid', that of questions", theme_invalid=attribute("/", "theme", "invalid")),
    *rows("", theme_other=attribute("/", "theme", "other"), operator_other=attribute("/", "operator", "onnx.GRU-14")),
    *all_of(": is not a group", lambda where: put(where, np.zeros(3)), "surprise", "float32/flat", f"{BLOCK}/inputs",
            f"{AMBIGUOUS.path}/readings", f"{BLOCK}/tolerance", LIMITS),
    *all_of(": is a link; expected the thing itself", lambda link: put(X, link),
            h5py.SoftLink(f"/{BLOCK}/inputs/B"), h5py.SoftLink("/nowhere"), h5py.ExternalLink("other.h5", "/X")),
    *rows(": is a link", block_link=put("float32/again", h5py.SoftLink(f"/{BLOCK}")),
          dtype_link=put("float64", h5py.SoftLink("/float32"))),
    *rows("has 2 names in the file; expected one",
          two_names=put(X, lambda file, at: file.__setitem__(at, file[f"{BLOCK}/inputs/W"]))),
    *all_of("/inputs/X: is damaged .*not hold an array", lambda made: put(X, made),
            external_storage, virtual, h5py.Empty("f4"), 1.5),
    *rows("/inputs/X: was not written as a whole", never_written=put(X, never_written)),
    *all_of("tier is .*; expected 'required' from the block's name",
            lambda value: attribute(BLOCK, "tier", value), None, "urgent", "nonportable", [1, 2]),
    *rows("tier is 'required'; expected 'amb", tier_lower=attribute(AMBIGUOUS.path, "tier", "required")),
    *all_of("has other sizes", lambda value: attribute(BLOCK, "batch_size", value), None, 0, 7, "2", [2, 2]),
    *all_of("/float32", lambda name: edit(lambda file: file.create_group(name)), b"float32/\xff\xfe", "float32/a\nb"),
    *all_of("X: is damaged|X is ", lambda dtype: put(X, empty(dtype=dtype)), *NO_NUMBERS),
    *rows("/id: is not UTF-8 text", ids_not_utf8=put(ID, np.array([b"\xff", b"a", b"b"]))),
    *all_of("/id: is not a list of texts", lambda ids: put(ID, ids), np.arange(3), np.array([[b"a"], [b"b"], [b"c"]])),
    *all_of(": is missing", delete, ID, f"{BLOCK}/attributes", f"{BLOCK}/inputs", f"{BLOCK}/outputs", f"{READ}/outputs",
            f"{BLOCK}/tolerance"),
    *rows("/inputs/X: is not a dataset", input_a_group=put(X, lambda file, at: file.create_group(at))),
    *all_of("claims to hold more than 512 MiB", lambda made: put(X, made),
            empty((10**4, 10**8)), zeros_bomb(16 << 20, 1, rows=48)),
    *all_of("expected at most 32,768", lambda made: put(X, made), empty((10**12,), chunks=(1000,)), zeros_bomb(4 << 30, 9)),
    *rows("expected at most 32,768", many_rows=put(ID, empty((10**12,), "S9"))),
    *rows("/inputs/X: has 1 rows; expected 3", huge_row=put(X, zeros_bomb(48 << 20, 1, rows=1))),
    *all_of(r"is damaged", lambda made: put(X, made), chunk_of(zlib.compress(bytes(288))[:-5], compression="gzip"),
            chunk_of(b"\x1fx", compression="lzf"), chunk_of(b"xyz", fletcher32=True)),
    *rows("/float32: holds 4097 things",
          many_names=edit(lambda file: [file["float32"].create_group(f"x{one}") for one in range(4096)])),
]  # fmt: skip

# What has the right digests: made so, and signed.
SIGNED = [damage._replace(signed=True) for damage in (
    *rows("dtype is not one of float32, float16", dtype_unknown=move("float16", "float8")),
    *all_of("forward-a: .* has shape .*; expected", lambda attributes: given(**attributes),
            {"hidden_size": 5}, {"direction": "bidirectional"}, {"linear_before_reset": True}),
    *rows("is float32; expected float64", float64=stored_as(X, lambda a: a.astype("f8"))),
    *all_of("both-a: ", lambda change: stored_as(f"{BIDIRECTIONAL.path}/inputs/X", change),
            lambda a: a.view("f2"), lambda a: a),
    *rows("a row has other dtype", inputs_float32=inputs_as(AMBIGUOUS.path, "f4")),
    *all_of("sequence_lengths is .*expected int64 or int32",
            lambda dtype: stored_as(LENGTHS, lambda a: a.astype(dtype)), "i2", "f4"),
    *all_of(f"expected 0 to {TIME}", lambda length: element(LENGTHS, 0, length), TIME + 1, -1),
    *rows(f"/forward-b: .*expected 0 to {TIME}", second_length=element(LENGTHS, BATCH, TIME + 1)),
    *rows("X has shape|W has shape", transposed=stored_as(X, lambda a: a.swapaxes(2, 3))),
    *rows("has .* rows; expected 3", flat=stored_as(X, np.ravel)),
    *all_of(r"is float\d+ \([\d, ]+\); expected float\d+ \(", lambda one: stored_as(*one),
            (HO, lambda a: a[:2]), (f"{READ}/outputs/Ho", lambda a: a[:, :, 0]), (f"{LIMITS}/Ho", lambda a: a[:, :, 0]),
            (f"{LIMITS}/Ho", lambda a: a[:-1]), (f"{LIMITS}/Ho", lambda a: a.astype("f8"))),
    *rows("/id: expected at least one id, and none twice", ids_twice=texts(ID, ["a", "b", "a"]),
          ids_none=put(ID, np.zeros((0,), "S1"))),
    *rows("has attributes for 3 cases, but 2 ids", ids_fewer=texts(ID, REQUIRED.ids()[:2])),
    *rows("is in another block already", ids_across_blocks=edit(lambda file: file.copy(BLOCK, f"{BLOCK}-again"))),
    *rows("/id: .* does not begin with", other_dtype=texts(f"{BIDIRECTIONAL.path}/id", REQUIRED.ids()[:2]),
          other_operator=texts(ID, [*REQUIRED.ids()[:2], "onnx.GRU-14/handmade/float32/a"])),
    *rows("/id: a text has a line feed", ids_newline=texts(ID, ["a\nTraceback", *REQUIRED.ids()[1:]])),
    *all_of("attributes of openvino.*/forward-a: ", given, "{clip}", '{"clip": NaN}', "[]", '{"hidden_size": 2}'),
    *all_of("attributes of openvino.*/forward-a: ", lambda attributes: given(**attributes), {"clip": 10**400},
            {"layout": 1}, {"hidden_size": None}, {"hidden_size": 1.5}, {"clip": 0}, {"clip": "1.0"}, {"clip": True},
            {"activations": ["tanh"] * 3}, {"activations": ["tanh", "Tanh"]}),
    *rows("texts of at most 65536 bytes", deep=given('{"clip":' + "[" * 100_000 + "]" * 100_000 + "}")),
    *all_of("is missing|other tensors", delete, f"{BLOCK}/inputs/W", HO, f"{READ}/outputs/Ho", f"{LIMITS}/Ho",
            f"{READ}/tolerance"),
    *all_of("has no input|has no output|other tensors", lambda where: put(where, np.zeros((3, 2), "f4")),
            f"{BLOCK}/inputs/Z", f"{BLOCK}/inputs/Y", f"{BLOCK}/outputs/Z", f"{LIMITS}/Z"),
    *rows("holds no block", nothing=edit(lambda file: [file.pop(d) for d in ("float32", "float16", "bfloat16")])),
    *rows("readings/paper: is not a reading that this version of grucible knows",
          reading_unknown=move(READ, f"{AMBIGUOUS.path}/readings/paper")),
    *all_of("/Y: a tolerance is negative, -0 or NaN", lambda value: element(f"{LIMITS}/Y", 0, value),
            -1e-30, float("nan"), float("-inf"), -0.0),
    *all_of("/Y: a tolerance is negative, -0 or NaN", lambda value: element(f"{LIMITS_READ}/Y", -1, value), -1.0),
)]  # fmt: skip

# What a digest alone can see.
FLIPS = [
    *all_of("does not match its content_sha256", flip_bit, X, LENGTHS, HO, f"{READ}/outputs/Y"),
    *all_of("does not match its tolerance_sha256", flip_bit, f"{LIMITS}/Y", f"{LIMITS_READ}/Y"),
    *(
        damage
        for name in ("content_sha256", "tolerance_sha256")
        for damage in all_of(
            f"does not match its {name}", lambda value, name=name: attribute("/", name, value),
            None, 7, "0" * 64, [7, 8],
        )
    ),
]  # fmt: skip
