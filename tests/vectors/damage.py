"""Ways to spoil the handmade vector file, each with what the error must say."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

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
NO_TOLERANCES = (-1e-30, float("nan"), float("-inf"), -0.0)

Spoil = Callable[[Path], None]


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


def edit(change: Callable[[Any], object]) -> Spoil:
    """Spoil the file by changing it as an open h5py.File."""

    def spoil(path: Path) -> None:
        with h5py.File(path, "r+") as file:
            change(file)

    return spoil


def rewrite(change: Callable[[bytes], bytes]) -> Spoil:
    """Spoil the file as bytes."""

    def spoil(path: Path) -> None:
        path.write_bytes(change(path.read_bytes()))

    return spoil


def attribute(where: str, name: str, value: Any) -> Spoil:
    """Set an attribute; a text with a fixed length; None removes it."""

    def change(file: Any) -> None:
        if value is None:
            del file[where].attrs[name]
        else:
            file[where].attrs[name] = fixed(value) if isinstance(value, str) else value

    return edit(change)


def replace(where: str, make: Callable[[Any, str], object]) -> Spoil:
    """Delete what is at `where`, if anything, and have `make(file, where)` put something else there."""

    def change(file: Any) -> None:
        if where in file:
            del file[where]
        make(file, where)

    return edit(change)


def put(where: str, value: Any) -> Spoil:
    """Put an array or a link in place of what is at `where`, if anything."""
    return replace(where, lambda file, at: file.__setitem__(at, value))


def delete(where: str) -> Spoil:
    return replace(where, lambda _, __: None)


def move(where: str, to: str) -> Spoil:
    return edit(lambda file: file.move(where, to))


def stored_as(where: str, change: Callable[[Any], Any]) -> Spoil:
    """Replace the array at `where` by what `change` makes of it."""

    def spoil(file: Any) -> None:
        array = change(file[where][()])
        del file[where]
        file[where] = array

    return edit(spoil)


def element(where: str, at: int, value: float) -> Spoil:
    """Let an element of a dataset be `value`."""

    def spoil(file: Any) -> None:
        array = file[where][()]
        array.reshape(-1)[at] = value
        file[where][...] = array

    return edit(spoil)


def flip_bit(where: str) -> Spoil:
    """Flip the lowest bit of the first element of a dataset."""

    def spoil(file: Any) -> None:
        array = file[where][()]
        array.view(np.uint8).reshape(-1)[0] ^= 1
        file[where][...] = array

    return edit(spoil)


def texts(where: str, rows: list[str]) -> Spoil:
    return replace(where, lambda file, at: put_texts(file, at, rows))


def given(text: str = "", **attributes: Any) -> Spoil:
    """Let the required block's first case have these attributes, or this text in place of them."""
    plain = {"direction": "forward", "hidden_size": HIDDEN}
    one = text or json.dumps(plain | attributes)
    return texts(f"{BLOCK}/attributes", [one, json.dumps(plain), json.dumps(plain)])


def external_link(file: Any, where: str) -> None:
    """A link to the same tensor in another vector file, a sound one."""
    beside = Path(file.filename).with_name("beside.hdf5")
    with h5py.File(beside, "w") as other:
        other["X"] = np.zeros(SHAPE, np.float32)
    file[where] = h5py.ExternalLink(beside.name, "/X")


def external_storage(file: Any, where: str) -> None:
    secret = Path(file.filename).with_name("secret.raw")
    secret.write_bytes(bytes(4 * int(np.prod(SHAPE))))
    file.create_dataset(where, SHAPE, "<f4", external=[(str(secret), 0, h5py.h5f.UNLIMITED)])


def virtual(file: Any, where: str) -> None:
    with h5py.File(Path(file.filename).with_name("source.hdf5"), "w") as other:
        other["X"] = np.zeros(SHAPE, np.float32)
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


def many_groups(file: Any) -> None:
    """One more than there may be in a group."""
    for number in range(4097 - len(file["float32"])):
        file["float32"].create_group(f"x{number}")


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


# What the digests do not cover, or what is found before them.
PLAIN = [
    *rows("no such file", missing=Path.unlink),
    *rows("not an HDF5 file; expected grucible vectors",
          empty=rewrite(lambda _: b""), not_hdf5=rewrite(lambda _: b"PK\3\4" * 999)),
    *(
        Damage(f"truncated-{share:g}", "truncated|not an HDF5 file|damaged|is missing",
               rewrite(lambda raw, share=share: raw[: int(len(raw) * share)]))
        for share in (0.001, 0.1, 0.5, 0.9, 0.99)
    ),
    *rows("format is .*; expected 'grucible vectors'",
          format_other=attribute("/", "format", "grucible outputs"),
          format_absent=attribute("/", "format", None), format_number=attribute("/", "format", 7)),
    *rows("format_version is .*; this grucible reads 2; make the file again with: grucible gen",
          version_1=attribute("/", "format_version", 1), version_3=attribute("/", "format_version", 3),
          version_absent=attribute("/", "format_version", None),
          version_array=attribute("/", "format_version", [2, 2])),
    *rows("operator is .*; expected one of openvino.GRUCell-3",
          operator_unknown=attribute("/", "operator", "onnx.LSTM-14"),
          operator_absent=attribute("/", "operator", None),
          operator_array=attribute("/", "operator", [1, 2])),
    *rows("", operator_other=attribute("/", "operator", "openvino.GRUCell-3")),
    *rows("theme is .*; expected a name", theme_absent=attribute("/", "theme", None),
          theme_empty=attribute("/", "theme", "\0"), theme_slash=attribute("/", "theme", "a/b")),
    *rows("the theme is 'invalid', that of questions without answers",
          theme_invalid=attribute("/", "theme", "invalid")),
    *rows(r"/id: '.*/handmade/.*' does not begin with openvino.GRUSequence-5/other/",
          theme_other=attribute("/", "theme", "other")),
    *rows("seed is", seed_text=attribute("/", "seed", "many"), seed_array=attribute("/", "seed", [1, 2]),
          seed_negative=attribute("/", "seed", -1)),
    *rows(": is not a group", dataset_at_root=put("surprise", np.zeros(3)),
          block_a_dataset=put("float32/flat", np.zeros(3)),
          inputs_a_dataset=put(f"{BLOCK}/inputs", np.zeros(3)),
          readings_a_dataset=put(f"{AMBIGUOUS.path}/readings", np.zeros(3)),
          tolerance_a_dataset=put(f"{BLOCK}/tolerance", np.zeros(3)), class_a_dataset=put(LIMITS, np.zeros(3))),
    *rows(": is a link; expected the thing itself",
          block_soft_link=put("float32/again", h5py.SoftLink(f"/{BLOCK}")),
          dtype_soft_link=put("float64", h5py.SoftLink("/float32")),
          soft_link=put(X, h5py.SoftLink(f"/{BLOCK}/inputs/B")), dangling=put(X, h5py.SoftLink("/nowhere")),
          external_link=replace(X, external_link), external_dangling=put(X, h5py.ExternalLink("gone.h5", "/X")),
          tolerance_link=put(f"{BLOCK}/tolerance", h5py.SoftLink(f"/{AMBIGUOUS.path}/tolerance"))),
    *rows("has 2 names in the file; expected one",
          two_names=replace(X, lambda file, at: file.__setitem__(at, file[f"{BLOCK}/inputs/W"]))),
    *rows("/inputs/X: does not hold its data in this file", external_storage=replace(X, external_storage),
          virtual=replace(X, virtual), null=put(X, h5py.Empty("f4"))),
    *rows("/inputs/X: was not written as a whole", never_written=replace(X, never_written)),
    *rows("tier is .*; expected one of required", tier_unknown=attribute(BLOCK, "tier", "urgent"),
          tier_absent=attribute(BLOCK, "tier", None), tier_array=attribute(BLOCK, "tier", [1, 2])),
    *rows("batch_size is .*; expected a positive integer", size_0=attribute(BLOCK, "batch_size", 0),
          size_absent=attribute(BLOCK, "batch_size", None), size_text=attribute(BLOCK, "batch_size", "2"),
          size_array=attribute(BLOCK, "batch_size", [2, 2])),
    *rows(r"is float32 \(3, 2, 3, 4\); expected float32 \(3, 7, 3, 4\)",
          size_other=attribute(BLOCK, "batch_size", 7)),
    *rows("input_size is 1100000; expected at most 4096", size_large=attribute(BLOCK, "input_size", 1_100_000)),
    *rows("/float32", name_not_utf8=edit(lambda file: file.create_group(b"float32/\xff\xfe")),
          name_newline=edit(lambda file: file.create_group("float32/a\nb"))),
    *rows("/inputs/X: is damaged .*(type object|is not one of the format's)",
          type_text=replace(X, empty(dtype=h5py.string_dtype())),
          type_numbers=replace(X, empty(dtype=h5py.vlen_dtype(np.float32))),
          type_reference=replace(X, empty(dtype=h5py.ref_dtype)),
          type_compound=replace(X, empty(dtype=[("re", "<f4"), ("im", "<f4")])),
          type_array=replace(X, empty(dtype=np.dtype(("<f4", (2,))))),
          scalar=stored_as(X, lambda array: array.flat[0])),
    *rows("/inputs/X: is", type_opaque=replace(X, empty(dtype="V4")), type_complex=replace(X, empty(dtype="<c8")),
          type_boolean=replace(X, empty(dtype=bool)), type_fixed_text=replace(X, empty(dtype="S4")),
          type_enum=replace(X, empty(dtype=h5py.enum_dtype({"A": 1}, "i4")))),
    *rows("/id: is not UTF-8 text", ids_not_utf8=put(ID, np.array([b"\xff", b"a", b"b"]))),
    *rows("/id: is not a list of texts", ids_numbers=put(ID, np.arange(3)),
          ids_2_d=put(ID, np.array([[b"a"], [b"b"], [b"c"]]))),
    *rows(": is missing", id_missing=delete(ID), attributes_missing=delete(f"{BLOCK}/attributes"),
          inputs_missing=delete(f"{BLOCK}/inputs"), outputs_missing=delete(f"{BLOCK}/outputs"),
          reading_no_outputs=delete(f"{READ}/outputs")),
    *rows("/inputs/X: is not a dataset", input_a_group=replace(X, lambda file, at: file.create_group(at))),
    *rows("claims to hold more than 512 MiB", huge=replace(X, empty((10**4, 10**8))),
          bomb_of_many=replace(X, zeros_bomb(16 << 20, 1, rows=48))),
    *rows("expected at most 32,768", huge_chunked=replace(X, empty((10**12,), chunks=(1000,))),
          huge_ids=replace(ID, empty((10**12,), "S9")), bomb=replace(X, zeros_bomb(4 << 30, 9)),
          many_rows=put(ID, np.array([b"%d" % row for row in range((1 << 15) + 1)]))),
    *rows(r"/inputs/X: is float32 \(1, 12582912\)", huge_row=replace(X, zeros_bomb(48 << 20, 1, rows=1))),
    *rows(r"/inputs/X: is damaged|is damaged \(reading it ended with",
          deflate_cut=replace(X, chunk_of(zlib.compress(bytes(288))[:-5], compression="gzip")),
          lzf_cut=replace(X, chunk_of(b"\x1fx", compression="lzf")),
          checksum_alone=replace(X, chunk_of(b"xyz", fletcher32=True))),
    *rows(r"/float32: holds 4097 things; expected at most 4096", many_names=edit(many_groups)),
]  # fmt: skip

# What has the right digests: made so, and signed.
SIGNED = [damage._replace(signed=True) for damage in (
    *rows("dtype is not one of float32, float16", dtype_unknown=move("float16", "float8")),
    *rows("hidden_size is 2; expected 5 from the attributes|need other shapes", hidden_size=given(hidden_size=5)),
    *rows("num_directions is 1; expected 2", direction=given(direction="bidirectional")),
    *rows("need other shapes", other_shapes=given(linear_before_reset=True)),
    *rows(r"/inputs/X: is float64 .*expected float32 \(3, 2, 3, 4\)", float64=stored_as(X, lambda a: a.astype("f8"))),
    *rows("expected bfloat16",
          float16_of_bfloat16=stored_as(f"{BIDIRECTIONAL.path}/inputs/X", lambda a: a.view("f2")),
          bfloat16_unmarked=stored_as(f"{BIDIRECTIONAL.path}/inputs/X", lambda a: a)),
    *rows("/inputs/sequence_lengths: is .*expected int64 or int32",
          lengths_int16=stored_as(LENGTHS, lambda a: a.astype("i2")),
          lengths_float32=stored_as(LENGTHS, lambda a: a.astype("f4"))),
    *rows(f"expected 0 to {TIME}", length_too_long=element(LENGTHS, 0, TIME + 1),
          length_negative=element(LENGTHS, 0, -1)),
    *rows(r"is float\d+ \([\d, ]+\); expected float\d+ \(", flat=stored_as(X, np.ravel),
          transposed=stored_as(X, lambda a: a.swapaxes(2, 3)), row_less=stored_as(HO, lambda a: a[:2]),
          reading=stored_as(f"{READ}/outputs/Ho", lambda a: a[:, :, 0]),
          limits=stored_as(f"{LIMITS}/Ho", lambda a: a[:, :, 0]), limits_rows=stored_as(f"{LIMITS}/Ho", lambda a: a[:-1]),
          limits_dtype=stored_as(f"{LIMITS}/Ho", lambda a: a.astype("f8"))),
    *rows("/id: expected at least one id, and none twice", ids_twice=texts(ID, ["a", "b", "a"]),
          ids_none=put(ID, np.zeros((0,), "S1"))),
    *rows("has attributes for 3 cases, but 2 ids", ids_fewer=texts(ID, REQUIRED.ids()[:2])),
    *rows("is in another block already", ids_across_blocks=edit(lambda file: file.copy(BLOCK, f"{BLOCK}-again"))),
    *rows("/id: .* does not begin with",
          ids_of_another_dtype=texts(f"{BIDIRECTIONAL.path}/id", REQUIRED.ids()[:2]),
          ids_of_another_operator=texts(ID, [*REQUIRED.ids()[:2], "onnx.GRU-14/handmade/float32/a"])),
    *rows("/id: a text has a line feed", ids_newline=texts(ID, ["a\nTraceback", *REQUIRED.ids()[1:]])),
    *rows("attributes of openvino.*/forward-a: ", not_json=given("{clip}"), clip_nan=given(clip=float("nan")),
          huge_integer=given(clip=10**400)),
    *rows("attributes are not a JSON object", a_list=given("[]")),
    *rows("has no attribute 'layout'", unknown=given(layout=1)),
    *rows("attribute direction is missing", lacking=given('{"hidden_size":2}')),
    *rows("hidden_size is .*; expected an integer", null=given(hidden_size=None), half=given(hidden_size=1.5)),
    *rows("has texts of 200009 bytes", deep=given('{"clip":' + "[" * 100_000 + "]" * 100_000 + "}")),
    *rows("clip is .*; expected a positive number", clip_0=given(clip=0), clip_negative=given(clip=-1.0),
          clip_text=given(clip="1.0"), clip_true=given(clip=True), clip_list=given(clip=[1.0])),
    *rows("activations is .*expected a list of 2 values", three=given(activations=["tanh"] * 3)),
    *rows("each one of relu, sigmoid, tanh", activations_unknown=given(activations=["tanh", "Tanh"])),
    *rows(": is missing", input_missing=delete(f"{BLOCK}/inputs/W"), output_missing=delete(HO),
          reading_no_output=delete(f"{READ}/outputs/Ho"), tolerance_missing=delete(f"{BLOCK}/tolerance"),
          tolerance_no_output=delete(f"{LIMITS}/Ho"), reading_no_tolerance=delete(f"{READ}/tolerance")),
    *rows(": openvino.GRUSequence-5 has no such tensor", input_extra=put(f"{BLOCK}/inputs/Z", np.zeros((3, 2))),
          output_extra=put(f"{BLOCK}/outputs/Z", np.zeros((3, 2))), input_y=put(f"{BLOCK}/inputs/Y", np.zeros((3, 2))),
          tolerance_extra=put(f"{LIMITS}/Z", np.zeros((3, 2), "f4"))),
    *rows("holds no block", nothing=edit(lambda file: [file.pop(d) for d in ("float32", "float16", "bfloat16")])),
    *rows("readings/paper: is not a reading that this version of grucible knows",
          reading_unknown=move(READ, f"{AMBIGUOUS.path}/readings/paper")),
    *(
        Damage(f"tolerance-{value}-{where[-3:]}", "/Y: a tolerance is negative, -0 or NaN",
               element(f"{where}/Y", at, value))
        for value in NO_TOLERANCES for where, at in ((LIMITS, 0), (LIMITS_READ, -1))
    ),
)]  # fmt: skip

# What a digest alone can see; the tier decides what counts.
FLIPS = [
    *rows("does not match its content_sha256", x=flip_bit(X), lengths=flip_bit(LENGTHS), ho=flip_bit(HO),
          y_of_reading=flip_bit(f"{READ}/outputs/Y")),
    *rows("does not match its tolerance_sha256", limits=flip_bit(f"{LIMITS}/Y"), limits_read=flip_bit(f"{LIMITS_READ}/Y"),
          digest_absent=attribute("/", "tolerance_sha256", None),
          digest_other=attribute("/", "tolerance_sha256", "0" * 64)),
    *rows("content_sha256", content_absent=attribute("/", "content_sha256", None),
          content_number=attribute("/", "content_sha256", 7), content_array=attribute("/", "content_sha256", [7, 8])),
    *rows("tier is .*; expected '.*' from the block's name", tier_changed=attribute(BLOCK, "tier", "nonportable"),
          tier_required=attribute(AMBIGUOUS.path, "tier", "required")),
]  # fmt: skip
