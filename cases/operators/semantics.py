"""The GRU that a case asks for, whoever owns the operator.

`semantics` turns attributes, in the operator's own words, into a `Semantics`, in the shared vocabulary of
`signature`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .activations import Activation, Parameter
from .signature import Operator

Direction = Literal["forward", "reverse", "reverse-padded", "reverse-longest"]
EmptyRow = Literal["zeros", "initial_hidden_state"]
YOrder = Literal["time", "processing"]
YPadding = Literal["zeros", "repeated", "repeated-from-first"]
Biases = Literal["apart", "sum", "recurrent"]
_PARAMETERS: tuple[Parameter, ...] = ("alpha", "beta")


@dataclass(frozen=True)
class Semantics:
    """The GRU a case asks for.

    f: activation of the gates z and r, g: of the candidate h; one of each direction.
    clip: every pre-activation is clipped to [-clip, clip]; infinity clips nothing.
    reset_after: the reset gate multiplies h·Rhᵀ + Rbh (linear_before_reset) instead of h.
    directions: one entry per direction, in the order of the direction axis.
    empty_row: the last state of a row of length 0 (ledger: len-zero).
    y_order: whether y has states in the order of their inputs, or a backward direction's from the end of the
    time axis (processing; ledger: reverse-order).
    y_padding: what y is where a row has no step: zeros; or repeated, zeros before the row's first step and
    the state after its last; or repeated-from-first, the initial state before it (ledger: leading-mask).
    biases: for gates with two biases: each is itself (apart), the recurrent bias holds the sum of both
    (sum; ledger: bias-sum), or only the recurrent bias is used (recurrent; ledger: input-bias-unused).
    """

    f: tuple[Activation, ...]
    g: tuple[Activation, ...]
    clip: float
    reset_after: bool
    directions: tuple[Direction, ...]
    empty_row: EmptyRow = "zeros"
    y_order: YOrder = "time"
    y_padding: YPadding = "zeros"
    biases: Biases = "apart"


@dataclass(frozen=True)
class StackedSemantics:
    """The GRUs that n stacked cases of a block ask for: fields as in Semantics, with an entry per case.

    `clip` is (n, 1, 1); each entry of `f`, `g` and `directions` has n entries, and so have the fields WORDS,
    unless one word is for all. Stacked cases agree on all other fields, and on the number of directions.
    """

    f: tuple[tuple[Activation, ...], ...]
    g: tuple[tuple[Activation, ...], ...]
    clip: npt.NDArray[np.float64]
    reset_after: bool
    directions: tuple[tuple[Direction, ...], ...]
    empty_row: npt.NDArray[np.str_] | EmptyRow = "zeros"
    y_order: npt.NDArray[np.str_] | YOrder = "time"
    y_padding: npt.NDArray[np.str_] | YPadding = "zeros"
    biases: Biases = "apart"

    @property
    def backwards(self) -> npt.NDArray[np.bool_]:
        """A mask (n, direction): computed backwards, from the end of a row or of the time axis."""
        return np.asarray(np.array(self.directions).T != "forward")


AGREED, WORDS = ("reset_after", "biases"), ("empty_row", "y_order", "y_padding")
"""The fields of Semantics on which stacked cases agree, and those that only say what is handed out."""


def is_word(semantics: Semantics | StackedSemantics, name: str, word: str, axes: int) -> Any:
    """Say which cases have `word` in one of WORDS, with a number of axes behind; False if none has."""
    found = np.asarray(np.asarray(getattr(semantics, name)) == word)
    return found[(..., *[None] * axes)] if found.any() else False


def stack(members: Sequence[Semantics]) -> StackedSemantics:
    """Stack the semantics of cases in this order."""
    [agreed] = {tuple(getattr(s, name) for name in AGREED) for s in members}
    words: dict[str, Any] = {n: np.array([getattr(s, n) for s in members]) for n in WORDS}
    return StackedSemantics(
        f=tuple(zip(*(s.f for s in members), strict=True)),
        g=tuple(zip(*(s.g for s in members), strict=True)),
        clip=np.array([s.clip for s in members]).reshape(-1, 1, 1),
        directions=tuple(zip(*(s.directions for s in members), strict=True)),
        **dict(zip(AGREED, agreed, strict=True)),
        **words,
    )


def take(stacked: StackedSemantics, rows: npt.NDArray[Any]) -> StackedSemantics:
    """Take some of the stacked cases, by place."""

    def of_rows(each: tuple[tuple[Any, ...], ...]) -> Any:
        return tuple(tuple(part[row] for row in rows) for part in each)

    return replace(
        stacked,
        f=of_rows(stacked.f),
        g=of_rows(stacked.g),
        clip=stacked.clip[rows],
        directions=of_rows(stacked.directions),
        **{name: words[rows] for name, words in words_of(stacked).items()},
    )


def words_of(stacked: StackedSemantics) -> dict[str, Any]:
    """List the words of each of the stacked cases, by field."""
    each = {name: getattr(stacked, name) for name in WORDS}
    count = len(stacked.clip)
    return {n: np.full(count, w) if isinstance(w, str) else w for n, w in each.items()}


def one_of(stacked: StackedSemantics, row: int) -> Semantics:
    """Take one of the stacked cases, by place."""
    return Semantics(
        f=tuple(part[row] for part in stacked.f),
        g=tuple(part[row] for part in stacked.g),
        clip=float(stacked.clip[row, 0, 0]),
        directions=tuple(part[row] for part in stacked.directions),
        **{name: getattr(stacked, name) for name in AGREED},
        **{name: str(words[row]) for name, words in words_of(stacked).items()},  # type: ignore[arg-type]
    )


def semantics(operator: Operator, attributes: Mapping[str, Any]) -> Semantics:
    """Say which GRU `attributes` (defaults filled in) ask of `operator`.

    Raises ValueError, saying what was expected, if attributes contradict each other.
    """
    each = ((name, tuple(v) if isinstance(v, list) else v) for name, v in attributes.items())
    return _semantics(operator, tuple(each))


@lru_cache(maxsize=4096)
def _semantics(operator: Operator, given: tuple[tuple[str, Any], ...]) -> Semantics:
    meant: dict[str, Any] = dict(operator.always)
    attributes = dict(given)
    for attribute in operator.attributes:
        value = attributes.get(attribute.name)
        if value is None:
            continue
        if attribute.is_list:
            value = [attribute.choices[v] if attribute.choices else v for v in value]
        elif attribute.choices:
            value = attribute.choices[value]
        if attribute.single:
            with np.errstate(over="ignore"):  # numbers beyond float32 become infinity
                value = np.asarray(value, np.float32).tolist()
        meant[attribute.sets] = value
    directions = operator.directions(attributes)
    functions = _activations(operator, meant, len(directions))
    return Semantics(
        f=functions[0::2],
        g=functions[1::2],
        clip=float(meant.get("clip", math.inf)),
        directions=directions,  # type: ignore[arg-type]
        reset_after=bool(meant.get("reset_after")),
        **{name: meant[name] for name in ("biases", *WORDS) if name in meant},
    )


def _activations(
    operator: Operator, meant: Mapping[str, Any], directions: int
) -> tuple[Activation, ...]:
    """List f and g of each direction in turn, with the parameters that they consume in this order."""
    one = operator.setting("activations")
    named = list(meant["activations"]) if one else [meant["f"], meant["g"]]
    if not (one and one.per_direction):
        named = named * directions
    elif len(named) != 2 * directions:
        raise ValueError(
            f"{one.name} has {len(named)} entries; expected 2 for each direction, {2 * directions}"
        )
    for parameter in _PARAMETERS:
        setting = operator.setting(parameter)
        name = setting.name if setting else parameter
        taking = [place for place, function in enumerate(named) if parameter in function.takes]
        values = meant.get(parameter, [getattr(named[place], parameter) for place in taking])
        if len(values) != len(taking):
            expected = f"expected one for each activation that takes {parameter}, {len(taking)}"
            none = f"no activation takes {parameter}: leave it out"
            raise ValueError(f"{name} has {len(values)} entries; {expected if taking else none}")
        for place, value in zip(taking, values, strict=True):
            if math.isnan(value):
                raise ValueError(f"{named[place].name} has no default; {name} is needed")
            named[place] = named[place].having(parameter, value)
    return tuple(named)
