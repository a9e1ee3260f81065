"""The accepted readings of ambiguous points in specifications, besides those of the stored answers.

Each is named after its entry in the owner's `LEDGER.md`, and says which fields of `Semantics` it changes.
A case touches an ambiguous point if its attributes, lengths or inputs let the readings differ. It is then of
tier `ambiguous`, and passes under any reading or combination of readings.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from ..errors import GrucibleError
from . import OPERATORS
from .activations import Activation
from .semantics import Semantics, StackedSemantics

AnySemantics = TypeVar("AnySemantics", Semantics, StackedSemantics)
ReadingNames = tuple[str, ...]
"""The names of the readings that are followed, in the order of READINGS; none for the stored answer."""
STORED: ReadingNames = ()
MOST_POINTS = 2
"""Maximum ambiguous points that one case touches; a failure on three would explain nothing."""


@dataclass(frozen=True)
class Asks:
    """The parts of a case that show whether it touches an ambiguous point.

    `attributes` has defaults filled in, `sizes` every size symbol, `lengths` one length per row (None
    without lengths), `starts` the time of each row's first step; `zeros` are the inputs that could be drawn
    but are zeros, `absent` the tensors that are left out.
    """

    operator: str
    attributes: Mapping[str, Any]
    sizes: Mapping[str, int]
    lengths: tuple[int, ...] | None
    starts: tuple[int, ...]
    zeros: frozenset[str]
    absent: frozenset[str]


@dataclass(frozen=True)
class Reading:
    """One other defensible reading: its name, its ledger entry, what it says, what it sets.

    `owners` are those whose specifications leave the point open; `touches` says whether the reading may
    change the answer of one of their cases. Each ledger entry has one reading. `stored` is the reading of
    the stored answer; `basis` is its reason: text, owner (the owner's implementation) or choice (ours).
    `sets` has the changed fields of Semantics, `parameters` the new parameters of functions.
    """

    name: str
    ledger: str
    owners: tuple[str, ...]
    about: str
    stored: str
    basis: str
    touches: Callable[[Asks, Semantics], bool]
    sets: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def applied_to(self, meant: AnySemantics) -> AnySemantics:
        """Change `meant` to what this reading says."""
        changed: dict[str, Any] = dict(self.sets)
        if self.parameters:
            changed |= {"f": self._renamed(meant.f), "g": self._renamed(meant.g)}
        return dataclasses.replace(meant, **changed)

    def _renamed(self, functions: Any) -> Any:
        """Give functions, stacked or not, the parameters of this reading."""
        if not isinstance(functions, Activation):
            return tuple(map(self._renamed, functions))
        if functions.name not in self.parameters:
            return functions
        return Activation(functions.name, *self.parameters[functions.name])


def _uses(name: str) -> Callable[[Asks, Semantics], bool]:
    return lambda _, meant: any(one.name == name for one in (*meant.f, *meant.g))


def _state_of_an_empty_row(case: Asks, _: Semantics) -> bool:
    """Say whether a row has length 0, and an initial state that is drawn."""
    h0 = OPERATORS[case.operator].tensor("h0")
    return 0 in (case.lengths or ()) and h0 is not None and h0.name not in case.zeros


def _input_bias(case: Asks) -> bool:
    """Say whether an optional bias is not zeros."""
    biases = [t for t in OPERATORS[case.operator].inputs if t.role == "b" and t.fills]
    return any(tensor.name not in case.zeros for tensor in biases)


def _bias_inside(case: Asks) -> bool:
    one = OPERATORS[case.operator].setting("bias_inside")
    return bool(one and case.attributes[one.name])


def _backwards_sequence(case: Asks, meant: Semantics) -> bool:
    operator = OPERATORS[case.operator]
    roles = {tensor.role_in(case.attributes) for tensor in operator.outputs}
    [time] = [case.sizes[symbol] for symbol, axis in operator.sizes.items() if axis == "time"]
    return "reverse" in meant.directions and "y" in roles and time > 1


def _held_before_a_row(case: Asks, meant: Semantics) -> bool:
    """Say whether a row has no step at first, and what y holds there is not zeros by either reading."""
    operator = OPERATORS[case.operator]
    h0, roles = operator.tensor("h0"), {t.role_in(case.attributes) for t in operator.outputs}
    if meant.y_padding == "zeros" or "y" not in roles or not h0:
        return False
    if h0.name in case.zeros | case.absent:
        return False
    [time] = [case.sizes[symbol] for symbol, axis in operator.sizes.items() if axis == "time"]
    rows = list(zip(case.starts, case.lengths or (), strict=False))
    late = ("forward" in meant.directions) and any(start > 0 for start, _ in rows)
    early = ("reverse" in meant.directions) and any(start + length < time for start, length in rows)
    return late or early or 0 in (case.lengths or ())


_BNNSGRAPH = ("bnnsgraph",)
READINGS: dict[str, Reading] = {
    reading.name: reading
    for reading in (
        Reading(
            "len-zero.initial-state", "len-zero", ("openvino", "onnx"),
            "the last state of a row of length 0 is its initial state",
            "the last state of a row of length 0 is zeros",
            "owner", _state_of_an_empty_row, {"empty_row": "initial_hidden_state"},
        ),
        Reading(
            "reset-false.before", "reset-false", _BNNSGRAPH,
            "without applyResetGateAfterMatMul, the reset gate multiplies h before the product",
            "without applyResetGateAfterMatMul, the reset gate multiplies W_hn h, as the formula has it",
            "text", lambda case, _: not _bias_inside(case), {"reset_after": False},
        ),
        Reading(
            "bias-sum.sum", "bias-sum", _BNNSGRAPH,
            "bias holds the sum of both biases, and the hidden one is bias - inputBias",
            "bias holds the hidden biases b_h, inputBias the input biases b_i",
            "text", lambda case, _: _input_bias(case) and _bias_inside(case), {"biases": "sum"},
        ),
        Reading(
            "input-bias-unused.ignored", "input-bias-unused", _BNNSGRAPH,
            "without applyResetGateAfterMatMul, inputBias is not used",
            "without applyResetGateAfterMatMul, inputBias is added as the formulas have it",
            "text", lambda case, _: _input_bias(case) and not _bias_inside(case), {"biases": "recurrent"},
        ),
        Reading(
            "reverse-order.time", "reverse-order", _BNNSGRAPH,
            "the output of reverse stands at the time its input has",
            "the output of reverse stands in the order of processing, so that output[-1] is hiddenStates",
            "text", _backwards_sequence, {"y_order": "time"},
        ),
        Reading(
            "hard-sigmoid.sixth", "hard-sigmoid", _BNNSGRAPH,
            "hardSigmoid is max(0, min(1, v/6 + 0.5))",
            "hardSigmoid is max(0, min(1, 0.2 v + 0.5))",
            "choice", _uses("hard-sigmoid"),
            parameters={"hard-sigmoid": (float(np.float32(1.0 / 6.0)), 0.5)},
        ),
        Reading(
            "scaled-tanh.one", "scaled-tanh", _BNNSGRAPH,
            "scaledTanh is tanh(v)",
            "scaledTanh is 1.7159 tanh(2v/3)",
            "choice", _uses("scaled-tanh"), parameters={"scaled-tanh": (1.0, 1.0)},
        ),
        Reading(
            "leading-mask.initial-state", "leading-mask", ("keras",),
            "the output before a row's first valid step is the initial state",
            "the output before a row's first valid step is zeros",
            "choice", _held_before_a_row, {"y_padding": "repeated-from-first"},
        ),
    )
}  # fmt: skip


def as_read(names: ReadingNames, meant: AnySemantics) -> AnySemantics:
    """Change `meant` to what the readings called `names` say."""
    for name in names:
        meant = READINGS[name].applied_to(meant)
    return meant


def without_readings(names: Sequence[str]) -> tuple[str, ...]:
    """List the names of mistakes beside those of readings, which are none; all, where none is left."""
    return tuple(name for name in names if name not in READINGS) or (*names,)


def about(names: ReadingNames) -> str:
    """Say in words what the readings called `names` say."""
    return "; and ".join(READINGS[name].about for name in names)


def touched_by(case: Asks, meant: Semantics) -> tuple[ReadingNames, ...]:
    """List the readings that a case touches, alone and in combinations; `meant` is what the case asks.

    Raises GrucibleError if the case touches more than MOST_POINTS points.
    """
    owner = OPERATORS[case.operator].owner
    touched = [
        reading
        for reading in READINGS.values()
        if owner in reading.owners and reading.touches(case, meant)
    ]
    if len(touched) > MOST_POINTS:
        raise GrucibleError(
            f"touches {len(touched)} ambiguous points ({', '.join(r.ledger for r in touched)}); "
            f"expected at most {MOST_POINTS}: exclude it"
        )
    names = [reading.name for reading in touched]
    return tuple(
        chosen
        for count in range(1, len(names) + 1)
        for chosen in itertools.combinations(names, count)
    )


SILENT: Mapping[str, frozenset[str]] = {
    "openvino": frozenset({"b-order", "y-padding", "reverse-ragged", "bidi-layout"}),
    "onnx": frozenset({"y-padding", "reverse-ragged"}),
    "bnnsgraph": frozenset(),
    "torch": frozenset({"reverse-ragged"}),
    "keras": frozenset({"masked-output", "zero-row"}),
    "webnn": frozenset({"bidi-layout"}),
}
"""Points, by owner, on which the owner's text is silent and cases decide nevertheless.

Each is named after its entry in the owner's `LEDGER.md`. The owner's runtime, or the runtime that all test
against, is normative there, because all runtimes that we asked agree. A point on which runtimes differ is
ambiguous instead, and has a reading.
"""
