"""A block of an open vector file: checked against the operator's description, read in slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import h5py

from ..cases.dtypes import Arrays
from ..cases.errors import VectorFileError
from ..cases.operators.readings import readings_of
from ..cases.operators.signature import Operator, Tensor
from .case import Block, attributes_from_json
from .digest import Opener
from .hdf5 import Stored, attribute, children, has_member, subgroup

SLICE_BYTES = 16 << 20
TIERS = ("required", "ambiguous", "nonportable", "invalid")


@dataclass(frozen=True)
class StoredBlock:
    """A block of an open vector file, checked; `read` gives its rows."""

    path: str
    operator: Operator
    dtype: str
    tier: str
    sizes: Mapping[str, int]
    ids: list[str]
    given: list[dict[str, Any]]
    inputs: Mapping[str, Stored]
    outputs: Mapping[str, Stored]
    readings: Mapping[str, Mapping[str, Stored]]
    tolerances: Mapping[str, Mapping[str, Mapping[str, Stored]]]
    probe_names: list[str]
    probes: Stored | None

    def __len__(self) -> int:
        return len(self.ids)

    def read(self, start: int, stop: int, *, inputs: bool = True) -> Block:
        """Rows start … stop; without `inputs`, where nobody looks at them, there are none, and no
        probes."""

        def rows(stored: Mapping[str, Stored]) -> Arrays:
            return {name: data.read(start, stop) for name, data in stored.items()}

        def limits(stored: Mapping[str, Stored]) -> Arrays:
            arrays = rows(stored)
            for name, array in arrays.items():
                if not (array >= 0).all():
                    raise VectorFileError(f"{stored[name].where}: a tolerance is negative or NaN")
            return arrays

        return Block(
            self.path,
            self.operator.name,
            self.dtype,
            self.tier,
            self.ids[start:stop],
            self.given[start:stop],
            rows(self.inputs) if inputs else {},
            rows(self.outputs),
            {name: rows(outputs) for name, outputs in self.readings.items()},
            {
                reading: {name: limits(stored) for name, stored in classes.items()}
                for reading, classes in self.tolerances.items()
            },
            self.probed(start, stop) if inputs else {},
        )

    def probed(self, start: int, stop: int) -> Arrays:
        """By misreading, which of the rows start … stop catch it; nothing where that is not stored."""
        if self.probes is None:
            return {}
        caught = self.probes.read(start, stop) != 0
        return {name: caught[:, place] for place, name in enumerate(self.probe_names)}

    def slices(self, *, inputs: bool = True) -> Iterator[Block]:
        """The block in slices of rows of some SLICE_BYTES."""
        classes = [one for reading in self.tolerances.values() for one in reading.values()]
        folders = [self.inputs, self.outputs, *self.readings.values(), *classes]
        row = sum(stored.row_bytes for folder in folders for stored in folder.values())
        step = max(1, SLICE_BYTES // max(1, row))
        return (
            self.read(start, start + step, inputs=inputs) for start in range(0, len(self), step)
        )


def stored_block(file: Any, path: str, operator: Operator, opened: Opener) -> StoredBlock:
    """The block at `path` of an open vector file; VectorFileError for anything that is none."""
    where = f"{file.filename}: /{path}"
    dtype = path.partition("/")[0]
    if dtype not in operator.dtypes():
        raise VectorFileError(f"{where}: dtype is not one of {', '.join(operator.dtypes())}")
    group = file[path]
    tier = attribute(group, "tier")
    if tier not in TIERS:
        raise VectorFileError(f"{where}: tier is {tier!r}; expected one of {', '.join(TIERS)}")
    told = next((t for t in TIERS if f"-{t}" in path), "required")  # the digest covers the path
    if tier != told:
        raise VectorFileError(f"{where}: tier is {tier!r}; expected {told!r} from the block's name")
    if ("readings" in group) != (tier == "ambiguous"):
        raise VectorFileError(f"{where}: readings are there exactly where tier is ambiguous")
    sizes = {}
    for symbol in operator.sizes:
        sizes[symbol] = attribute(group, symbol)
        if not isinstance(sizes[symbol], int) or sizes[symbol] < 1:
            raise VectorFileError(
                f"{where}: {symbol} is {sizes[symbol]!r}; expected a positive integer"
            )
    id_data, attributes_data = (
        opened(group, "id", where),
        opened(group, "attributes", where),
    )
    ids = id_data.texts(0, id_data.shape[0])
    texts = attributes_data.texts(0, attributes_data.shape[0])
    if len(texts) != len(ids) or not ids or len(set(ids)) != len(ids):
        raise VectorFileError(f"{where}: id and attributes are not one row per case, each id once")
    parsed: dict[str, dict[str, Any]] = {}
    for text, case_id in zip(texts, ids, strict=True):
        if text not in parsed:
            parsed[text] = _given(text, case_id, operator, where)
    given = [parsed[text] for text in texts]
    first = operator.with_defaults(given[0])
    named = {*subgroup(group, "inputs", where), *subgroup(group, "outputs", where)}
    tensors = [t for t in (*operator.inputs, *operator.outputs) if t.required or t.name in named]
    for one in parsed.values():
        attributes = operator.with_defaults(one)
        _check_agreement(operator, attributes, sizes, where)
        if any(t.form(attributes) is not t.form(first) for t in tensors):
            raise VectorFileError(f"{where}: the cases with attributes {one} need other shapes")

    def folder(parent: Any, name: str, below: str, wanted: tuple[Tensor, ...]) -> dict[str, Stored]:
        inside = subgroup(parent, name, below)
        names = list(inside)
        for found in names:
            if found not in [t.name for t in wanted]:
                raise VectorFileError(f"{below}/{name}/{found}: {operator.name} has no such tensor")
        stored = {}
        for tensor in wanted:
            if tensor.name in names or tensor.required:
                data = stored[tensor.name] = opened(inside, tensor.name, f"{below}/{name}")
                _check_tensor(data, tensor, operator, first, sizes, dtype, len(ids))
        return stored

    def tolerance(parent: Any, below: str) -> dict[str, dict[str, Stored]]:
        inside = subgroup(parent, "tolerance", below)
        return {
            name: limits(subgroup(inside, name, f"{below}/tolerance"), f"{below}/tolerance/{name}")
            for name in children(inside, h5py.Group, f"{below}/tolerance")
        }

    def limits(arrays: Any, below: str) -> dict[str, Stored]:
        stored = {}
        for found in arrays:
            if found not in [t.name for t in operator.outputs]:
                raise VectorFileError(f"{below}/{found}: {operator.name} has no such output")
        for tensor in operator.present(operator.outputs, absent):
            data = stored[tensor.name] = opened(arrays, tensor.name, below)
            shape = (len(ids), *operator.shape(tensor, first, sizes))
            if data.shape != shape or data.dtype != "float32":
                raise VectorFileError(
                    f"{data.where}: is {data.dtype} {data.shape}; expected float32 {shape}"
                )
        return stored

    inputs = folder(group, "inputs", where, operator.inputs)
    _check_lengths(inputs, operator, sizes)
    outputs = folder(group, "outputs", where, operator.outputs)
    if not outputs:
        raise VectorFileError(f"{where}/outputs: has no output; expected one or more")
    absent = {t.name for t in operator.outputs} - outputs.keys()
    readings, tolerances = {}, {"": tolerance(group, where)}
    if "readings" in group:
        inside = subgroup(group, "readings", where)
        for name in children(inside, h5py.Group, f"{where}/readings"):
            below = f"{where}/readings/{name}"
            try:
                readings_of(name)
            except KeyError:
                raise VectorFileError(f"{below}: is not a reading this grucible knows") from None
            readings[name] = folder(inside[name], "outputs", below, operator.outputs)
            if readings[name].keys() != outputs.keys():
                raise VectorFileError(
                    f"{below}/outputs: has {', '.join(readings[name]) or 'none'}; "
                    f"expected {', '.join(outputs)}"
                )
            tolerances[name] = tolerance(inside[name], below)
    probe_names, probes = _stored_probes(group, where, opened, len(ids))
    return StoredBlock(
        path,
        operator,
        dtype,
        tier,
        sizes,
        ids,
        given,
        inputs,
        outputs,
        readings,
        tolerances,
        probe_names,
        probes,
    )


def _stored_probes(
    group: Any, where: str, opened: Opener, rows: int
) -> tuple[list[str], Stored | None]:
    """The names of a block's probes and which case catches which; a block may have none."""
    if not has_member(group, "probes"):
        return [], None
    name_data = opened(group, "probe_names", where)
    names = name_data.texts(0, name_data.shape[0])
    data = opened(group, "probes", where)
    if data.shape != (rows, len(names)) or data.dtype != "uint8" or len(set(names)) != len(names):
        raise VectorFileError(
            f"{data.where}: is {data.dtype} {data.shape}; expected uint8 {(rows, len(names))}, "
            "a column for each of probe_names"
        )
    return names, data


def _check_agreement(
    operator: Operator, attributes: Mapping[str, Any], sizes: Mapping[str, int], where: str
) -> None:
    """Raise VectorFileError unless the sizes are those that the attributes ask for."""
    symbols = {axis: symbol for symbol, axis in operator.sizes.items()}
    wanted = {"direction": len(operator.directions(attributes))}
    hidden = operator.setting("hidden")
    if hidden and hidden.name in attributes:
        wanted["hidden"] = attributes[hidden.name]
    for axis, length in wanted.items():
        symbol = symbols.get(axis)
        if symbol and sizes[symbol] != length:
            raise VectorFileError(
                f"{where}: {symbol} is {sizes[symbol]}; expected {length} from the attributes"
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


def _given(text: str, case_id: str, operator: Operator, where: str) -> dict[str, Any]:
    try:
        return attributes_from_json(text, operator)
    except (ValueError, RecursionError) as error:
        raise VectorFileError(f"{where}: attributes of {case_id}: {error}") from None


def _check_tensor(
    data: Stored,
    tensor: Tensor,
    operator: Operator,
    attributes: Mapping[str, Any],
    sizes: Mapping[str, int],
    dtype: str,
    rows: int,
) -> None:
    shape = (rows, *operator.shape(tensor, attributes, sizes))
    allowed = operator.types[tensor.type]
    types = (dtype,) if allowed == operator.dtypes() else allowed
    if data.shape != shape or data.dtype not in types:
        raise VectorFileError(
            f"{data.where}: is {data.dtype} {data.shape}; expected {' or '.join(types)} {shape}"
        )
