"""Packed vector files: inputs are stored as how they were drawn, which takes a tenth of their bytes.

Only the core vectors in a wheel are packed. In a block, `drawn` (k, n, 4) has the recipes of k inputs, and
the attribute `drawn` names them, with the shape of each: "W 18x5 B 18".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..cases.dtypes import FLOAT_TYPES, Array
from .drawn import ATTEMPTS, draw_numbers

PACKED = "grucible packed vectors"
"""The format of a packed file."""
_PACKED = np.bytes_(PACKED)


def pack(path: Path) -> None:
    """Pack a vector file, in place, unless it is packed."""
    packed = path.with_suffix(".packed")
    with h5py.File(path) as old:
        if old.attrs["format"] == _PACKED:
            return
        with h5py.File(packed, "w", libver=("v108", "v110")) as new:
            new.attrs.update({**old.attrs, "format": _PACKED})
            old.copy("spec", new)
            for block in (
                one for dtype in FLOAT_TYPES if dtype in old for one in old[dtype].values()
            ):
                _pack_block(block, new.create_group(block.name), old.attrs["seed"])
    packed.replace(path)


def _pack_block(block: h5py.Group, packed: h5py.Group, seed: int) -> None:
    packed.attrs.update(block.attrs)
    dtype, ids = block.name.split("/")[1], [raw.decode() for raw in block["id"][()]]
    shapes, recipes = list[str](), list[Array]()
    for name, data in block["inputs"].items():
        if (found := _find_recipes(name, ids, seed, dtype, data)) is None:
            block.copy(data, packed.require_group("inputs"))
        else:
            shapes.append(f"{name} {'x'.join(map(str, data.shape[1:]))}")
            recipes.append(found)
    if recipes:
        packed.attrs["drawn"] = np.bytes_(" ".join(shapes))
        packed["drawn"] = np.array(recipes)
    for name in sorted(block.keys() - {"inputs"}):
        block.copy(name, packed)


def _find_recipes(
    name: str, ids: Sequence[str], seed: int, dtype: str, data: h5py.Dataset
) -> Array | None:
    """Find how an input was drawn for each case; None unless all its numbers were drawn."""
    array, precision = data[()].reshape(len(ids), -1), FLOAT_TYPES[dtype].precision
    if data.attrs.get("dtype") == b"bfloat16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    if array.dtype.kind != "f":
        return None
    numbers, recipes = array.astype(np.float64), np.zeros((len(ids), 4), np.int16)
    left = np.flatnonzero(numbers.any(1) | np.signbit(numbers).any(1))
    for attempt in ATTEMPTS:
        asked = left
        for bits, coarse in itertools.product((precision, *range(1, precision)), (0, 1)):
            if not asked.size:
                break
            guess = np.full((len(asked), 4), (attempt, bits, bits, coarse))
            drawn = draw_numbers(name, [ids[int(i)] for i in asked], seed, guess, array.shape[1])
            wanted = numbers[asked]
            exponents = np.frexp(wanted[:, :1] / drawn[:, :1])[1] - 1
            found = (np.ldexp(drawn, exponents) == wanted).all(1)
            guess[:, [2]] += exponents
            recipes[asked[found]] = guess[found]
            left = np.setdiff1d(left, asked[found])
            asked = asked[~found & (np.sign(drawn) == np.sign(wanted)).all(1)]
    return None if left.size else recipes


def unpack(tree: Any) -> None:
    """Draw the inputs of a packed file, in its tree (`cases.apart`)."""
    for dtype in FLOAT_TYPES.keys() & tree["members"].keys():
        for block in tree["members"][dtype]["members"].values():
            if "drawn" in block["members"]:
                _unpack_block(block, dtype, tree["attributes"]["seed"])


def _unpack_block(block: Any, dtype: str, seed: int) -> None:
    members = block["members"]
    ids = [raw.decode() for raw in members["id"].tolist()]
    inputs = members.setdefault("inputs", {"attributes": {}, "members": {}})["members"]
    words = block["attributes"].pop("drawn").split()
    for name, shape, recipes in zip(words[::2], words[1::2], members.pop("drawn"), strict=True):
        lengths = [*map(int, shape.split("x"))]
        values = draw_numbers(name, ids, seed, recipes, math.prod(lengths))
        inputs[name] = values.reshape(len(ids), *lengths).astype(FLOAT_TYPES[dtype].numpy)
