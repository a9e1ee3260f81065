"""Reading blocks of vector files: every row must be a question of the operator, with its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.errors import VectorFileError
from ..cases.operators.readings import READINGS, STORED, ReadingNames
from ..cases.operators.signature import Operator
from ..cases.question import Question, QuestionError, TensorType, pose, sizes_of, why_no_id
from .block import TIERS, TOGETHER, Block, attributes_from_json
from .case import Answer, rows_of
from .hdf5 import Folder

_FLOAT32 = np.dtype(np.float32)
_INFINITY = 0x7F800000
"""The bits of float32's infinity. The bits of NaN and of negative numbers, as integers, are larger."""


def open_block(group: Folder, path: str, operator: Operator, theme: str) -> Block:
    """Read and check the block at `path` of a vector file; VectorFileError if it is not valid.

    All rows must ask for the same shapes. Tolerances must not be negative, and expected numbers must be
    finite unless the tier is nonportable.
    """
    dtype = path.partition("/")[0]
    ids, tier = read_ids(group, dtype, operator, theme), _read_tier(group, path)
    given = _read_given(group, ids, operator)
    inputs = _read_inputs(group.group("inputs"), operator, len(ids))
    outputs = group.group("outputs").names
    asked: Mapping[str, TensorType] = {}
    for row, case_id in enumerate(ids):
        try:
            question = pose(operator, given[row], rows_of(inputs, row), outputs=outputs)
        except QuestionError as error:
            raise VectorFileError(f"{group.where}: {case_id}: {error}") from None
        asked = asked or question.outputs
        _check_alike(group, question, dtype, asked)
    answers = {STORED: _read_answer(group, asked, ids, tier)}
    if tier == "ambiguous":
        for name, below in group.group("readings").groups().items():
            answers[_reading(operator, name, below)] = _read_answer(below, asked, ids, tier)
    return Block(path, operator.name, dtype, tier, ids, given, inputs, answers)


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


def _read_tier(group: Folder, path: str) -> str:
    """Read the tier; it must agree with the block's name, which the digests cover."""
    tier = group.attribute("tier")
    named = next((t for t in TIERS if f"-{t}" in path), "required")
    if tier != named:
        raise VectorFileError(
            f"{group.where}: tier is {tier!r}; expected {named!r} from the block's name"
        )
    if ("readings" in group) != (tier == "ambiguous"):
        raise VectorFileError(
            f"{group.where}: expected the group readings if, and only if, the tier is ambiguous"
        )
    return named


def _read_given(group: Folder, ids: Sequence[str], operator: Operator) -> list[dict[str, Any]]:
    """Read the attributes that each case sets; equal attributes become one object."""
    texts = group.dataset("attributes").texts()
    if len(texts) != len(ids):
        raise VectorFileError(
            f"{group.where}: has attributes for {len(texts)} cases, but {len(ids)} ids"
        )
    parsed: dict[str, dict[str, Any]] = {}
    for text, case_id in zip(texts, ids, strict=True):
        if text not in parsed:
            try:
                parsed[text] = attributes_from_json(text, operator)
            except ValueError as error:
                raise VectorFileError(f"{group.where}: attributes of {case_id}: {error}") from None
    return [parsed[text] for text in texts]


def _read_inputs(folder: Folder, operator: Operator, count: int) -> Arrays:
    """Read the inputs in a folder, in the operator's order; each needs `count` rows."""
    order = [tensor.name for tensor in operator.inputs]
    found = {}
    for name in sorted(folder.names, key=lambda one: order.index(one) if one in order else -1):
        data = folder.dataset(name)
        if data.shape[0] != count:
            raise VectorFileError(f"{data.where}: has {data.shape[0]} rows; expected {count}")
        found[name] = data.array
    return found


def _check_alike(
    group: Folder, question: Question, dtype: str, asked: Mapping[str, TensorType]
) -> None:
    """Raise VectorFileError unless a row has the dtype, the sizes and the outputs of the block."""
    sizes = {symbol: group.attribute(symbol) for symbol in sizes_of(question)}
    for what, found, expected in (
        ("dtype", question.dtype, dtype),
        ("sizes", sizes_of(question), sizes),
        ("outputs", question.outputs, asked),
    ):
        if found != expected:
            raise VectorFileError(
                f"{group.where}: a row has other {what} than the block: {found}, not {expected}"
            )


def _reading(operator: Operator, name: str, group: Folder) -> ReadingNames:
    """Split a group's name into readings; VectorFileError unless all are readings of the owner."""
    names = tuple(name.split(TOGETHER))
    known = [one for one, what in READINGS.items() if operator.owner in what.owners]
    if names != tuple(one for one in known if one in names):
        raise VectorFileError(
            f"{group.where}: is not a reading that this version of grucible knows; generate the file again"
        )
    return names


def _read_answer(
    group: Folder, asked: Mapping[str, TensorType], ids: Sequence[str], tier: str
) -> Answer:
    """Read the outputs and tolerances below a group."""
    outputs = _read_tensors(group.group("outputs"), asked, len(ids))
    for name, array in outputs.items() if tier != "nonportable" else ():
        finite = np.isfinite(array).reshape(len(array), -1).all(axis=1)
        if not finite.all():
            raise VectorFileError(
                f"{group.where}/outputs/{name}: {ids[int(np.argmin(finite))]} expects NaN or an infinity, "
                f"which only the tier nonportable may; its tier is {tier}; generate the file again"
            )
    limits = {name: TensorType(one.shape, _FLOAT32) for name, one in asked.items()}
    tolerances = {}
    for one, folder in group.group("tolerance").groups().items():
        tolerances[one] = _read_tensors(folder, limits, len(ids))
        for name, array in tolerances[one].items():
            if array.view(np.uint32).max(initial=0) > _INFINITY:
                raise VectorFileError(f"{folder.where}/{name}: a tolerance is negative, -0 or NaN")
    return Answer(outputs, tolerances)


def _read_tensors(folder: Folder, wanted: Mapping[str, TensorType], count: int) -> Arrays:
    """Read the tensors in a folder: exactly those that are wanted, each with `count` rows."""
    if set(folder.names) != wanted.keys():
        raise VectorFileError(f"{folder.where}: has other tensors than {', '.join(wanted)}")
    found: dict[str, Array] = {}
    for name, (shape, dtype) in wanted.items():
        data = folder.dataset(name)
        if data.shape != (count, *shape) or data.array.dtype != dtype:
            raise VectorFileError(
                f"{data.where}: is {data.dtype} {data.shape}; expected {dtype} {(count, *shape)}"
            )
        found[name] = data.array
    return found
