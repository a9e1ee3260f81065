"""Opening a block of a vector file: everything in it is held against the operator's description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..cases.case_id import why_no_id
from ..cases.case_size import too_large
from ..cases.errors import VectorFileError
from ..cases.operators.readings import READINGS, STORED, ReadingNames
from ..cases.operators.signature import Operator, Tensor
from .block import attributes_from_json
from .hdf5.folder import Folder
from .hdf5.stored import Stored
from .stored_block import StoredAnswer, StoredBlock

MOST_DISTINCT = 30_000
"""So many attributes may differ in a file: to read and check those of one case takes 30 µs, and equal ones
are read once. A case spec makes no more cases."""
PARTS = ("attributes", "id", "inputs", "outputs", "tolerance")
"""What every block has."""
TIERS = ("required", "ambiguous", "nonportable")
TOGETHER = " + "
"""Between the names of readings that are followed together, in the name of their group."""

Parsed = dict[str, dict[str, Any]]
_NOT_ROWS = "id and attributes are not one row per case, each id once"


def open_block(
    group: Folder, path: str, operator: Operator, theme: str, parsed: Parsed
) -> StoredBlock:
    """The block at `path` of an open vector file; VectorFileError for anything that is none.

    `parsed` has the attributes that were read of blocks before, by their text.
    """
    dtype = path.partition("/")[0]
    ids = read_ids(group, dtype, operator, theme)
    tier = _tier(group, path)
    sizes = _sizes(group, operator)
    given = _given(group, ids, operator, parsed)
    if why := too_large(operator, operator.with_defaults(given[0]), sizes):
        raise VectorFileError(f"{group.where}: {why}")
    tensors = _Tensors(operator, dtype, sizes, operator.with_defaults(given[0]), len(ids))
    tensors.check_attributes(given, group)
    inputs = tensors.folder(group, "inputs", operator.inputs)
    _check_lengths(inputs, operator, sizes)
    answers = {STORED: tensors.answer(group)}
    if tier == "ambiguous":
        for name, below in group.group("readings").groups().items():
            answers[_reading(name, operator, below.where)] = tensors.answer(below)
    _check_same_outputs(answers, group.where)
    return StoredBlock(
        path=path,
        operator=operator,
        dtype=dtype,
        tier=tier,
        ids=ids,
        given=given,
        inputs=inputs,
        answers=answers,
    )


def read_ids(group: Folder, dtype: str, operator: Operator, theme: str) -> list[str]:
    """The ids of a block, of which nothing else is looked at, but whether it is there.

    Raises VectorFileError where one of PARTS is not, and unless each id is there once, begins with
    `<operator>/<theme>/<dtype>/` and is a line as a question has it, and the operator has the dtype.
    """
    if dtype not in operator.dtypes():
        known = ", ".join(operator.dtypes())
        raise VectorFileError(f"{group.where}: dtype is not one of {known}")
    for name in PARTS:
        if name not in group:
            raise VectorFileError(f"{group.where}/{name}: is missing")
    ids = group.dataset("id").texts()
    if not ids or len(set(ids)) != len(ids):
        raise VectorFileError(f"{group.where}: {_NOT_ROWS}")
    for case_id in ids:
        if why := why_no_id(case_id, operator.name, theme, dtype):
            raise VectorFileError(f"{group.where}/id: {case_id!r} {why}")
    return ids


def _tier(group: Folder, path: str) -> str:
    tier, where = group.attribute("tier"), group.where
    if tier not in TIERS:
        raise VectorFileError(f"{where}: tier is {tier!r}; expected one of {', '.join(TIERS)}")
    told = next((t for t in TIERS if f"-{t}" in path), "required")  # the digest covers the path
    if tier != told:
        raise VectorFileError(f"{where}: tier is {tier!r}; expected {told!r} from the block's name")
    if ("readings" in group) != (tier == "ambiguous"):
        raise VectorFileError(f"{where}: readings are there exactly where tier is ambiguous")
    return str(tier)


def _sizes(group: Folder, operator: Operator) -> dict[str, int]:
    sizes = {}
    for symbol in operator.sizes:
        size = group.attribute(symbol)
        if not isinstance(size, int) or size < 1:
            raise VectorFileError(
                f"{group.where}: {symbol} is {size!r}; expected a positive integer"
            )
        sizes[symbol] = size
    return sizes


def _given(
    group: Folder, ids: Sequence[str], operator: Operator, parsed: Parsed
) -> list[dict[str, Any]]:
    """The attributes that each case of a block writes out; equal ones are one object."""
    texts = group.dataset("attributes").texts()
    if len(texts) != len(ids):
        raise VectorFileError(f"{group.where}: {_NOT_ROWS}")
    if (distinct := len(parsed.keys() | set(texts))) > MOST_DISTINCT:
        raise VectorFileError(
            f"{group.where}/attributes: with it the file has {distinct:,} different attributes; "
            f"expected at most {MOST_DISTINCT:,}; write several files"
        )
    for text, case_id in zip(texts, ids, strict=True):
        if text not in parsed:
            try:
                parsed[text] = attributes_from_json(text, operator)
            except (ValueError, RecursionError) as error:
                raise VectorFileError(f"{group.where}: attributes of {case_id}: {error}") from None
    return [parsed[text] for text in texts]


def _reading(group_name: str, operator: Operator, where: str) -> ReadingNames:
    """The readings that a group is named after, each of a point that the operator's owner leaves open."""
    names = tuple(group_name.split(TOGETHER))
    known = [name for name, one in READINGS.items() if operator.owner in one.owners]
    if names != tuple(name for name in known if name in names):
        raise VectorFileError(
            f"{where}: is not a reading this grucible knows; generate the file again"
        )
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

    def check_attributes(self, given: Sequence[Mapping[str, Any]], group: Folder) -> None:
        """Raise VectorFileError unless all cases ask for these sizes and forms."""
        both = (*self.operator.inputs, *self.operator.outputs)
        inside = [group.group("inputs"), group.group("outputs")]
        tensors = [t for t in both if t.required or any(t.name in folder for folder in inside)]
        wanted = [t.form(self.attributes) for t in tensors]
        for one in {id(one): one for one in given}.values():
            attributes = self.operator.with_defaults(one)
            self._check_sizes(attributes, group.where)
            if any(t.form(attributes) is not form for t, form in zip(tensors, wanted, strict=True)):
                raise VectorFileError(
                    f"{group.where}: the cases with attributes {one} need other shapes"
                )

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

    def answer(self, group: Folder) -> StoredAnswer:
        """The outputs and tolerances below `group`."""
        outputs = self.folder(group, "outputs", self.operator.outputs)
        classes = group.group("tolerance").groups()
        return StoredAnswer(
            outputs, {name: self._limits(arrays, outputs) for name, arrays in classes.items()}
        )

    def folder(self, parent: Folder, name: str, wanted: Sequence[Tensor]) -> dict[str, Stored]:
        """The tensors in the group `name`, those that must be there and those that are."""
        inside = parent.group(name)
        self._check_names(inside, wanted)
        stored = {}
        for tensor in wanted:
            if tensor.name in inside or tensor.required:
                data = stored[tensor.name] = inside.dataset(tensor.name)
                allowed = self.operator.types[tensor.type]
                floating = allowed == self.operator.dtypes()
                self._check_type(data, tensor, (self.dtype,) if floating else allowed)
        return stored

    def _limits(self, arrays: Folder, outputs: Mapping[str, Stored]) -> dict[str, Stored]:
        """The tolerances of one class, one dataset for each output."""
        self._check_names(arrays, self.operator.outputs)
        stored = {}
        for tensor in self.operator.outputs:
            if tensor.name in outputs:
                data = stored[tensor.name] = arrays.dataset(tensor.name)
                self._check_type(data, tensor, ("float32",))
        return stored

    def _check_names(self, group: Folder, wanted: Sequence[Tensor]) -> None:
        known = [tensor.name for tensor in wanted]
        for found in group.names:
            if found not in known:
                raise VectorFileError(
                    f"{group.where}/{found}: {self.operator.name} has no such tensor"
                )

    def _check_type(self, data: Stored, tensor: Tensor, dtypes: Sequence[str]) -> None:
        shape = (self.rows, *self.operator.shape(tensor, self.attributes, self.sizes))
        if data.shape != shape or data.dtype not in dtypes:
            expected = f"{' or '.join(dtypes)} {shape}"
            raise VectorFileError(
                f"{data.where}: is {data.dtype} {data.shape}; expected {expected}"
            )
