"""Pair coverage: the pairs of factor values, of sizes in classes, that occur together in some case."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ..dtypes import FLOAT_TYPES
from ..errors import GrucibleError
from ..operators import OPERATORS
from ..operators.signature import ABSENT, Attribute
from .covering_arrays import Excluded
from .expand import CaseSpec, case_of
from .factors import factors, key
from .random_space import RandomSpace
from .spec_file import Assignment

_Value = tuple[str, str]
"""A counted value: the name of its factor, and the value as `factors.key` writes it."""
_Pair = tuple[_Value, _Value]
_VALUES = 2000
"""Maximum values of a report that is read: each pair of them takes a byte."""
_SAMPLES = 64
"""Maximum assignments by which it is found out which pairs a case could hold."""


@dataclass(frozen=True)
class PairCoverage:
    """The count of pairs of an operator's factor values that occur together in cases of one dtype.

    `covered` counts the pairs in cases of `dtype`. `total` is the same for every dtype: it counts the pairs
    in cases of any dtype, and the pairs that a case would have after a valid change of one factor, to a
    value from any of the operator's cases. `missing` names the pairs that are not covered.
    """

    operator: str
    dtype: str
    covered: int
    total: int
    missing: Sequence[str]


def pair_coverage(cases: Sequence[CaseSpec]) -> list[PairCoverage]:
    """Count the pairs of each operator and dtype, without draws and scales; sizes count by class.

    Cases of tier nonportable do not count, because no verdict depends on them.
    """
    found = []
    for operator in sorted({case.operator for case in cases}):
        mine = [case for case in cases if case.operator == operator and case.tier != "nonportable"]
        assignments = {id(case.factors): case.factors for case in mine}
        counted = {which: _counted(operator, one) for which, one in assignments.items()}
        covered: dict[str, set[_Pair]] = {dtype: set() for dtype in FLOAT_TYPES}
        for dtype, values in {(case.dtype, counted[id(case.factors)]) for case in mine}:
            covered[dtype].update(itertools.combinations(values, 2))
        total = set().union(*covered.values())
        columns = [sorted(set(column)) for column in zip(*counted.values(), strict=True)]
        both = itertools.combinations(columns, 2)
        every = {pair for left, right in both for pair in itertools.product(left, right)}
        total |= _that_could_be(operator, [*assignments.values()], every - total)
        for dtype, pairs in covered.items():
            if pairs:
                missing = [_name_pair(*pair) for pair in sorted(total - pairs)]
                found.append(PairCoverage(operator, dtype, len(pairs), len(total), missing))
    return found


def _name_pair(one: _Value, other: _Value) -> str:
    return " with ".join(f"{name} {value}".replace('"', "") for name, value in (one, other))


def _that_could_be(
    operator: str,
    assignments: Sequence[Assignment],
    pairs: set[_Pair],
    more: Mapping[str, Sequence[Any]] = MappingProxyType({}),
    allowed: Callable[[Assignment], bool] = lambda _: True,
) -> set[_Pair]:
    """Return those of `pairs` that some assignment has after a valid change of one factor.

    The change is to a value of another assignment, or to one of `more`, by factor, and must be `allowed`.
    """
    left, wanted = set(pairs), {value for pair in pairs for value in pair}
    offered: dict[str, list[tuple[Any, tuple[_Value, ...]]]] = {}
    for name in _counting(operator):
        values = {
            key(v): v for v in [*(one[name] for one in assignments), *more.get(name, ())]
        }.values()
        choices = [(value, _values(operator, name, value)) for value in values]
        if any(wanted.intersection(counted) for _, counted in choices):
            offered[name] = choices
    unlike = {key([one[name] for name in offered]): one for one in reversed(assignments)}
    for assignment in unlike.values():
        has = {name: _values(operator, name, assignment[name]) for name in _counting(operator)}
        for name, choices in offered.items():
            others = [v for other, values in has.items() if other != name for v in values]
            for choice, counted in choices:
                new = {pair for v in counted for o in others for pair in ((v, o), (o, v))} & left
                changed = assignment | {name: choice}
                if new and allowed(changed) and _is_a_case(operator, changed):
                    left -= new
    return pairs - left


def _is_a_case(operator: str, assignment: Assignment) -> bool:
    try:
        case_of(OPERATORS[operator], assignment)
    except (GrucibleError, ValueError):
        return False
    return True


@functools.cache
def _counting(operator: str) -> dict[str, Attribute | None]:
    """List the factors whose values are counted, each with its attribute, or None for other factors."""
    return {
        name: OPERATORS[operator].attribute(name)
        for name, factor in factors(operator).items()
        if name != "draw" and not name.endswith("_scale")
    }


def _counted(operator: str, assignment: Assignment) -> tuple[_Value, ...]:
    """List the values of an assignment that are counted."""
    return tuple(
        value for name in _counting(operator) for value in _values(operator, name, assignment[name])
    )


def _values(operator: str, name: str, value: Any) -> tuple[_Value, ...]:
    """List the values that a factor's value counts as.

    A size counts as its class, such as 5-17 or 18+. Activations count as two values, f and g, of
    the first direction alone. Listed lengths, any alpha or beta and any finite clip count as "given".
    """
    attribute = _counting(operator)[name]
    if attribute and attribute.per_direction:
        f, g = value[:2] if isinstance(value, list) else (value, value)
        return (f"{name} f", key(f)), (f"{name} g", key(g))
    parameter = attribute is not None and attribute.sets in ("alpha", "beta", "clip")
    if value not in (ABSENT, math.inf) and (parameter or isinstance(value, list)):
        return ((name, key("given")),)
    least = factors(operator)[name].least
    place = bisect.bisect(least, value) if least else 0
    if not place:
        return ((name, key(value)),)
    low, above = least[place - 1], least[place] - 1 if place < len(least) else math.inf
    within = "" if low == above else "+" if above == math.inf else f"-{above}"
    return ((name, f"{low}{within}"),)


class PairsAsked:
    """The pairs of values of a random space that were asked, and those of answers that were compared.

    What the space offers is counted as `pair_coverage` counts; of it, no case may be able to hold some pairs.
    """

    def __init__(self, space: RandomSpace | None = None) -> None:
        self._places: dict[_Value, int] = {}
        self._columns: list[str] = []
        self._seen = np.zeros((2, 0, 0), bool)
        self._samples: dict[str, Assignment] = {}
        self._never = set[str]()
        self._space = space
        if space is None:  # a report was read
            return
        self._operator = space.operator.name
        entries: Sequence[Any] = space.spec.model.cases
        self._excluded = [Excluded(entry.exclude) for entry in entries]
        self._offered: dict[str, list[Any]] = {}
        for name, value in itertools.chain(*(_offered(space, entry) for entry in entries)):
            self._offered.setdefault(name, []).append(value)
            self._find(_values(self._operator, name, value))

    def _find(self, values: Iterable[_Value]) -> list[int]:
        """Find the places of values; new ones get the next."""
        for value in values:
            if value not in self._places:
                self._places[value] = len(self._places)
                self._columns.append(value[0])
                self._seen = np.pad(self._seen, ((0, 0), (0, 1), (0, 1)))
        return [self._places[value] for value in values]

    def see(self, assignment: Assignment, *, compared: bool) -> None:
        """Count the pairs of a case that was asked."""
        at = np.array(self._find(_counted(self._operator, assignment)))
        self._seen[: 1 + compared, at[:, None], at] = True
        if len(self._samples) < _SAMPLES:
            self._samples.setdefault(key([*assignment.values()]), assignment)

    def merge(self, other: PairsAsked) -> None:
        """Add the pairs that were asked elsewhere."""
        at = np.array(self._find(other._places), int)
        self._seen[:, at[:, None], at] |= other._seen
        samples = {**self._samples, **other._samples}
        self._samples = dict(itertools.islice(samples.items(), _SAMPLES))
        self._never |= other._never

    def as_json(self) -> dict[str, Any]:
        """Return plain data: the values, a row of bits for each, and the pairs that were never asked."""
        rows = [[np.packbits(row).tobytes().hex() for row in seen] for seen in self._seen]
        asked, compared = rows
        values = [list(value) for value in self._places]
        return {"values": values, "asked": asked, "compared": compared, "never": self.never_asked()}

    @classmethod
    def of_json(cls, value: Any) -> PairsAsked:
        """Read what `as_json` returned; raises ValueError or TypeError for anything else."""
        found, count = cls(), len(value["values"])
        if count > _VALUES:
            raise ValueError(f"has {count} values; expected at most {_VALUES}")
        found._find((str(name), str(one)) for name, one in value["values"])
        rows = [bytes.fromhex("".join(value[name])) for name in ("asked", "compared")]
        bits = np.unpackbits(np.frombuffer(b"".join(rows), np.uint8).reshape(2, count, -1), axis=2)
        found._seen = bits[:, :, :count].astype(bool)
        found._never = {str(one) for one in value["never"]}
        return found

    def counts(self) -> tuple[int, int, int]:
        """Count the pairs that were asked, those that were compared, and those that are offered."""
        columns = np.array(self._columns)
        apart = np.triu(columns[:, None] != columns)
        asked, compared = ((seen & apart).sum() for seen in self._seen)
        return int(asked), int(compared), int(apart.sum())

    def never_asked(self) -> list[str]:
        """Name the pairs that were never asked, without those that no case holds, as far as samples show."""
        columns, values = np.array(self._columns), [*self._places]
        if self._space is None:
            at = np.argwhere(self._seen[0]).tolist()
            return sorted(self._never - {_name_pair(values[a], values[b]) for a, b in at})
        left = np.argwhere(np.triu(columns[:, None] != columns) & ~self._seen[0])
        pairs = {(values[a], values[b]) for a, b in left.tolist()}
        samples = [*self._samples.values()]
        could = _that_could_be(self._operator, samples, pairs, self._offered, self._is_allowed)
        return [_name_pair(*pair) for pair in sorted(could)]

    def _is_allowed(self, assignment: Assignment) -> bool:
        return any(assignment not in excluded for excluded in self._excluded)


def _offered(space: RandomSpace, entry: Any) -> Iterator[tuple[str, Any]]:
    """List values of each factor in cases of an entry: all of a few, and one of each class."""
    shared = space.spec.model.sizes | space.spec.model.fixed
    for name, factor in factors(space.operator.name).items():
        for choice in entry.random.get(name, [shared.get(name, factor.default)]):
            if not isinstance(choice, dict):
                found = [choice]
            elif "value" in choice:
                found = [choice["value"]]
            elif "each" in choice:
                entries = [e["from"] if isinstance(e, dict) else e for e in choice["each"]]
                found = [[one] * length for one in entries for length in (2, 4)]
            else:
                low, high = choice["from"], choice["to"]
                found = [low, *(one for one in factor.least if low <= one <= high)]
            yield from ((name, value) for value in found if name in _counting(space.operator.name))
