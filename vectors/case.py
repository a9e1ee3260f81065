"""A case as users meet it, and a block of cases as files and generators hold it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..cases.dtypes import Array, Arrays
from ..cases.operators.known import OPERATORS
from ..cases.operators.readings import TOGETHER
from ..cases.operators.semantics import Semantics, semantics
from ..cases.operators.signature import Operator


@dataclass(frozen=True)
class Case:
    """One operator, one dtype, one value for every attribute, its inputs and expected outputs.

    `given` are the attributes written out, `attributes` all of them, defaults filled in. `inputs`
    and `outputs` are shaped and named as the operator's specification has them; an input left out
    is not in the dict. `readings` holds, for a case of tier `ambiguous`, the outputs under each
    other accepted reading. `tolerances` holds, by class of arithmetic, how far each element of the
    outputs may be off: float32 arrays of the outputs' shapes. `probes` names the misreadings that
    the case catches, where they were read.
    """

    id: str
    operator: str
    dtype: str
    tier: str
    given: Mapping[str, Any]
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    readings: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    tolerances: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    probes: tuple[str, ...] = ()

    @property
    def attributes(self) -> dict[str, Any]:
        """Every attribute, the specification's defaults filled in."""
        return OPERATORS[self.operator].with_defaults(self.given)

    @property
    def semantics(self) -> Semantics:
        """What the case asks of a GRU."""
        return semantics(OPERATORS[self.operator], self.attributes)


@dataclass(frozen=True)
class BlockKey:
    """What the cases of a block share; `name` is unique among the blocks of a dtype.

    `sizes` has every size symbol, `forms` the name of the form of each tensor that is present and
    has several, `types` the dtype of each type variable.
    """

    operator: str
    dtype: str
    tier: str
    readings: tuple[str, ...]
    sizes: tuple[tuple[str, int], ...]
    absent: tuple[str, ...]
    types: tuple[tuple[str, str], ...]
    forms: tuple[tuple[str, str], ...]

    @property
    def path(self) -> str:
        """The block's path in a file: `<dtype>/<name>`."""
        others = [t for variable, t in self.types if t != self.dtype]
        parts = [
            "x".join(str(length) for _, length in self.sizes),
            *(f"{tensor}{form}" for tensor, form in self.forms),
            *(f"no{tensor}" for tensor in self.absent),
            *others,
            *([] if self.tier == "required" else [self.tier]),
            *(name for name in self.readings if TOGETHER not in name),
        ]
        return f"{self.dtype}/{'-'.join(parts)}"


@dataclass(frozen=True)
class Block:
    """Cases stacked along a first axis of length n: row i of every array is case i.

    `tolerances` are those of the outputs, by reading ("" for the stored one), class of arithmetic
    and output. `probes` says, by the name of a misreading, which cases catch it (n,).
    """

    path: str
    operator: str
    dtype: str
    tier: str
    ids: list[str]
    given: list[dict[str, Any]]
    inputs: Arrays
    outputs: Arrays
    readings: dict[str, Arrays] = field(default_factory=dict)
    tolerances: dict[str, dict[str, Arrays]] = field(default_factory=dict)
    probes: Arrays = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def absent(self) -> frozenset[str]:
        """The outputs that the cases leave out."""
        return frozenset(t.name for t in OPERATORS[self.operator].outputs) - self.outputs.keys()

    def case(self, row: int) -> Case:
        """Case `row` of the block; its arrays are views of the block's."""
        return Case(
            self.ids[row],
            self.operator,
            self.dtype,
            self.tier,
            self.given[row],
            _rows(self.inputs, row),
            _rows(self.outputs, row),
            {reading: _rows(outputs, row) for reading, outputs in self.readings.items()},
            {name: _rows(limits, row) for name, limits in self.tolerances.get("", {}).items()},
            tuple(name for name, caught in self.probes.items() if caught[row]),
        )

    def cases(self) -> Iterator[Case]:
        """The cases of the block, in order."""
        return (self.case(row) for row in range(len(self)))

    def rows(self, keep: Array) -> Block:
        """The block of the rows where `keep` (a boolean mask or an index array) says so."""
        where = np.flatnonzero(keep) if keep.dtype == bool else keep
        return replace(
            self,
            ids=[self.ids[i] for i in where],
            given=[self.given[i] for i in where],
            inputs=_rows(self.inputs, where),
            outputs=_rows(self.outputs, where),
            readings={name: _rows(outputs, where) for name, outputs in self.readings.items()},
            tolerances={
                reading: {name: _rows(limits, where) for name, limits in classes.items()}
                for reading, classes in self.tolerances.items()
            },
            probes=_rows(self.probes, where),
        )


def _rows(arrays: Arrays, which: int | Array) -> Arrays:
    return {name: array[which] for name, array in arrays.items()}


def canonical_json(given: Mapping[str, Any]) -> str:
    """The attributes written out, as canonical JSON: sorted keys, no spaces, infinity as "inf"."""
    return json.dumps(
        {name: "inf" if value == math.inf else value for name, value in given.items()},
        sort_keys=True,
        separators=(",", ":"),
        allow_nan=False,
    )


def attributes_from_json(text: str, operator: Operator) -> dict[str, Any]:
    """The inverse of `canonical_json`; ValueError for anything else, in one sentence."""
    given = json.loads(text)
    if not isinstance(given, dict):
        raise ValueError("attributes are not a JSON object")
    for name, value in given.items():
        attribute = operator.attribute(name)
        if attribute is None:
            raise ValueError(f"{operator.name} has no attribute {name!r}")
        if attribute.kind == "float" and value == "inf":
            given[name] = value = math.inf
        if not attribute.accepts(value):
            raise ValueError(f"{name} is {value!r}; expected {attribute.expected}")
    missing = [a.name for a in operator.attributes if a.required and a.name not in given]
    if missing:
        raise ValueError(f"attribute {missing[0]} is missing")
    semantics(operator, operator.with_defaults(given))  # raises ValueError where they contradict
    return given
