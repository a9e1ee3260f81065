"""Error bounds of the cases of a chunk: the quality gate, and the tolerances that are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..cases.case_spec import CaseSpec
from ..cases.operators import OPERATORS
from ..cases.readings import as_read
from ..cases.semantics import Semantics, StackedSemantics, semantics, stack
from ..vectors.case import Array, Arrays
from ..vectors.convert import gru_inputs, operator_outputs, shared_outputs
from .arithmetic import CLASSES, REQUIRED
from .error_chains import window
from .stored_tolerance import tolerances
from .tolerance import error_bounds

STACK_BYTES = 16 << 20
GATE, GATE_FLOOR, GATE_SHARE = 1e-3, 0.1, 0.5
"""The float32 bound is below GATE·max(|h|, GATE_FLOOR) for GATE_SHARE of the elements of an output."""


@dataclass(frozen=True)
class Bounds:
    """Of one case, by reading ("" for the stored one) and role: the values in float64, and bounds of
    their errors with one more axis, the classes of the case's dtype, at the end; and by reading, per
    class, whether a pre-activation may be on either side of where its function breaks."""

    dtype: str
    under: Mapping[str, Mapping[str, tuple[Array, Array]]]
    straddles: Mapping[str, Array] = field(default_factory=dict)

    def objection(self) -> str:
        """Why the case is too ill-conditioned to judge anything by; empty if it is not."""
        names = [one.name for one in CLASSES[self.dtype]]
        float32, required = names.index("float32"), names.index(REQUIRED[self.dtype])
        for reading, straddles in self.straddles.items():
            if straddles[required]:
                of = f" under {reading}" if reading else ""
                return (
                    f"in {REQUIRED[self.dtype]} arithmetic a pre-activation may be on either side of "
                    f"where its activation breaks{of}"
                )
        for reading, roles in self.under.items():
            for role, (x, bounds) in roles.items():
                bound = bounds[..., float32]
                computed = bound > 0  # padding is not
                sharp = bound[computed] < GATE * np.maximum(np.abs(x[computed]), GATE_FLOOR)
                if sharp.size and sharp.mean() < GATE_SHARE:
                    of = f" under {reading}" if reading else ""
                    return (
                        f"float32 arithmetic is proven to be within {GATE:g} of the value for only "
                        f"{100 * sharp.mean():.0f} % of the elements of {role}{of}"
                    )
        return ""


def bound_cases(cases: Sequence[CaseSpec], drawn: Mapping[str, Arrays]) -> dict[str, Bounds]:
    """The bounds of each of some cases of a block, by id."""
    found: dict[str, Bounds] = {}
    for group, meant in alike(cases):
        size = max(1, STACK_BYTES // _chain_bytes(group[0]))
        for start in range(0, len(group), size):
            members = group[start : start + size]
            found |= _bound_stack(members, stack(meant[start : start + size]), drawn)
    return found


def alike(cases: Sequence[CaseSpec]) -> Iterator[tuple[list[CaseSpec], list[Semantics]]]:
    """The cases of a block in groups that can be evaluated as one stack, with what each asks for."""
    groups: dict[bool, list[tuple[CaseSpec, Semantics]]] = {}
    for case in cases:
        meant = semantics(OPERATORS[case.operator], case.attributes)
        groups.setdefault(meant.reset_after, []).append((case, meant))
    for pairs in groups.values():
        yield [case for case, _ in pairs], [meant for _, meant in pairs]


def _chain_bytes(case: CaseSpec) -> int:
    """The bytes of the Jacobians' products of one direction of a case."""
    sizes = {axis: case.sizes[symbol] for symbol, axis in OPERATORS[case.operator].sizes.items()}
    reach = min(sizes.get("time", 1), window(sizes["hidden"]))
    return int(2 * 8 * reach * sizes["batch"] * sizes["hidden"] ** 2)


def _bound_stack(
    members: Sequence[CaseSpec], meant: StackedSemantics, drawn: Mapping[str, Arrays]
) -> dict[str, Bounds]:
    first = members[0]
    operator = OPERATORS[first.operator]
    stacked = {
        name: np.stack([drawn[case.id][name] for case in members]) for name in drawn[first.id]
    }
    inputs = gru_inputs(operator, first.attributes, stacked)
    under, straddles = {}, {}
    for reading in ("", *first.readings):
        found = error_bounds(as_read(reading, meant), inputs, CLASSES[first.dtype])
        under[reading] = {"y": (found.y, found.y_bounds), "ho": (found.ho, found.ho_bounds)}
        straddles[reading] = found.straddles
    present = operator.present(operator.outputs, first.absent)
    wanted = {tensor.role_in(first.attributes) for tensor in present}
    return {
        case.id: Bounds(
            case.dtype,
            {
                reading: {role: (roles[role][0][i], roles[role][1][i]) for role in wanted}
                for reading, roles in under.items()
            },
            {reading: open_[i] for reading, open_ in straddles.items()},
        )
        for i, case in enumerate(members)
    }


def stored_tolerances(
    first: CaseSpec, answers: Arrays, bounds: Sequence[Mapping[str, tuple[Array, Array]]]
) -> dict[str, Arrays]:
    """The tolerances of the stacked `answers` of a chunk, by class and output.

    `bounds` are those of each case under the reading of the answers; `first` is any of the cases.
    """
    operator, attributes = OPERATORS[first.operator], first.attributes
    by_class: dict[str, dict[str, Array]] = {}
    for role, answer in shared_outputs(operator, attributes, answers).items():
        x = np.stack([b[role][0] for b in bounds])
        e = np.stack([b[role][1] for b in bounds])
        for name, limit in tolerances(x, e, answer, first.dtype).items():
            by_class.setdefault(name, {})[role] = limit
    return {
        name: operator_outputs(operator, attributes, roles, first.absent)
        for name, roles in by_class.items()
    }
