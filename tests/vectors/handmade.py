"""A vector file made, signed and read with h5py alone; nothing of grucible is imported here.

It is small: a GRUSequence-5 with a required float32 block, a bidirectional bfloat16 block and an
ambiguous float16 block. Its numbers are arbitrary: structure is what the tests of this room need.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
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
        file.attrs["format"] = fixed("grucible vectors")
        file.attrs["format_version"] = 2
        file.attrs["operator"] = fixed("openvino.GRUSequence-5")
        file.attrs["theme"] = fixed("handmade")
        file.attrs["generator"] = fixed("by hand")
        file.attrs["seed"] = 0
        file["spec"] = np.frombuffer(b"about: handmade\n", np.uint8)
        for block in BLOCKS:
            _write_block(file.create_group(block.path), block, random)
    sign(path)


def _write_block(group: Any, block: HandmadeBlock, random: np.random.Generator) -> None:
    sizes = {
        "batch_size": BATCH,
        "seq_length": TIME,
        "input_size": INPUT,
        "hidden_size": HIDDEN,
        "num_directions": block.directions,
    }
    for name, value in {**sizes, "tier": fixed(block.tier)}.items():
        group.attrs[name] = value
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


CONTENT = ("attributes", "id"), r"inputs/|outputs/|readings/[^/]+/outputs/"
TOLERANCES = (), r"tolerance/|readings/[^/]+/tolerance/"


def content_sha256(path: Path) -> str:
    """The content digest, read from the description in vectors/digest.py."""
    return _sha256(path, *CONTENT)


def tolerance_sha256(path: Path) -> str:
    """The digest of the tolerances: in the same manner, of nothing else."""
    return _sha256(path, *TOLERANCES)


def _sha256(path: Path, first: Sequence[str], covered: str) -> str:
    """SHA-256 over the list of the blocks' digests."""
    return _whole(_listed(path, first, covered))


def _whole(listed: Mapping[str, str]) -> str:
    lines = [f"{digest}  {block}\n" for block, digest in sorted(listed.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _listed(path: Path, first: Sequence[str], covered: str) -> dict[str, str]:
    """By block: SHA-256 over its datasets `first`, and those whose path begins with `covered`."""
    digests = {}
    with h5py.File(path) as file:
        for block in [
            f"{dtype}/{name}" for dtype in file if dtype != "spec" for name in file[dtype]
        ]:
            inside: list[tuple[str, Any]] = []
            file[block].visititems(lambda name, node, inside=inside: inside.append((name, node)))
            there = {name: node for name, node in inside if isinstance(node, h5py.Dataset)}
            found = sorted(name for name in there if re.match(covered, name))
            described = [_described(name, there[name]) for name in [*first, *found]]
            digests[block] = hashlib.sha256(b"".join(described)).hexdigest()
    return digests


def _described(path: str, data: Any) -> bytes:
    values = data[()]
    if values.dtype.kind == "S":
        dtype, held = "text", b"".join(text + b"\n" for text in values.tolist())
    else:
        mark = data.attrs.get("dtype", values.dtype.name)
        dtype = mark.decode() if isinstance(mark, bytes) else mark
        held = values.astype(values.dtype.newbyteorder("<")).tobytes()
    return f"{path} {dtype} {'x'.join(map(str, data.shape))}\n".encode() + held


def fixed(text: str) -> npt.NDArray[Any]:
    """A text attribute of fixed length."""
    return np.array(text.encode(), h5py.string_dtype("utf-8", len(text.encode())))


def sign(path: Path) -> None:
    """Store the digests of the content and the tolerances that the file and its blocks now have."""
    for name, covered in (("content_sha256", CONTENT), ("tolerance_sha256", TOLERANCES)):
        blocks = _listed(path, *covered)
        whole = _whole(blocks)
        with h5py.File(path, "r+") as file:
            for block, digest in blocks.items():
                file[block].attrs[name] = fixed(digest)
            file.attrs[name] = fixed(whole)
