"""A block of a vector file, checked against the operator's description; its rows are read in slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.errors import VectorFileError
from ..cases.operators.readings import READINGS, STORED, ReadingNames
from ..cases.operators.signature import Operator, Tensor
from ..cases.question import too_large, why_no_id
from ..cases.selection import selected
from .block import TIERS, TOGETHER, Block, attributes_from_json
from .case import Answer
from .hdf5 import Folder, Stored

SLICE_BYTES = 16 << 20
PARTS = ("attributes", "id", "inputs", "outputs", "tolerance")
"""What every block has."""
_INFINITY = 0x7F800000
"""The bits of infinity as float32; those of NaN, and of what has a sign, are larger."""
_NOT_ROWS = "id and attributes are not one row per case, each id once"

Parsed = dict[str, dict[str, Any]]
"""The attributes that were read of blocks before, by their text."""


@dataclass(frozen=True)
class StoredAnswer:
    """The datasets of one answer: by output, and by class of arithmetic and output."""

    outputs: Mapping[str, Stored]
    tolerances: Mapping[str, Mapping[str, Stored]]

    @property
    def row_bytes(self) -> int:
        """The bytes of one row of all of them."""
        folders = [self.outputs, *self.tolerances.values()]
        return sum(stored.row_bytes for folder in folders for stored in folder.values())

    def read(self, start: int, stop: int) -> Answer:
        """Read rows start … stop. Raises VectorFileError for a tolerance that is negative, -0 or NaN."""
        return Answer(
            _rows(self.outputs, start, stop),
            {name: _limits(stored, start, stop) for name, stored in self.tolerances.items()},
        )


@dataclass(frozen=True)
class StoredBlock:
    """A block of a vector file, checked; `read` gives its rows."""

    path: str
    operator: Operator
    dtype: str
    tier: str
    ids: list[str]
    given: list[dict[str, Any]]
    inputs: Mapping[str, Stored]
    answers: Mapping[ReadingNames, StoredAnswer]

    def __len__(self) -> int:
        return len(self.ids)

    def read(self, start: int, stop: int, *, inputs: bool = True) -> Block:
        """Read rows start … stop; without `inputs` there are none.

        Raises VectorFileError for a tolerance that is none, and for an expected NaN or infinity where the
        tier is not nonportable.
        """
        answers = {names: stored.read(start, stop) for names, stored in self.answers.items()}
        if self.tier != "nonportable":
            for names, answer in answers.items():
                self._check_finite(self.answers[names].outputs, answer.outputs, start)
        return Block(
            path=self.path,
            operator=self.operator.name,
            dtype=self.dtype,
            tier=self.tier,
            ids=self.ids[start:stop],
            given=self.given[start:stop],
            inputs=_rows(self.inputs, start, stop) if inputs else {},
            answers=answers,
        )

    def _check_finite(self, stored: Mapping[str, Stored], outputs: Arrays, start: int) -> None:
        """Raise VectorFileError for an expected number, of rows from `start` on, that is not finite."""
        for name, array in outputs.items():
            finite = np.isfinite(array).reshape(len(array), -1).all(axis=1)
            if not finite.all():
                case_id = self.ids[start + int(np.argmin(finite))]
                raise VectorFileError(
                    f"{stored[name].where}: {case_id} expects NaN or an infinity, and its tier is "
                    f"{self.tier}; expected finite numbers, or the tier nonportable; generate the file again"
                )

    def slices(self) -> Iterator[Block]:
        """Read the block in slices of some SLICE_BYTES."""
        return (self.read(rows.start, rows.stop) for rows in self.steps())

    def selected(
        self, select: Sequence[str], *, inputs: bool = True
    ) -> Iterator[tuple[Array, Block]]:
        """Read the rows whose id `select` matches, in slices: their places, and what is in them."""
        for step in self.steps():
            rows = np.array([row for row in step if selected(self.ids[row], select)])
            if rows.size:
                first = int(rows[0])
                block = self.read(first, int(rows[-1]) + 1, inputs=inputs)
                yield rows, block if len(block) == len(rows) else block.rows(rows - first)

    def steps(self) -> Iterator[range]:
        """Return the rows of each slice."""
        row = sum(stored.row_bytes for stored in self.inputs.values())
        row += sum(stored.row_bytes for stored in self.answers.values())
        step = max(1, SLICE_BYTES // max(1, row))
        return (range(start, min(start + step, len(self))) for start in range(0, len(self), step))


def _rows(stored: Mapping[str, Stored], start: int, stop: int) -> Arrays:
    return {name: data.read(start, stop) for name, data in stored.items()}


def _limits(stored: Mapping[str, Stored], start: int, stop: int) -> Arrays:
    arrays = _rows(stored, start, stop)
    for name, array in arrays.items():
        if array.view(np.uint32).max(initial=0) > _INFINITY:
            raise VectorFileError(f"{stored[name].where}: a tolerance is negative, -0 or NaN")
    return arrays


def open_block(
    group: Folder, path: str, operator: Operator, theme: str, parsed: Parsed
) -> StoredBlock:
    """Check the block at `path` of a vector file; VectorFileError for anything that is none."""
    dtype = path.partition("/")[0]
    ids = read_ids(group, dtype, operator, theme)
    tier = _tier(group, path)
    sizes = _sizes(group, operator)
    given = _given(group, ids, operator, parsed)
    attributes = operator.with_defaults(given[0])
    if why := too_large(operator, attributes, sizes):
        raise VectorFileError(f"{group.where}: {why}")
    tensors = _Tensors(operator, dtype, sizes, attributes, len(ids))
    tensors.check_attributes(given, group)
    inputs = tensors.folder(group, "inputs", operator.inputs)
    _check_lengths(inputs, operator, sizes)
    answers = {STORED: tensors.answer(group)}
    if tier == "ambiguous":
        for name, below in group.group("readings").groups().items():
            answers[_reading(name, operator, below.where)] = tensors.answer(below)
    _check_same_outputs(answers, group.where)
    return StoredBlock(path, operator, dtype, tier, ids, given, inputs, answers)


def read_ids(group: Folder, dtype: str, operator: Operator, theme: str) -> list[str]:
    """Read the ids of a block, and look whether its PARTS are there.

    Raises VectorFileError unless each id is there once, begins with `<operator>/<theme>/<dtype>/` and is a
    line as a question has it, and the operator has the dtype.
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
    named = next((t for t in TIERS if f"-{t}" in path), "required")  # the digest covers the path
    if tier != named:
        raise VectorFileError(
            f"{where}: tier is {tier!r}; expected {named!r} from the block's name"
        )
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
    """Return the attributes that each case of a block writes out; equal ones are one object."""
    texts = group.dataset("attributes").texts()
    if len(texts) != len(ids):
        raise VectorFileError(f"{group.where}: {_NOT_ROWS}")
    for text, case_id in zip(texts, ids, strict=True):
        if text not in parsed:
            try:
                parsed[text] = attributes_from_json(text, operator)
            except (ValueError, RecursionError) as error:
                raise VectorFileError(f"{group.where}: attributes of {case_id}: {error}") from None
    return [parsed[text] for text in texts]


def _reading(group_name: str, operator: Operator, where: str) -> ReadingNames:
    """Return the readings that a group is named after, each of a point that the owner leaves open."""
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
    wrong = data.array[(data.array < 0) | (data.array > time)]
    if wrong.size:
        raise VectorFileError(f"{data.where}: has a length of {wrong[0]}; expected 0 to {time}")


@dataclass(frozen=True)
class _Tensors:
    """What the tensors of a block must be.

    They are those of `operator`, in the forms that `attributes` ask for, of these sizes, with `rows` rows.
    """

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
        """Return the outputs and tolerances below `group`."""
        outputs = self.folder(group, "outputs", self.operator.outputs)
        there = [tensor for tensor in self.operator.outputs if tensor.name in outputs]
        classes = group.group("tolerance").groups()
        return StoredAnswer(
            outputs, {name: self._limits(arrays, there) for name, arrays in classes.items()}
        )

    def folder(self, parent: Folder, name: str, wanted: Sequence[Tensor]) -> dict[str, Stored]:
        """Return the tensors in the group `name`, those that must be there and those that are."""
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

    def _limits(self, arrays: Folder, outputs: Sequence[Tensor]) -> dict[str, Stored]:
        """Return the tolerances of one class, one dataset for each of the outputs."""
        self._check_names(arrays, self.operator.outputs)
        stored = {}
        for tensor in outputs:
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
