"""Random spaces: cases without end, of which the n-th of a seed is always the same.

Every value is chosen by SHA-256 of the case's id and the factor's name, so no case depends on another. What
decides shapes (sizes, directions, biases) is chosen by the seed and the number alone: neighbours share a few
shapes, and can be answered together.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ..errors import GrucibleError
from ..operators import OPERATORS
from ..operators.signature import ABSENT, Operator
from .covering_arrays import Excluded
from .expand import CaseSpec, case_of
from .factors import DRAWS, NEEDED, Factor, factors
from .spec_file import Assignment, CaseSpecFile, Drawn, find_specs, spec_model
from .yaml_source import Document

THEME = "fuzz"
"""The theme of the built-in spaces, one of each operator."""
WINDOW, SHAPES = 512, 16
"""Questions of an operator and dtype that share SHAPES shapes: enough of each to answer them together."""
FORMED = 8
"""Questions of one shape that are given alike: with the same optional tensors, layouts and types."""
TRIED, SHARED = 32, 8
"""Maximum assignments that are tried for a question; the first share with neighbours what they can."""
_NUMBER = re.compile(r"(0|[1-9]\d{0,17})-(0|[1-9]\d{0,17})", re.ASCII)
_WIDTHS = [1, 2, 3, 4, 5, 7, 8, 9, {"from": 15, "to": 17, "weight": 0.5}, {"from": 1, "to": 33}]
_USUAL_SIZES: dict[str, Sequence[Any]] = {
    "batch": [1, 2, 3, 4, 5, {"from": 6, "to": 18}],
    "time": [1, 2, 3, 4, 5, {"from": 6, "to": 17}],
    "input": _WIDTHS,
    "hidden": _WIDTHS,
}
"""Sizes of the built-in spaces, on both sides of the widths of vectors."""
_WEIGHTS = {"ordinary": 30.0, "x8": 4.0, "x64": 2.0, "present": 3.0, "full": 4.0}
"""Weights of the built-in spaces' choices; others have 1, and planted special values half of that."""


@dataclass(frozen=True)
class RandomSpace:
    """The questions of a case spec whose entries are random, or of the built-in space of an operator."""

    spec: CaseSpecFile

    def __reduce__(self) -> tuple[Any, ...]:
        return _space, (self.spec.path, self.spec.document)

    @property
    def operator(self) -> Operator:
        """The operator of all questions."""
        return OPERATORS[self.spec.model.operator]

    @property
    def prefix(self) -> str:
        """The beginning of every id."""
        return self.spec.prefix

    def case(self, dtype: str, seed: int, number: int) -> CaseSpec:
        """Make the question `number` of a seed, without its numbers.

        Raises GrucibleError, with the reason, if TRIED assignments in a row are excluded or impossible.
        """
        case_id = f"{self.prefix}{dtype}/{seed}-{number}"
        entry = self._entries[_below(case_id, len(self._entries))]
        left_out, why, shared = entry.excluded, "", _shared_texts(case_id)
        kept: Assignment = {}
        for attempt in range(TRIED):
            values = self._assignment(entry, case_id, attempt, shared, kept)
            if values in left_out:
                why = "every assignment that was tried is excluded"
                continue
            planted = DRAWS[values["draw"]].plant
            try:
                case = case_of(
                    self.operator, values, "nonportable" if planted else self.spec.model.tier
                )
            except (GrucibleError, ValueError) as error:
                why = str(error)
                continue
            return replace(case, id=case_id, dtype=dtype)
        raise GrucibleError(why)

    def check(self) -> None:
        """Raise SpecError for an entry that is not random, or that lacks a value of a factor."""
        for place, entry in enumerate(self.spec.model.cases):
            if not isinstance(entry, Drawn):
                raise self.spec.document.error(("cases", place), "has an end; expected random")
        _ = self._entries

    @functools.cached_property
    def _entries(self) -> list[_Entry]:
        """The entries, with all that is the same of every question."""
        model, operator = self.spec.model, self.operator
        shared, found = model.sizes | model.fixed, []
        for one in model.cases:
            entry: Any = one
            fixed, drawn = dict[str, Any](), list[_Drawn]()
            for name, factor in _in_order(operator.name).items():
                if choices := entry.random.get(name):
                    weights = [
                        c.get("weight", 1.0) if isinstance(c, dict) else 1.0 for c in choices
                    ]
                    meaning, forms = _structure(operator, name)
                    drawn.append(
                        _Drawn(name, factor.is_size, choices, weights, sum(weights), meaning, forms)
                    )
                    continue
                fixed[name] = shared.get(name, factor.default)
                if fixed[name] is NEEDED:
                    place = "sizes" if factor.is_size else "fixed"
                    why = f"{name} is needed in {place}, or in random"
                    raise self.spec.document.error((place,), why)
            found.append(_Entry(Excluded(entry.exclude), fixed, drawn))
        return found

    def _assignment(
        self, entry: _Entry, case_id: str, attempt: int, shared: tuple[str, str], kept: Assignment
    ) -> Assignment:
        """Choose a value of every factor; `kept` are those that stay with the next attempt, as sizes do."""
        values, text = dict(entry.fixed), f"{case_id}\0{attempt}"
        for one in entry.drawn:
            name, key = one.name, f"{text}\0{one.name}"
            if one.forms and (one.is_size or attempt < SHARED):
                if name in kept:
                    values[name] = kept[name]
                    continue
                key = f"{shared[0]}\0{one.meaning}" if one.meaning else f"{shared[1]}\0{name}"
            chosen = _choose(one.choices, one.weights, one.total, key)
            if isinstance(chosen, dict) and "each" in chosen:
                count, most = _count_entries(self.operator, name, values)
                keys = [f"{key}\0{n}" for n in range(count)]
                each = chosen["each"]
                weights = [c.get("weight", 1.0) if isinstance(c, dict) else 1.0 for c in each]
                chosen = [
                    _value(_choose(each, weights, sum(weights), k), k, most) for k in keys
                ] or ABSENT
            values[name] = _value(chosen, key)
            if one.forms:
                kept[name] = values[name]
        return {name: values[name] for name in factors(self.operator.name)}


class _Drawn(NamedTuple):
    """A factor that is drawn: its weighted choices, and what they decide (see `_structure`)."""

    name: str
    is_size: bool
    choices: Sequence[Any]
    weights: Sequence[float]
    total: float
    meaning: str
    forms: bool


class _Entry(NamedTuple):
    """An entry of a space: what it excludes, the factors with one value, and those that are drawn."""

    excluded: Excluded
    fixed: Assignment
    drawn: Sequence[_Drawn]


@functools.cache
def _in_order(operator: str) -> dict[str, Factor]:
    """List the factors of an operator with sizes first: lists of lengths depend on them."""
    return dict(sorted(factors(operator).items(), key=lambda one: not one[1].is_size))


def _shared_texts(case_id: str) -> tuple[str, str]:
    """Make the texts by which neighbours choose shapes alike, and how tensors are given."""
    stream, _, last = case_id.rpartition("/")
    seed, number = map(int, last.split("-"))
    window, place = divmod(number, WINDOW)
    shape = f"{seed}/{window * SHAPES + place % SHAPES}"
    return shape, f"{stream}/{shape}/{place // SHAPES // FORMED}"


@functools.cache
def _structure(operator: Operator, name: str) -> tuple[str, bool]:
    """Name what a factor decides of any GRU's shapes; say whether it decides how tensors are given."""
    tensors = (*operator.inputs, *operator.outputs)
    biases = {t.together or t.name for t in tensors if t.role == "b"}
    one = operator.attribute(name)
    meaning = operator.sizes.get(name) or (one.sets if one else "bias" * (name in biases))
    if name in operator.sizes or meaning in ("direction", "reset_after", "bias_inside", "bias"):
        return meaning, True
    decides = {word for t in tensors for form in t.forms for word in form.when}
    decides |= {t.together or t.name for t in tensors if t.role != "lengths"} | {*operator.types}
    return "", name in decides


def _below(text: str, count: int) -> int:
    """Choose an integer from 0 to `count` - 1 by a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") * count >> 64


def _choose(choices: Sequence[Any], weights: Sequence[float], total: float, key: str) -> Any:
    """Choose one of choices by a text; their weights are `total` together."""
    left = _below(key, 1 << 53) * 2.0**-53 * total
    for one, weight in zip(choices, weights, strict=True):
        left -= weight
        if left < 0.0:
            return one
    return choices[-1]


def _value(chosen: Any, key: str, most: int | None = None) -> Any:
    """Take the value of a choice; draw it, if the choice is a range, which ends with `most`."""
    if not isinstance(chosen, dict):
        return chosen
    if "value" in chosen:
        return chosen["value"]
    low, high = chosen["from"], chosen["to"]
    if isinstance(low, int):
        high = max(low, min(high, high if most is None else most))
        return low + _below(f"{key}\0range", high - low + 1)
    drawn = low + _below(f"{key}\0range", 1 << 53) * 2.0**-53 * (high - low)
    return min(max(float(f"{drawn:.3g}"), low), high)


def _count_entries(operator: Operator, name: str, values: Assignment) -> tuple[int, int | None]:
    """Count the entries that a list needs; with lengths, also the most that an entry may be."""
    attribute = operator.attribute(name)
    if attribute is None:
        sizes = {
            axis: values[symbol] for symbol, axis in operator.sizes.items() if symbol in values
        }
        return sizes["batch"], sizes["time"]
    given = {n: v for n, v in values.items() if v != ABSENT and operator.attribute(n)}
    attributes = operator.with_defaults(given)
    directions = len(operator.directions(attributes))
    if attribute.sets in ("alpha", "beta"):
        functions = operator.setting("activations")
        named = attributes[functions.name] if functions else []
        return sum(attribute.sets in functions.choices[one].takes for one in named), None  # type: ignore[union-attr]
    return (attribute.length or 1) * (directions if attribute.per_direction else 1), None


@functools.cache
def usual_space(operator_name: str) -> RandomSpace:
    """Make the built-in space of an operator: every value of every factor, and sizes up to 33."""
    operator = OPERATORS[operator_name]
    random = {name: _usual(operator, factor) for name, factor in factors(operator_name).items()}
    value = {
        "operator": operator_name,
        "about": "everything that may be asked, in small sizes",
        "dtypes": [*operator.dtypes()],
        "sizes": {},
        "cases": [{"random": random}],
    }
    text = yaml.safe_dump(value, sort_keys=False, default_flow_style=None, width=100)
    return _space(THEME, Document(THEME, text, value, {}))


def _space(path: str, document: Document) -> RandomSpace:
    """Make a space of the value of a document; models of specs cannot be sent to other processes."""
    model = spec_model(document.value["operator"]).model_validate(document.value)
    return RandomSpace(CaseSpecFile(path, document, model))


def _usual(operator: Operator, factor: Factor) -> list[Any]:
    """List the choices of a factor in the built-in space."""
    if factor.is_size:
        return copy.deepcopy([*_USUAL_SIZES[operator.sizes[factor.name]]])  # else YAML has aliases
    if factor.name.endswith("_scale"):
        return [{"value": 0, "weight": 20.0}, {"from": -8, "to": 4}]
    one = operator.attribute(factor.name)
    ends = {"alpha": (0.25, 1.25), "beta": (-0.5, 0.75), "clip": (0.05, 4.0)}
    if one and one.sets in ends:
        low, high = ends[one.sets]
        span: dict[str, float] = {"from": low, "to": high}
        return [ABSENT, {"each": [span]} if one.is_list else span]
    if one and one.is_list:
        return [ABSENT, {"each": [*one.choices], "weight": 3.0}] if one.choices else [ABSENT]
    found = [_weighted(value) for value in factor.choices]
    lengths = operator.tensor("lengths")
    if lengths and factor.name == lengths.name:
        found.append({"each": [{"from": lengths.least, "to": 4096}], "weight": 6.0})
    return found


def _weighted(value: Any) -> Any:
    planted = isinstance(value, str) and value in DRAWS and DRAWS[value].plant
    weight = 0.5 if planted else _WEIGHTS.get(value, 1.0) if isinstance(value, str) else 1.0
    return value if weight == 1.0 else {"value": value, "weight": weight}


def load_spaces(paths: tuple[Path, ...], operators: Sequence[str] = ()) -> list[RandomSpace]:
    """Load the random spaces in case specs; without paths, the built-in ones of `operators`, or of all.

    Raises SpecError as `check` of a space does, and GrucibleError where none is left.
    """
    if not paths:
        return [usual_space(name) for name in operators or OPERATORS]
    found = [RandomSpace(spec) for spec in find_specs(paths)]
    for one in found:
        if one.spec.theme == THEME:
            why = "has the ids of the built-in space; give the file another name"
            raise GrucibleError(f"{one.spec.document.name}: {why}")
        one.check()
    found = [one for one in found if not operators or one.operator.name in operators]
    if not found:
        raise GrucibleError(f"no space is of {' or '.join(operators)}; name another operator")
    return found


def numbered(case_id: str) -> tuple[str, int, int] | None:
    """Take an id of a random space apart: its dtype, seed and number; None for any other id."""
    parts = case_id.split("/", 3)
    found = _NUMBER.fullmatch(parts[3]) if len(parts) == 4 else None
    return (parts[2], int(found[1]), int(found[2])) if found else None
