"""Opening a block of a vector file: everything in it is held against the operator's description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import h5py

from ..cases.errors import VectorFileError
from ..cases.operators.readings import READINGS, STORED, ReadingNames
from ..cases.operators.signature import Operator, Tensor
from .attributes import attribute
from .block import attributes_from_json
from .digest import Opener
from .hdf5 import Stored, children, subgroup
from .stored_block import StoredAnswer, StoredBlock

TIERS = ("required", "ambiguous", "nonportable", "invalid")
TOGETHER = " + "
"""Between the names of readings that are followed together, in the name of their group."""


def open_block(file: Any, path: str, operator: Operator, theme: str, opened: Opener) -> StoredBlock:
    """The block at `path` of an open vector file; VectorFileError for anything that is none."""
    where = f"{file.filename}: /{path}"
    dtype = path.partition("/")[0]
    if dtype not in operator.dtypes():
        raise VectorFileError(f"{where}: dtype is not one of {', '.join(operator.dtypes())}")
    group = file[path]
    tier = _tier(group, path, where)
    sizes = _sizes(group, operator, where)
    ids, given = _cases(group, operator, where, opened)
    check_ids(ids, f"{operator.name}/{theme}/{dtype}/", f"{where}/id")
    tensors = _Tensors(operator, dtype, sizes, operator.with_defaults(given[0]), len(ids), opened)
    inside = [subgroup(group, folder, where) for folder in ("inputs", "outputs")]
    tensors.check_attributes(given, {name for folder in inside for name in folder}, where)
    inputs = tensors.folder(group, "inputs", where, operator.inputs)
    _check_lengths(inputs, operator, sizes)
    answers = {STORED: tensors.answer(group, where)}
    if tier == "ambiguous":
        readings = subgroup(group, "readings", where)
        for name in children(readings, h5py.Group, f"{where}/readings"):
            below = f"{where}/readings/{name}"
            answers[_reading(name, below)] = tensors.answer(readings[name], below)
    _check_same_outputs(answers, where)
    return StoredBlock(path, operator, dtype, tier, ids, given, inputs, answers)


def _tier(group: Any, path: str, where: str) -> str:
    tier = attribute(group, "tier")
    if tier not in TIERS:
        raise VectorFileError(f"{where}: tier is {tier!r}; expected one of {', '.join(TIERS)}")
    told = next((t for t in TIERS if f"-{t}" in path), "required")  # the digest covers the path
    if tier != told:
        raise VectorFileError(f"{where}: tier is {tier!r}; expected {told!r} from the block's name")
    if ("readings" in group) != (tier == "ambiguous"):
        raise VectorFileError(f"{where}: readings are there exactly where tier is ambiguous")
    return str(tier)


def _sizes(group: Any, operator: Operator, where: str) -> dict[str, int]:
    sizes = {}
    for symbol in operator.sizes:
        size = attribute(group, symbol)
        if not isinstance(size, int) or size < 1:
            raise VectorFileError(f"{where}: {symbol} is {size!r}; expected a positive integer")
        sizes[symbol] = size
    return sizes


def _cases(
    group: Any, operator: Operator, where: str, opened: Opener
) -> tuple[list[str], list[dict[str, Any]]]:
    """The ids of a block, and the attributes that each case writes out."""
    stored = [opened(group, name, where) for name in ("id", "attributes")]
    ids, texts = (one.texts(0, one.shape[0]) for one in stored)
    if len(texts) != len(ids) or not ids or len(set(ids)) != len(ids):
        raise VectorFileError(f"{where}: id and attributes are not one row per case, each id once")
    parsed: dict[str, dict[str, Any]] = {}
    for text, case_id in zip(texts, ids, strict=True):
        if text not in parsed:
            try:
                parsed[text] = attributes_from_json(text, operator)
            except (ValueError, RecursionError) as error:
                raise VectorFileError(f"{where}: attributes of {case_id}: {error}") from None
    return ids, [parsed[text] for text in texts]


def check_ids(ids: Sequence[str], prefix: str, where: str) -> None:
    """Raise VectorFileError unless every id begins with `<operator>/<theme>/<dtype>/`."""
    for case_id in ids:
        if not case_id.startswith(prefix):
            raise VectorFileError(f"{where}: {case_id!r} does not begin with {prefix}")


def _reading(group_name: str, where: str) -> ReadingNames:
    """The readings that a group is named after."""
    names = tuple(group_name.split(TOGETHER))
    if names != tuple(name for name in READINGS if name in names):
        raise VectorFileError(f"{where}: is not a reading this grucible knows")
    return names


def _check_same_outputs(answers: Mapping[ReadingNames, StoredAnswer], where: str) -> None:
    """Raise VectorFileError unless there are outputs, the same under every reading."""
    expected = answers[STORED].outputs
    if not expected:
        raise VectorFileError(f"{where}/outputs: has no output; expected one or more")
    for names, answer in answers.items():
        if answer.outputs.keys() != expected.keys():
            raise VectorFileError(
                f"{where}/readings/{TOGETHER.join(names)}/outputs: "
                f"has {', '.join(answer.outputs) or 'none'}; expected {', '.join(expected)}"
            )


def _check_lengths(
    inputs: Mapping[str, Stored], operator: Operator, sizes: Mapping[str, int]
) -> None:
    """Raise VectorFileError unless every length is one of a row's: 0 … time."""
    lengths = operator.tensor("lengths")
    if lengths is None or lengths.name not in inputs:
        return
    data = inputs[lengths.name]
    [time] = [sizes[symbol] for symbol, axis in operator.sizes.items() if axis == "time"]
    values = data.read(0, data.shape[0])
    wrong = values[(values < 0) | (values > time)]
    if wrong.size:
        raise VectorFileError(f"{data.where}: has a length of {wrong[0]}; expected 0 to {time}")


@dataclass(frozen=True)
class _Tensors:
    """What the tensors of a block must be: those of `operator`, of the forms that `attributes` ask
    for, of these sizes, with `rows` rows."""

    operator: Operator
    dtype: str
    sizes: Mapping[str, int]
    attributes: Mapping[str, Any]
    rows: int
    opened: Opener

    def check_attributes(
        self, given: Sequence[Mapping[str, Any]], named: set[str], where: str
    ) -> None:
        """Raise VectorFileError unless all cases ask for these sizes and forms."""
        both = (*self.operator.inputs, *self.operator.outputs)
        tensors = [t for t in both if t.required or t.name in named]
        seen: list[Mapping[str, Any]] = []
        for one in given:
            if any(one is other for other in seen):
                continue
            seen.append(one)
            attributes = self.operator.with_defaults(one)
            self._check_sizes(attributes, where)
            if any(t.form(attributes) is not t.form(self.attributes) for t in tensors):
                raise VectorFileError(f"{where}: the cases with attributes {one} need other shapes")

    def _check_sizes(self, attributes: Mapping[str, Any], where: str) -> None:
        symbols = {axis: symbol for symbol, axis in self.operator.sizes.items()}
        wanted = {"direction": len(self.operator.directions(attributes))}
        hidden = self.operator.setting("hidden")
        if hidden and hidden.name in attributes:
            wanted["hidden"] = attributes[hidden.name]
        for axis, length in wanted.items():
            symbol = symbols.get(axis)
            if symbol and self.sizes[symbol] != length:
                raise VectorFileError(
                    f"{where}: {symbol} is {self.sizes[symbol]}; "
                    f"expected {length} from the attributes"
                )

    def answer(self, group: Any, where: str) -> StoredAnswer:
        """The outputs and tolerances below `group`."""
        outputs = self.folder(group, "outputs", where, self.operator.outputs)
        inside = subgroup(group, "tolerance", where)
        below = f"{where}/tolerance"
        return StoredAnswer(
            outputs,
            {
                name: self._limits(subgroup(inside, name, below), f"{below}/{name}", outputs)
                for name in children(inside, h5py.Group, below)
            },
        )

    def folder(
        self, parent: Any, name: str, where: str, wanted: Sequence[Tensor]
    ) -> dict[str, Stored]:
        """The tensors in the group `name`, those that must be there and those that are."""
        inside, below = subgroup(parent, name, where), f"{where}/{name}"
        names = list(inside)
        self._check_names(names, wanted, below)
        stored = {}
        for tensor in wanted:
            if tensor.name in names or tensor.required:
                data = stored[tensor.name] = self.opened(inside, tensor.name, below)
                allowed = self.operator.types[tensor.type]
                floating = allowed == self.operator.dtypes()
                self._check_type(data, tensor, (self.dtype,) if floating else allowed)
        return stored

    def _limits(self, arrays: Any, where: str, outputs: Mapping[str, Stored]) -> dict[str, Stored]:
        """The tolerances of one class, one dataset for each output."""
        self._check_names(arrays, self.operator.outputs, where)
        stored = {}
        for tensor in self.operator.outputs:
            if tensor.name in outputs:
                data = stored[tensor.name] = self.opened(arrays, tensor.name, where)
                self._check_type(data, tensor, ("float32",))
        return stored

    def _check_names(self, names: Any, wanted: Sequence[Tensor], where: str) -> None:
        for found in names:
            if found not in [tensor.name for tensor in wanted]:
                raise VectorFileError(f"{where}/{found}: {self.operator.name} has no such tensor")

    def _check_type(self, data: Stored, tensor: Tensor, dtypes: Sequence[str]) -> None:
        shape = (self.rows, *self.operator.shape(tensor, self.attributes, self.sizes))
        if data.shape != shape or data.dtype not in dtypes:
            expected = f"{' or '.join(dtypes)} {shape}"
            raise VectorFileError(
                f"{data.where}: is {data.dtype} {data.shape}; expected {expected}"
            )
