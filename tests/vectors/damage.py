"""Ways to spoil the handmade vector file, each with what the error must say."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

BLOCK = REQUIRED.path
X, LENGTHS, HO = (
    f"{BLOCK}/{name}" for name in ("inputs/X", "inputs/sequence_lengths", "outputs/Ho")
)
LIMITS = f"{BLOCK}/tolerance/tf32"
LIMITS_READ = f"{AMBIGUOUS.path}/readings/{READING}/tolerance/float16"
CHUNK = 16 << 20
NO_TOLERANCES = (-1e-30, float("nan"), float("-inf"), -0.0)


@dataclass(frozen=True)
class Damage:
    """`spoil` spoils the file; the error names the file and matches `says` (a regular expression).

    `signed`: the digest is taken again afterwards, so that it cannot be what is complained about.
    """

    name: str
    says: str
    spoil: Callable[[Path], None]
    signed: bool = False

    def __call__(self, path: Path) -> None:
        self.spoil(path)
        if self.signed:
            sign(path)


def edit(change: Callable[[Any], object]) -> Callable[[Path], None]:
    """Spoil the file by changing it as an open h5py.File."""

    def spoil(path: Path) -> None:
        with h5py.File(path, "r+") as file:
            change(file)

    return spoil


def rewrite(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Spoil the file as bytes."""

    def spoil(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    return spoil


def attribute(where: str, name: str, value: Any) -> Callable[[Path], None]:
    """Set an attribute; a text with a fixed length, a list of texts as h5py writes it."""

    def change(file: Any) -> None:
        file[where].attrs[name] = fixed(value) if isinstance(value, str) else value

    return edit(change)


def no_attribute(where: str, name: str) -> Callable[[Path], None]:
    def change(file: Any) -> None:
        del file[where].attrs[name]

    return edit(change)


def replace(where: str, make: Callable[[Any, str], object]) -> Callable[[Path], None]:
    """Delete what is at `where`, and have `make(file, where)` put something else there."""

    def change(file: Any) -> None:
        del file[where]
        make(file, where)

    return edit(change)


def put_link(where: str, other: str) -> Callable[[Path], None]:
    """Have `where` be another name of what is at `other`."""

    def change(file: Any) -> None:
        del file[where]
        file[where] = file[other]

    return edit(change)


def put(where: str, value: Any) -> Callable[[Path], None]:
    """Put a group entry (array, or a link) in place of what is at `where`, if anything."""

    def change(file: Any) -> None:
        if where in file:
            del file[where]
        file[where] = value

    return edit(change)


def delete(where: str) -> Callable[[Path], None]:
    def change(file: Any) -> None:
        del file[where]

    return edit(change)


def stored_as(where: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Replace the array at `where` by what `change` makes of it."""

    def spoil(file: Any) -> None:
        array = change(file[where][()])
        del file[where]
        file[where] = array

    return edit(spoil)


def texts(where: str, rows: Iterable[str]) -> Callable[[Path], None]:
    return replace(where, lambda file, at: put_texts(file, at, list(rows)))


def given(text: str) -> Callable[[Path], None]:
    """Let the required block's first case have these attributes, written out as JSON."""
    plain = json.dumps({"direction": "forward", "hidden_size": HIDDEN})
    return texts(f"{BLOCK}/attributes", [text, plain, plain])


def given_with(**attributes: Any) -> Callable[[Path], None]:
    return given(json.dumps({"direction": "forward", "hidden_size": HIDDEN} | attributes))


def external_link(file: Any, where: str) -> None:
    """A link to the same tensor in another vector file, a sound one."""
    beside = Path(file.filename).with_name("beside.hdf5")
    with h5py.File(beside, "w") as other:
        other["X"] = np.zeros((3, BATCH, TIME, INPUT), np.float32)
    file[where] = h5py.ExternalLink(beside.name, "/X")


def external_storage(file: Any, where: str) -> None:
    shape = (3, BATCH, TIME, INPUT)
    secret = Path(file.filename).with_name("secret.raw")
    secret.write_bytes(bytes(4 * int(np.prod(shape))))
    file.create_dataset(where, shape, "<f4", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])


def virtual(file: Any, where: str) -> None:
    shape = (3, BATCH, TIME, INPUT)
    with h5py.File(Path(file.filename).with_name("source.hdf5"), "w") as other:
        other["X"] = np.zeros(shape, np.float32)
    layout = h5py.VirtualLayout(shape, "<f4")
    layout[:] = h5py.VirtualSource("source.hdf5", "X", shape)
    file.create_virtual_dataset(where, layout)


def typed(dtype: Any) -> Callable[[Any, str], object]:
    """A dataset of X's shape and another type."""
    return lambda file, where: file.create_dataset(where, (3, BATCH, TIME, INPUT), dtype)


def unallocated(shape: tuple[int, ...], **layout: Any) -> Callable[[Any, str], object]:
    """A dataset that claims `shape` and stores nothing."""
    return lambda file, where: file.create_dataset(where, shape, "<f4", **layout)


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
        shape = (3, BATCH, TIME, INPUT)
        data = file.create_dataset(where, shape, "<f4", chunks=shape, **layout)
        data.id.write_direct_chunk((0, 0, 0, 0), stored)

    return make


def many_groups(file: Any) -> None:
    """One more than there may be in a group."""
    for number in range(4097 - len(file["float32"])):
        file["float32"].create_group(f"x{number}")


def flip_bit(where: str) -> Callable[[Path], None]:
    """Flip the lowest bit of the first element of a dataset."""

    def spoil(file: Any) -> None:
        array = file[where][()]
        array.view(np.uint8).reshape(-1)[0] ^= 1
        file[where][...] = array

    return edit(spoil)


def element(where: str, at: int, value: float) -> Callable[[Path], None]:
    """Let an element of a dataset be `value`."""

    def spoil(file: Any) -> None:
        array = file[where][()]
        array.reshape(-1)[at] = value
        file[where][...] = array

    return edit(spoil)


def _deep_attributes() -> str:
    return '{"clip":' + "[" * 100_000 + "]" * 100_000 + "}"


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _truncated(share: float) -> Callable[[Path], None]:
    return rewrite(lambda raw: raw[: int(len(raw) * share)])


def _newline_ids(path: Path) -> None:
    rows = ["a\nTraceback (most recent call last):", *REQUIRED.ids()[1:]]
    texts(f"{BLOCK}/id", rows)(path)
    given_with(clip=0.0)(path)


DAMAGES = [
    # not the file it should be
    Damage("missing", "no such file", Path.unlink),
    Damage("empty", "not an HDF5 file; expected grucible vectors", lambda path: _write(path, b"")),
    Damage("not-hdf5", "not an HDF5 file", lambda path: _write(path, b"PK\3\4" * 999)),
    *(
        Damage(f"truncated-{share:g}", "truncated|not an HDF5 file|damaged|is missing", _truncated(share))
        for share in (0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
    ),
    Damage("truncated-by-1", "truncated", rewrite(lambda raw: raw[:-1])),
    Damage("format-other", "format is 'grucible outputs'; expected 'grucible vectors'",
           attribute("/", "format", "grucible outputs")),
    Damage("format-absent", "format is None; expected", no_attribute("/", "format")),
    Damage("format-a-number", "format is 7; expected", attribute("/", "format", 7)),
    Damage("version-1", "format_version is 1; .*reads 2; make the file again with: grucible gen",
           attribute("/", "format_version", 1)),
    Damage("version-3", "format_version is 3; .*reads 2", attribute("/", "format_version", 3)),
    Damage("version-absent", "format_version is None", no_attribute("/", "format_version")),
    Damage("version-array", "format_version", attribute("/", "format_version", [2, 2])),
    Damage("operator-unknown", "operator is 'onnx.LSTM-14'; expected one of openvino.GRUCell-3",
           attribute("/", "operator", "onnx.LSTM-14")),
    Damage("theme-absent", "theme is None; expected a name", no_attribute("/", "theme")),
    Damage("theme-empty", "theme is ''; expected a name", attribute("/", "theme", "\0")),
    Damage("theme-slash", "theme is 'a/b'; expected a name", attribute("/", "theme", "a/b")),
    Damage("theme-invalid", "the theme is 'invalid', that of questions without answers; expected another",
           attribute("/", "theme", "invalid")),
    Damage("theme-other", r"/id: '.*/handmade/.*' does not begin with openvino.GRUSequence-5/other/",
           attribute("/", "theme", "other")),
    Damage("operator-absent", "operator is None", no_attribute("/", "operator")),
    Damage("operator-array", "operator", attribute("/", "operator", [1, 2])),
    Damage("operator-other", "", attribute("/", "operator", "openvino.GRUCell-3")),
    Damage("seed-a-text", "seed", attribute("/", "seed", "many")),
    Damage("seed-array", "seed", attribute("/", "seed", [1, 2])),
    Damage("seed-nan", "seed", attribute("/", "seed", float("nan"))),
    # blocks
    Damage("dataset-at-root", "/surprise: is not a group", put("surprise", np.zeros(3))),
    Damage("dtype-unknown", "/float8/.*: dtype is not one of float32, float16",
           edit(lambda file: file.move("float16", "float8")), signed=True),
    Damage("block-a-dataset", "/float32/flat: is not a group", put("float32/flat", np.zeros(3))),
    Damage("block-soft-link", "float32/again: is a link; expected the thing itself",
           put("float32/again", h5py.SoftLink(f"/{BLOCK}"))),
    Damage("dtype-soft-link", "/float64: is a link", put("float64", h5py.SoftLink("/float32"))),
    Damage("tier-unknown", "tier is 'urgent'; expected one of required",
           attribute(BLOCK, "tier", "urgent")),
    Damage("tier-absent", "tier is None", no_attribute(BLOCK, "tier")),
    Damage("tier-array", "tier", attribute(BLOCK, "tier", ["required", "ambiguous"])),
    Damage("tier-number-array", "tier", attribute(BLOCK, "tier", [1, 2])),
    Damage("size-0", "batch_size is 0; expected a positive integer", attribute(BLOCK, "batch_size", 0)),
    Damage("size-absent", "batch_size is None", no_attribute(BLOCK, "batch_size")),
    Damage("size-a-text", "batch_size is '2'", attribute(BLOCK, "batch_size", "2")),
    Damage("size-array", "batch_size", attribute(BLOCK, "batch_size", [2, 2])),
    Damage("size-other", r"is float32 \(3, 2, 3, 4\); expected float32 \(3, 7, 3, 4\)",
           attribute(BLOCK, "batch_size", 7)),
    Damage("hidden-size-disagrees", "hidden_size", given_with(hidden_size=5), signed=True),
    Damage("direction-disagrees", "direction", given_with(direction="bidirectional"), signed=True),
    Damage("name-not-utf8", r"/float32", edit(lambda file: file.create_group(b"float32/\xff\xfe"))),
    Damage("name-newline", r"/float32", edit(lambda file: file.create_group("float32/a\nb"))),
    # links and storage
    Damage("soft-link", "/inputs/X: is a link", put(X, h5py.SoftLink(f"/{BLOCK}/inputs/B"))),
    Damage("soft-link-dangling", "/inputs/X: is a link", put(X, h5py.SoftLink("/nowhere"))),
    Damage("external-link", "/inputs/X: is a link", replace(X, external_link)),
    Damage("external-link-dangling", "/inputs/X: is a link", put(X, h5py.ExternalLink("gone.h5", "/X"))),
    Damage("external-storage", "/inputs/X: does not hold its data in this file", replace(X, external_storage)),
    Damage("virtual", "/inputs/X: does not hold its data in this file", replace(X, virtual)),
    # types and shapes
    Damage("type-vlen-text", "/inputs/X: is damaged .*type object", replace(X, typed(h5py.string_dtype()))),
    Damage("type-vlen-numbers", "/inputs/X: is damaged .*type object",
           replace(X, typed(h5py.vlen_dtype(np.float32)))),
    Damage("type-reference", "/inputs/X: is damaged .*type object", replace(X, typed(h5py.ref_dtype))),
    Damage("type-compound", "/inputs/X: is damaged .*is not one of the format's",
           replace(X, typed([("re", "<f4"), ("im", "<f4")]))),
    Damage("type-array", "/inputs/X: is damaged .*is not one of the format's",
           replace(X, typed(np.dtype(("<f4", (2,)))))),
    Damage("type-opaque", "/inputs/X: is", replace(X, typed(np.dtype("V4")))),
    Damage("type-complex", "/inputs/X: is", replace(X, typed("<c8"))),
    Damage("type-boolean", "/inputs/X: is", replace(X, typed(bool))),
    Damage("type-enum", "/inputs/X: is", replace(X, typed(h5py.enum_dtype({"A": 1}, "i4")))),
    Damage("type-text", "/inputs/X: is text", replace(X, typed("S4"))),
    Damage("dtype-float64", r"/inputs/X: is float64 .*expected float32 \(3, 2, 3, 4\)",
           stored_as(X, lambda array: array.astype("f8")), signed=True),
    Damage("dtype-float16-of-bfloat16", r"is float16 .*expected bfloat16",
           stored_as(f"{BIDIRECTIONAL.path}/inputs/X", lambda array: array.view("f2")), signed=True),
    Damage("bfloat16-unmarked", r"is uint16 .*expected bfloat16",
           stored_as(f"{BIDIRECTIONAL.path}/inputs/X", lambda array: array), signed=True),
    Damage("lengths-int16", r"/inputs/sequence_lengths: is int16 .*expected int64 or int32",
           stored_as(LENGTHS, lambda array: array.astype("i2")), signed=True),
    Damage("lengths-float32", r"/inputs/sequence_lengths: is float32",
           stored_as(LENGTHS, lambda array: array.astype("f4")), signed=True),
    Damage("shape-flat", r"/inputs/X: is float32 \(72,\); expected float32 \(3, 2, 3, 4\)",
           stored_as(X, np.ravel), signed=True),
    Damage("shape-transposed", r"/inputs/X: is float32 \(3, 2, 4, 3\)",
           stored_as(X, lambda array: array.swapaxes(2, 3)), signed=True),
    Damage("shape-row-less", r"/outputs/Ho: is float32 \(2, 2, 1, 2\)",
           stored_as(HO, lambda array: array[:2]), signed=True),
    Damage("shape-scalar", "/inputs/X: is damaged", stored_as(X, lambda array: array.flat[0])),
    Damage("shape-null", "/inputs/X: does not hold", put(X, h5py.Empty("f4"))),
    # ids and attributes
    Damage("ids-not-utf8", "/id: is not UTF-8 text",
           put(f"{BLOCK}/id", np.array([b"\xff", b"a", b"b"]))),
    Damage("ids-twice", "expected one or more, each once",
           texts(f"{BLOCK}/id", ["a", "b", "a"]), signed=True),
    Damage("ids-twice-across-blocks", "twice|already|second time|another block",
           edit(lambda file: file.copy(BLOCK, f"{BLOCK}-again")), signed=True),
    Damage("ids-of-another-dtype", f"/id: '{REQUIRED.ids()[0]}' does not begin with .*/bfloat16/",
           texts(f"{BIDIRECTIONAL.path}/id", REQUIRED.ids()[:2]), signed=True),
    Damage("ids-of-another-operator", "/id: 'onnx.GRU-14/handmade/float32/a' does not begin with",
           texts(f"{BLOCK}/id", [*REQUIRED.ids()[:2], "onnx.GRU-14/handmade/float32/a"]), signed=True),
    Damage("length-too-long", f"has a length of {TIME + 1}; expected 0 to {TIME}",
           element(LENGTHS, 0, TIME + 1), signed=True),
    Damage("length-negative", f"has a length of -1; expected 0 to {TIME}",
           element(LENGTHS, 0, -1), signed=True),
    Damage("ids-numbers", "/id: is not a list of texts", put(f"{BLOCK}/id", np.arange(3))),
    Damage("ids-2-d", "/id: is not a list of texts", put(f"{BLOCK}/id", np.array([[b"a"], [b"b"], [b"c"]]))),
    Damage("ids-none", "expected one or more, each once",
           put(f"{BLOCK}/id", np.zeros((0,), "S1")), signed=True),
    Damage("ids-fewer", "has attributes of 3 cases, and 2 ids",
           texts(f"{BLOCK}/id", REQUIRED.ids()[:2]), signed=True),
    Damage("ids-newline", "attributes of |/id: ", _newline_ids, signed=True),
    Damage("attributes-not-json", "attributes of openvino.*/forward-a: ", given("{clip}"), signed=True),
    Damage("attributes-list", "attributes are not a JSON object", given("[]"), signed=True),
    Damage("attributes-unknown", "has no attribute 'layout'", given_with(layout=1), signed=True),
    Damage("attributes-missing", "attribute direction is missing", given('{"hidden_size":2}'), signed=True),
    Damage("attributes-null", "hidden_size is None; expected a positive integer",
           given_with(hidden_size=None), signed=True),
    Damage("attributes-deep", "has texts of 200009 bytes", given(_deep_attributes()), signed=True),
    Damage("clip-nan", "attributes of openvino.*/forward-a: NaN is no number of JSON", given_with(clip=float("nan")), signed=True),
    Damage("attributes-huge-integer", "clip", given_with(clip=10**400), signed=True),
    *(
        Damage(f"clip-{clip}", "clip is .*; expected a positive number", given_with(clip=clip), signed=True)
        for clip in (0, -1.0, "1.0", True, [1.0])
    ),
    Damage("hidden-size-1.5", "hidden_size is 1.5; expected a positive integer",
           given_with(hidden_size=1.5), signed=True),
    Damage("activations-3", "activations is .*expected a list of 2 values",
           given_with(activations=["tanh"] * 3), signed=True),
    Damage("activations-unknown", "activations is .*each one of relu, sigmoid, tanh",
           given_with(activations=["tanh", "Tanh"]), signed=True),
    Damage("attributes-need-other-shapes", "need other shapes",
           given_with(linear_before_reset=True), signed=True),
    # what is not there, and what should not be
    Damage("input-missing", "/inputs/W: is missing", delete(f"{BLOCK}/inputs/W"), signed=True),
    Damage("output-missing", "/outputs/Ho: is missing", delete(HO), signed=True),
    Damage("id-missing", "/id: is missing", delete(f"{BLOCK}/id")),
    Damage("attributes-missing-dataset", "/attributes: is missing", delete(f"{BLOCK}/attributes")),
    Damage("inputs-missing", "/inputs: is missing", delete(f"{BLOCK}/inputs")),
    Damage("outputs-missing", "/outputs: is missing", delete(f"{BLOCK}/outputs")),
    Damage("inputs-a-dataset", "/inputs: is not a group", put(f"{BLOCK}/inputs", np.zeros(3))),
    Damage("input-a-group", "/inputs/X: is not a dataset", replace(X, lambda file, at: file.create_group(at))),
    Damage("input-extra", "inputs/Z: openvino.GRUSequence-5 has no such tensor",
           put(f"{BLOCK}/inputs/Z", np.zeros((3, 2))), signed=True),
    Damage("output-extra", "outputs/Z: openvino.GRUSequence-5 has no such tensor",
           put(f"{BLOCK}/outputs/Z", np.zeros((3, 2))), signed=True),
    Damage("output-among-inputs", "inputs/Y: .*has no such tensor",
           put(f"{BLOCK}/inputs/Y", np.zeros((3, 2))), signed=True),
    Damage("all-blocks-missing", "block|case", edit(lambda file: [file.pop(d) for d in ("float32", "float16", "bfloat16")]), signed=True),
    Damage("reading-unknown", "readings/paper: is not a reading this grucible knows",
           edit(lambda file: file.move(f"{AMBIGUOUS.path}/readings/{READING}", f"{AMBIGUOUS.path}/readings/paper")),
           signed=True),
    Damage("reading-no-output", f"readings/{READING}/outputs/Ho: is missing",
           delete(f"{AMBIGUOUS.path}/readings/{READING}/outputs/Ho"), signed=True),
    Damage("reading-no-outputs", f"readings/{READING}/outputs: is missing",
           delete(f"{AMBIGUOUS.path}/readings/{READING}/outputs")),
    Damage("reading-other-shape", rf"readings/{READING}/outputs/Ho: is float16 \(2, 2, 2\)",
           stored_as(f"{AMBIGUOUS.path}/readings/{READING}/outputs/Ho", lambda a: a[:, :, 0]), signed=True),
    Damage("readings-a-dataset", "/readings: is not a group", put(f"{AMBIGUOUS.path}/readings", np.zeros(3))),
    # tolerances
    Damage("tolerance-missing", f"{BLOCK}/tolerance: is missing", delete(f"{BLOCK}/tolerance"), signed=True),
    Damage("tolerance-a-dataset", f"{BLOCK}/tolerance: is not a group", put(f"{BLOCK}/tolerance", np.zeros(3))),
    Damage("tolerance-a-link", f"{BLOCK}/tolerance: is a link",
           put(f"{BLOCK}/tolerance", h5py.SoftLink(f"/{AMBIGUOUS.path}/tolerance"))),
    Damage("tolerance-class-a-dataset", "/tolerance/tf32: is not a group", put(LIMITS, np.zeros(3, "f4"))),
    Damage("tolerance-no-output", "/tolerance/tf32/Ho: is missing", delete(f"{LIMITS}/Ho"), signed=True),
    Damage("tolerance-extra", "/tolerance/tf32/Z: openvino.GRUSequence-5 has no such tensor",
           put(f"{LIMITS}/Z", np.zeros((3, 2), "f4")), signed=True),
    Damage("tolerance-of-reading-missing", f"readings/{READING}/tolerance: is missing",
           delete(f"{AMBIGUOUS.path}/readings/{READING}/tolerance"), signed=True),
    Damage("tolerance-shape", r"/tolerance/tf32/Ho: is float32 \(3, 2, 2\); expected float32 \(3, 2, 1, 2\)",
           stored_as(f"{LIMITS}/Ho", lambda a: a[:, :, 0]), signed=True),
    Damage("tolerance-rows", r"/tolerance/tf32/Ho: is float32 \(2, 2, 1, 2\); expected float32 \(3,",
           stored_as(f"{LIMITS}/Ho", lambda a: a[:-1]), signed=True),
    Damage("tolerance-dtype", r"/tolerance/tf32/Ho: is float64 .*expected float32",
           stored_as(f"{LIMITS}/Ho", lambda a: a.astype("f8")), signed=True),
    *(
        Damage(f"tolerance-{value}", "/tolerance/tf32/Y: a tolerance is negative, -0 or NaN",
               element(f"{LIMITS}/Y", 0, value), signed=True)
        for value in NO_TOLERANCES
    ),
    # larger than it is
    Damage("huge-contiguous", "claims to hold more than 512 MiB",
           replace(X, unallocated((10**4, 10**8)))),
    Damage("huge-chunked", "expected at most 32,768",
           replace(X, unallocated((10**12,), chunks=(1000,)))),
    Damage("huge-ids", "expected at most 32,768",
           replace(f"{BLOCK}/id", lambda file, at: file.create_dataset(at, (10**12,), "S9"))),
    Damage("bomb-of-many", r"claims to hold more than 512 MiB and 16 times its size",
           replace(X, zeros_bomb(16 << 20, 1, rows=48))),
    Damage("many-rows", "/id: has 32,769 rows; expected at most 32,768",
           put(f"{BLOCK}/id", np.array([b"%d" % row for row in range((1 << 15) + 1)]))),
    Damage("huge-row", r"/inputs/X: is float32 \(1, 12582912\)",
           replace(X, zeros_bomb(48 << 20, 1, rows=1))),
    # chunks and filters
    *(
        Damage(f"chunk-{name}", r"/inputs/X: is damaged|is damaged \(reading it ended with", replace(X, chunk_of(stored, **layout)))
        for name, stored, layout in (
            ("deflate-cut-off", zlib.compress(bytes(288))[:-5], {"compression": "gzip"}),
            ("lzf-cut-off", b"\x1fx", {"compression": "lzf"}),
            ("checksum-alone", b"xyz", {"fletcher32": True}),
        )
    ),
    Damage("many-names", r"/float32: holds 4097 things; expected at most 4096", edit(many_groups)),
    Damage("two-names", "has 2 names in the file; expected one",
           put_link(X, f"{REQUIRED.path}/inputs/W")),
    Damage("bomb", "expected at most 32,768", replace(X, zeros_bomb(4 << 30, 9))),
]  # fmt: skip

# What is wrong with the last case alone, which `show` of the first does not look at.
LAST = [
    Damage(f"tolerance-of-reading-{value}",
           f"/readings/{READING}/tolerance/float16/Y: a tolerance is negative, -0 or NaN",
           element(f"{LIMITS_READ}/Y", -1, value), signed=True)
    for value in NO_TOLERANCES
]  # fmt: skip

# What a digest alone can see.
FLIPS = [
    Damage(f"bit-{where.rpartition('/')[2]}", "does not match its content_sha256", flip_bit(where))
    for where in (X, LENGTHS, HO, f"{AMBIGUOUS.path}/readings/{READING}/outputs/Y")
]  # fmt: skip
FLIPS += [
    # the tier decides what counts: a failing case must not be moved out of the verdict unnoticed
    Damage("tier-changed", "tier|content", attribute(BLOCK, "tier", "nonportable")),
    Damage(
        "tier-required-with-readings",
        "tier|readings|content",
        attribute(AMBIGUOUS.path, "tier", "required"),
    ),
    *(
        Damage(
            f"bit-of-tolerance-{number}",
            "does not match its tolerance_sha256",
            flip_bit(f"{where}/Y"),
        )
        for number, where in enumerate((LIMITS, LIMITS_READ))
    ),
    Damage("tolerance-digest-absent", "tolerance_sha256", no_attribute("/", "tolerance_sha256")),
    Damage(
        "tolerance-digest-other", "tolerance_sha256", attribute("/", "tolerance_sha256", "0" * 64)
    ),
    Damage("digest-absent", "content_sha256", no_attribute("/", "content_sha256")),
    Damage("digest-a-number", "content_sha256", attribute("/", "content_sha256", 7)),
    Damage("digest-array", "content_sha256", attribute("/", "content_sha256", [7, 8])),
]
