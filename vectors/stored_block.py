"""A block of a vector file, checked against the operator's description."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.errors import VectorFileError
from ..cases.operators.readings import READINGS, STORED, ReadingNames
from ..cases.operators.signature import Operator, Tensor
from ..cases.question import too_large, why_no_id
from .block import TIERS, TOGETHER, Block, attributes_from_json
from .case import Answer
from .hdf5 import Folder

_INFINITY = 0x7F800000
"""The bits of infinity as float32. As integers, those of NaN and of every negative number are larger."""

Parsed = dict[str, dict[str, Any]]
"""The attributes of the blocks read so far, by their JSON text: blocks that repeat a text share them."""


def open_block(group: Folder, path: str, operator: Operator, theme: str, parsed: Parsed) -> Block:
    """Read and check the block at `path` of a vector file; VectorFileError if it is not valid.

    Tolerances must not be negative, lengths must be from 0 to the number of steps, and expected numbers must
    be finite unless the tier is nonportable.
    """
    return _Reader(group, path, operator, theme, parsed).block()


def read_ids(group: Folder, dtype: str, operator: Operator, theme: str) -> list[str]:
    """Read the ids of a block.

    Raises VectorFileError unless the operator has the dtype and there is at least one id. Each id must
    appear once, begin with `<operator>/<theme>/<dtype>/`, be printable and not end with a space.
    """
    if dtype not in operator.dtypes():
        known = ", ".join(operator.dtypes())
        raise VectorFileError(f"{group.where}: dtype is not one of {known}")
    ids = group.dataset("id").texts()
    if not ids or len(set(ids)) != len(ids):
        raise VectorFileError(f"{group.where}/id: expected at least one id, and none twice")
    for case_id in ids:
        if why := why_no_id(case_id, operator.name, theme, dtype):
            raise VectorFileError(f"{group.where}/id: {case_id!r} {why}")
    return ids


class _Reader:
    """Reads a block; every tensor must have the shape that the attributes and the block's sizes ask for."""

    def __init__(
        self, group: Folder, path: str, operator: Operator, theme: str, parsed: Parsed
    ) -> None:
        self._group, self._path, self._operator, self._parsed = group, path, operator, parsed
        self._where, self._dtype = group.where, path.partition("/")[0]
        self._ids = read_ids(group, self._dtype, operator, theme)
        self._tier = self._read_tier()
        self._sizes = {symbol: self._size(symbol) for symbol in operator.sizes}
        self._given = self._read_given()
        self._attributes = operator.with_defaults(self._given[0])
        if why := too_large(operator, self._attributes, self._sizes):
            raise self._error(why)

    def _error(self, why: str) -> VectorFileError:
        return VectorFileError(f"{self._where}: {why}")

    def block(self) -> Block:
        """Read the block."""
        group, operator = self._group, self._operator
        self._check_attributes()
        inputs = self._tensors(group.group("inputs"), operator.inputs)
        self._check_lengths(inputs)
        answers = {STORED: self._answer(group)}
        if self._tier == "ambiguous":
            for name, below in group.group("readings").groups().items():
                answers[self._reading(name, below.where)] = self._answer(below)
        outputs = answers[STORED].outputs.keys()
        if not outputs or any(answer.outputs.keys() != outputs for answer in answers.values()):
            raise self._error(
                "expected at least one output, and the same outputs under every reading"
            )
        return Block(
            self._path, operator.name, self._dtype, self._tier, self._ids, self._given, inputs, answers
        )  # fmt: skip

    def _read_tier(self) -> str:
        tier = self._group.attribute("tier")
        if tier not in TIERS:
            raise self._error(f"tier is {tier!r}; expected one of {', '.join(TIERS)}")
        # the digests cover the block's name
        named = next((t for t in TIERS if f"-{t}" in self._path), "required")
        if tier != named:
            raise self._error(f"tier is {tier!r}; expected {named!r} from the block's name")
        if ("readings" in self._group) != (tier == "ambiguous"):
            raise self._error("expected the group readings if, and only if, the tier is ambiguous")
        return str(tier)

    def _size(self, symbol: str) -> int:
        size = self._group.attribute(symbol)
        if not isinstance(size, int) or size < 1:
            raise self._error(f"{symbol} is {size!r}; expected a positive integer")
        return size

    def _read_given(self) -> list[dict[str, Any]]:
        """Read the attributes that each case writes out; equal ones are one object."""
        texts = self._group.dataset("attributes").texts()
        if len(texts) != len(self._ids):
            raise self._error(f"has attributes for {len(texts)} cases, but {len(self._ids)} ids")
        for text, case_id in zip(texts, self._ids, strict=True):
            if text not in self._parsed:
                try:
                    self._parsed[text] = attributes_from_json(text, self._operator)
                except (ValueError, RecursionError) as error:
                    raise self._error(f"attributes of {case_id}: {error}") from None
        return [self._parsed[text] for text in texts]

    def _check_attributes(self) -> None:
        """Raise VectorFileError unless the attributes of all cases ask for these sizes and forms."""
        operator = self._operator
        there = {*self._group.group("inputs").names, *self._group.group("outputs").names}
        tensors = [
            t for t in (*operator.inputs, *operator.outputs) if t.required or t.name in there
        ]
        symbols = {axis: symbol for symbol, axis in operator.sizes.items()}
        hidden = operator.setting("hidden")
        for given in {id(one): one for one in self._given}.values():
            attributes = operator.with_defaults(given)
            wanted = {"direction": len(operator.directions(attributes))}
            if hidden and hidden.name in attributes:
                wanted["hidden"] = attributes[hidden.name]
            for axis, length in wanted.items():
                symbol = symbols.get(axis)
                if symbol and self._sizes[symbol] != length:
                    found = self._sizes[symbol]
                    raise self._error(f"{symbol} is {found}; expected {length} from the attributes")
            if any(t.form(attributes) is not t.form(self._attributes) for t in tensors):
                raise self._error(
                    f"the cases with attributes {given} need other shapes than the first case"
                )

    def _check_lengths(self, inputs: Arrays) -> None:
        """Raise VectorFileError unless every length is from 0 to the number of steps."""
        lengths = self._operator.tensor("lengths")
        if lengths and lengths.name in inputs:
            array = inputs[lengths.name]
            [time] = [self._sizes[s] for s, axis in self._operator.sizes.items() if axis == "time"]
            wrong = array[(array < 0) | (array > time)]
            if wrong.size:
                raise VectorFileError(
                    f"{self._where}/inputs/{lengths.name}: has a length of {wrong[0]}; expected 0 to {time}"
                )

    def _reading(self, name: str, where: str) -> ReadingNames:
        """Split a group's name into readings; raise VectorFileError unless each is one of this owner's."""
        names = tuple(name.split(TOGETHER))
        known = [one for one, what in READINGS.items() if self._operator.owner in what.owners]
        if names != tuple(one for one in known if one in names):
            raise VectorFileError(
                f"{where}: is not a reading that this version of grucible knows; generate the file again"
            )
        return names

    def _answer(self, group: Folder) -> Answer:
        """Read the outputs and tolerances below a group."""
        folder = group.group("outputs")
        outputs = self._tensors(folder, self._operator.outputs)
        if self._tier != "nonportable":
            for name, array in outputs.items():
                self._check_finite(f"{folder.where}/{name}", array)
        tolerances = {}
        for name, limits in group.group("tolerance").groups().items():
            tolerances[name] = self._tensors(limits, self._operator.outputs, outputs)
            for output, array in tolerances[name].items():
                if array.view(np.uint32).max(initial=0) > _INFINITY:
                    where = f"{limits.where}/{output}"
                    raise VectorFileError(f"{where}: a tolerance is negative, -0 or NaN")
        return Answer(outputs, tolerances)

    def _check_finite(self, where: str, array: Array) -> None:
        finite = np.isfinite(array).reshape(len(array), -1).all(axis=1)
        if not finite.all():
            raise VectorFileError(
                f"{where}: {self._ids[int(np.argmin(finite))]} expects NaN or an infinity, which only the "
                f"tier nonportable may; its tier is {self._tier}; generate the file again"
            )

    def _tensors(
        self, folder: Folder, tensors: Sequence[Tensor], limits_of: Collection[str] | None = None
    ) -> Arrays:
        """Read the tensors in a folder: all required ones, and the optional ones that are there.

        With `limits_of`, read tolerances instead: one float32 tensor for each output that it names.
        """
        if others := set(folder.names) - {tensor.name for tensor in tensors}:
            raise VectorFileError(
                f"{folder.where}/{min(others)}: {self._operator.name} has no such tensor"
            )
        found = {}
        for tensor in tensors:
            needed = tensor.required if limits_of is None else tensor.name in limits_of
            if needed or (limits_of is None and tensor.name in folder):
                data = folder.dataset(tensor.name)
                allowed: Sequence[str] = self._operator.types[tensor.type]
                if limits_of is not None:
                    allowed = ("float32",)
                elif allowed == self._operator.dtypes():
                    allowed = (self._dtype,)
                shape = self._operator.shape(tensor, self._attributes, self._sizes)
                shape = (len(self._ids), *shape)
                if data.shape != shape or data.dtype not in allowed:
                    raise VectorFileError(
                        f"{data.where}: is {data.dtype} {data.shape}; "
                        f"expected {' or '.join(allowed)} {shape}"
                    )
                found[tensor.name] = data.array
        return found
