"""A vector file made, signed and read with h5py alone; nothing of grucible is imported here.

It is small: a GRUSequence-5 with a required float32 block, a bidirectional bfloat16 block and an
ambiguous float16 block. Its numbers are arbitrary: structure is what the tests of this room need.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import numpy.typing as npt

READING = "len-zero.initial-state"
ARITHMETIC = {
    "float32": ("float32", "float16-state", "bfloat16-gemm", "tf32", "bfloat16-operands"),
    "float16": ("float32", "float16-state", "float16-gemm", "float16"),
    "bfloat16": ("float32", "bfloat16-state", "bfloat16-gemm"),
}
"""The classes of arithmetic that a block of each dtype has tolerances for."""
BATCH, TIME, INPUT, HIDDEN = 2, 3, 4, 2


class HandmadeBlock(NamedTuple):
    """A block: where it stands, and what its cases share."""

    path: str
    tier: str
    direction: str
    lengths: str
    reading: str
    cases: Sequence[str]

    @property
    def dtype(self) -> str:
        return self.path.partition("/")[0]

    @property
    def directions(self) -> int:
        return 2 if self.direction == "bidirectional" else 1

    def ids(self) -> list[str]:
        return [f"openvino.GRUSequence-5/handmade/{self.dtype}/{case}" for case in self.cases]


REQUIRED = HandmadeBlock(
    "float32/2x3x4x2x1-B3H", "required", "forward", "int64", "", ("forward-a", "forward-b", "ü")
)
BIDIRECTIONAL = HandmadeBlock(
    "bfloat16/2x3x4x2x2-B3H-int32", "required", "bidirectional", "int32", "", ("both-a", "both-b")
)
AMBIGUOUS = HandmadeBlock(
    f"float16/2x3x4x2x1-B3H-ambiguous-{READING}",
    "ambiguous",
    "reverse",
    "int64",
    READING,
    ("reverse-zero-a", "reverse-zero-b"),
)
BLOCKS = (REQUIRED, BIDIRECTIONAL, AMBIGUOUS)


def write_handmade(path: Path) -> None:
    """Write the handmade vector file, signed."""
    random = np.random.default_rng(20240229)
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        texts = {"format": "grucible vectors", "operator": "openvino.GRUSequence-5",
                 "theme": "handmade", "generator": "by hand"}  # fmt: skip
        file.attrs.update({name: fixed(text) for name, text in texts.items()})
        file.attrs.update({"format_version": 2, "seed": 0})
        file["spec"] = np.frombuffer(b"about: handmade\n", np.uint8)
        for block in BLOCKS:
            _write_block(file.create_group(block.path), block, random)
    sign(path)


def _write_block(group: Any, block: HandmadeBlock, random: np.random.Generator) -> None:
    sizes = {"batch_size": BATCH, "seq_length": TIME, "input_size": INPUT, "hidden_size": HIDDEN}
    group.attrs.update({**sizes, "num_directions": block.directions, "tier": fixed(block.tier)})
    count, directions = len(block.cases), block.directions
    put_texts(group, "id", block.ids())
    given = [
        {"direction": block.direction, "hidden_size": HIDDEN, "clip": "inf" if row else 0.5}
        for row in range(count)
    ]
    put_texts(group, "attributes", [json.dumps(one, sort_keys=True) for one in given])
    shapes = {
        "inputs/X": (BATCH, TIME, INPUT),
        "inputs/initial_hidden_state": (BATCH, directions, HIDDEN),
        "inputs/W": (directions, 3 * HIDDEN, INPUT),
        "inputs/R": (directions, 3 * HIDDEN, HIDDEN),
        "inputs/B": (directions, 3 * HIDDEN),
        "outputs/Y": (BATCH, directions, TIME, HIDDEN),
        "outputs/Ho": (BATCH, directions, HIDDEN),
    }
    if block.reading:
        for name in ("Y", "Ho"):
            shapes[f"readings/{block.reading}/outputs/{name}"] = shapes[f"outputs/{name}"]
    for name, shape in shapes.items():
        put_numbers(group, name, random.uniform(-1, 1, (count, *shape)), block.dtype)
        if "outputs/" in name:
            for number, one in enumerate(ARITHMETIC[block.dtype], 1):
                below = name.replace("outputs/", f"tolerance/{one}/")
                put_numbers(
                    group, below, 2**number / random.uniform(100, 200, (count, *shape)), "float32"
                )
    first = 0 if block.tier == "ambiguous" else TIME
    group["inputs/sequence_lengths"] = np.full((count, BATCH), [first, 2], block.lengths)


def put_texts(group: Any, name: str, texts: Sequence[str]) -> None:
    """Write a dataset of fixed-length UTF-8 texts."""
    encoded = [text.encode() for text in texts]
    dtype = h5py.string_dtype("utf-8", max(map(len, encoded)))
    group.create_dataset(name, data=np.array(encoded, dtype))


def put_numbers(group: Any, name: str, values: npt.NDArray[Any], dtype: str) -> None:
    """Write a dataset of numbers; bfloat16 as marked uint16, the upper half of a float32."""
    if dtype == "bfloat16":
        group[name] = (values.astype("<f4").view("<u4") >> 16).astype("<u2")
        group[name].attrs["dtype"] = fixed("bfloat16")
    else:
        group[name] = values.astype(np.dtype(dtype).newbyteorder("<"))


COVERED = {
    "content_sha256": (("attributes", "id"), r"inputs/|outputs/|readings/[^/]+/outputs/"),
    "tolerance_sha256": ((), r"tolerance/|readings/[^/]+/tolerance/"),
}
"""By digest: the datasets of a block that are first, and the pattern of the others, sorted by path."""


def content_sha256(path: Path) -> str:
    """The content digest, read from the description in vectors/digest.py."""
    return _digests(path, "content_sha256")[0]


def tolerance_sha256(path: Path) -> str:
    """The digest of the tolerances: in the same manner, of nothing else."""
    return _digests(path, "tolerance_sha256")[0]


def _digests(path: Path, name: str) -> tuple[str, dict[str, str]]:
    """SHA-256 over the list of the blocks' digests; and these by block."""
    (first, covered), digests = COVERED[name], dict[str, str]()
    with h5py.File(path) as file:
        for block in sorted(
            f"{dtype}/{name}" for dtype in file if dtype != "spec" for name in file[dtype]
        ):
            there: dict[str, Any] = {}
            file[block].visititems(lambda name, node, there=there: there.update({name: node}))
            found = sorted(
                n for n, d in there.items() if re.match(covered, n) and hasattr(d, "shape")
            )
            described = b"".join(_describe(name, there[name]) for name in [*first, *found])
            digests[block] = hashlib.sha256(described).hexdigest()
    listed = "".join(f"{digest}  {block}\n" for block, digest in digests.items())
    return hashlib.sha256(listed.encode()).hexdigest(), digests


def _describe(path: str, data: Any) -> bytes:
    values = data[()]
    if values.dtype.kind == "S":
        dtype, raw = b"text", b"".join(text + b"\n" for text in values.tolist())
    else:
        dtype = data.attrs.get("dtype", values.dtype.name.encode())
        raw = values.astype(values.dtype.newbyteorder("<")).tobytes()
    shape = "x".join(map(str, data.shape)).encode()
    return b"%b %b %b\n%b" % (path.encode(), dtype, shape, raw)


def fixed(text: str) -> npt.NDArray[Any]:
    """A text attribute of fixed length."""
    return np.array(text.encode(), h5py.string_dtype("utf-8", len(text.encode())))


def sign(path: Path) -> None:
    """Store the digests of the content and the tolerances that the file and its blocks now have."""
    for name in COVERED:
        whole, blocks = _digests(path, name)
        with h5py.File(path, "r+") as file:
            for where, digest in {"/": whole, **blocks}.items():
                file[where].attrs[name] = fixed(digest)
