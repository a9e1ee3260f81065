"""What was found of one case, and its traits: words by which reports group it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ...cases.dtypes import NUMPY_TYPES, Array
from ...cases.operators import OPERATORS
from ...cases.operators.layout import rows_asked
from ...cases.operators.readings import ReadingNames
from ...cases.question import sizes_of
from ...cases.selection import PLAIN, PLAIN_SIZES
from ...vectors.block import Block
from ..protocol.header import Fault
from .expectations import Expectation, Instead
from .noise import Noise

Traits = Mapping[str, str]
"""The properties of a case by name, such as `direction` or `batch size`."""
CaseVerdict = Literal["passed", "failed", "unsupported", "missing", "error"]
VARYING = re.compile(rf"\b(?:{'|'.join(NUMPY_TYPES)})\b|\d+(?:\.\d+)?")
"""Numbers and dtypes in a message."""
DECIDING = ("required", "ambiguous")
AGAIN, FOLLOWS = "asked again", "this case follows"
"""The beginnings of messages of cases that pass by themselves; they go wrong when asked again, or follow
another reading."""
_THEMES = (PLAIN, PLAIN_SIZES, "core")
"""The themes whose cases are plainer than all others, the plainest first."""

_SIZES = {"batch": "batch size", "time": "steps", "input": "input size", "hidden": "hidden size"}


@dataclass(frozen=True)
class CaseResult:
    """What was found of one case.

    The worst element has the largest `worst_ratio` = |observed - expected| / admitted; `where` names it, e.g.
    `Y[0, 1, 2, 5]`; `worst_abs` and `worst_ulp` are its difference. `readings` are those under which an
    ambiguous case passed: several where they agree on it. `followed` has the reading that was followed, for
    each ledger entry that the case can settle. `arithmetic` is the best class whose tolerances hold, or "";
    `holds` has all such classes. `judged_by` says what decides: the whole, its single steps, both, or
    nothing; it is "" without outputs. `noise` says how large the errors of a case that passed are in all.
    `fault` is the kind of an error, where it is known. `overwrote` names the inputs that the runtime wrote
    into. `expected` is the known finding that names the case. If the case failed in another way than that
    finding says, `expected` is None and `instead` tells how. `must_support` says that unsupported counts as a
    failure. `traits` say what the case asks.
    """

    id: str
    operator: str
    tier: str
    dtype: str
    verdict: CaseVerdict
    worst_ratio: float = 0.0
    worst_abs: float = 0.0
    worst_ulp: float = 0.0
    where: str = ""
    readings: tuple[ReadingNames, ...] = ()
    followed: Mapping[str, ReadingNames] = field(default_factory=dict)
    arithmetic: str = ""
    holds: tuple[str, ...] = ()
    judged_by: str = ""
    noise: Noise | None = None
    message: str = ""
    fault: Fault | None = None
    overwrote: tuple[str, ...] = ()
    expected: Expectation | None = None
    instead: Instead | None = None
    must_support: bool = False
    traits: Traits = field(default_factory=dict, repr=False, compare=False)

    @property
    def decides(self) -> bool:
        """Whether the case's tier counts for the verdict."""
        return self.tier in DECIDING

    @property
    def plainness(self) -> tuple[int, bool, int, int, bool]:
        """A sort key that puts plain cases first: by theme, defaults, few words in the id, float32."""
        theme = self.id.split("/")[1:2]
        place = _THEMES.index(theme[0]) if theme and theme[0] in _THEMES else len(_THEMES)
        words = self.id.count("-"), len(self.id)
        return (place, not self.id.endswith("/default"), *words, self.dtype != "float32")

    @property
    def wrong(self) -> bool:
        """Whether the case decides, and failed, gave an error, or is unsupported although required."""
        refused = self.must_support and self.verdict == "unsupported"
        return self.decides and (refused or self.verdict in ("failed", "error"))


def mask(message: str) -> str:
    """Return a message without its numbers and dtypes."""
    return VARYING.sub("#", message)


def find_traits(block: Block) -> Sequence[Traits]:
    """List the traits of the cases of a block."""
    operator = OPERATORS[block.operator]
    sizes, there = sizes_of(block.question(0)), {*block.inputs, *block.answer.outputs}
    shared = {_SIZES[name]: str(sizes[s]) for s, name in operator.sizes.items() if name in _SIZES}
    shared |= {
        tensor.name: "given" if tensor.name in there else "left out"
        for tensor in (*operator.inputs, *operator.outputs)
        if not tensor.required and tensor.role != "lengths"
    }
    rows = rows_asked(operator, block.inputs)
    found = []
    for row, attributes in enumerate(block.given):
        filled = operator.with_defaults(attributes)
        words = {
            a.name: _format(filled.get(a.name))
            for a in operator.attributes
            if a.name not in operator.sizes
        }
        if operator.tensor("lengths"):
            pattern = "left out" if rows is None else _pattern(rows[row], int(shared["steps"]))
            words["lengths of rows"] = pattern
        found.append(words | shared)
    return found


def _format(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_format, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None or value == math.inf else str(value)


def _pattern(lengths: Array, time: int) -> str:
    if not lengths.all():
        return "with 0"
    if (lengths != lengths[0]).any():
        return "ragged"
    return "full" if lengths[0] == time else "all shorter"
