"""Computing variants: what each makes of stacked cases, many variants at a time.

Variants that change inputs, semantics or quantities of a step differ from the GRU in its arguments
alone. So the cases are stacked once more, a copy for each variant, and the one GRU runs over all of
them: the work of a step is shared by hundreds of variants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, starmap
from operator import attrgetter
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS, Activation
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import AGREED, StackedSemantics
from ..gru import gru
from ..stacks import Float64, join_inputs, join_semantics
from .approximate import OTHER_FUNCTIONS
from .families import changed_function
from .variant import IN_A_STEP, Evaluated, Expression, Outputs, Quantities, Variant

HandedOut = tuple[Array, Array, Array]
"""Outputs, and (n, direction, batch, hidden) what an output holds that is the last state alone."""

_Made = dict[tuple[int, int], Any]
"""By the identities of a variant's function and of its argument, what it makes; both live as long as this."""

TOGETHER_BYTES = 32 << 20
"""What the inputs of all that is stacked at once may take."""


class WiderFloat64(Float64):
    """Float64 that also knows the functions that are computed in place of the right ones."""

    def _of(self, one: Activation, a: Array) -> Array:
        if one.name in FUNCTIONS:
            return super()._of(one, a)
        if one.name in OTHER_FUNCTIONS:
            return np.asarray(OTHER_FUNCTIONS[one.name](a, one.alpha))
        asked, change = changed_function(one.name)
        return np.asarray(change(partial(super()._of, one._replace(name=asked)), a))


_FLOAT64 = WiderFloat64()


@dataclass(frozen=True)
class _Changed:
    """Stacked cases as some variants at once have them."""

    variants: Sequence[Variant]
    asked: StackedSemantics
    given: GruInputs
    meant: StackedSemantics
    inputs: GruInputs

    @property
    def arithmetic(self) -> Any:
        """The arithmetic that one of the variants computes in, or float64."""
        [found] = [v.arithmetic for v in self.variants if v.arithmetic] or [_FLOAT64]
        return found

    @property
    def advance(self) -> Any:
        """How one of the variants takes the steps, or None."""
        return next((v.advance for v in self.variants if v.advance), None)

    @property
    def key(self) -> tuple[Any, ...]:
        """What must be the same of all that is stacked."""
        agreed = _agreed(self.meant)
        parts = frozenset(self.inputs.b)
        return (*agreed, parts, id(self.arithmetic), id(self.advance))

    @property
    def bytes(self) -> int:
        """The bytes of the inputs, in float64."""
        gates = (self.inputs.w, self.inputs.r, self.inputs.b)
        arrays = [self.inputs.x, *(array for parts in gates for array in parts.values())]
        return sum(8 * array.size for array in arrays)


_agreed = attrgetter(*AGREED)


def compute(
    combinations: Sequence[Sequence[Variant]], semantics: StackedSemantics, inputs: GruInputs
) -> list[HandedOut]:
    """y, ho and last of n stacked cases under each of `combinations` of variants, in float64."""
    made: _Made = {}  # many combinations have one variant in them
    changed = [_changed(variants, semantics, inputs, made) for variants in combinations]
    plain = [all(v.of_outputs_alone for v in one.variants) for one in changed]
    first = plain.index(True) if any(plain) else -1
    same = [first if one else place for place, one in enumerate(plain)]  # one run for all of these
    found: dict[int, Outputs] = {}
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        for places in _alike({place: changed[place] for place in same}):
            together = [changed[place] for place in places]
            found |= dict(zip(places, _run(together), strict=True))
        return [_handed_out(one, found[same[place]]) for place, one in enumerate(changed)]


def _changed(
    variants: Sequence[Variant], asked: StackedSemantics, given: GruInputs, made: _Made
) -> _Changed:
    """Change cases as variants have them; `made` is what changes have made before."""
    meant, inputs = asked, given
    for variant in variants:
        if variant.semantics:
            meant = _once(made, variant.semantics, meant)
        if variant.inputs:
            inputs = _once(made, variant.inputs, inputs, asked)
    return _Changed(variants, asked, given, meant, inputs)


def _once(made: _Made, change: Callable[..., Any], value: Any, *more: Any) -> Any:
    """Change a value, or take what the change has made of it before."""
    key = id(change), id(value)
    if key not in made:
        made[key] = change(value, *more)
    return made[key]


def _alike(changed: Mapping[int, _Changed]) -> Iterator[list[int]]:
    """Yield the places of what can be stacked, not more at once than TOGETHER_BYTES."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    sizes: dict[int, int] = {}  # most variants leave the inputs as they are
    for place, one in changed.items():
        groups.setdefault(one.key, []).append(place)
        if id(one.inputs) not in sizes:
            sizes[id(one.inputs)] = one.bytes
    for places in groups.values():
        ends = np.cumsum([sizes[id(changed[place].inputs)] for place in places])
        batches = (ends // TOGETHER_BYTES).tolist()
        for batch in dict.fromkeys(batches):
            yield [place for place, mine in zip(places, batches, strict=True) if mine == batch]


def _run(together: Sequence[_Changed]) -> Iterator[Outputs]:
    """Yield the outputs of each of what can be stacked, before a variant changes them."""
    ends = np.cumsum([0, *(len(one.inputs.x) for one in together)]).tolist()
    rows = list(starmap(slice, pairwise(ends)))
    arithmetic, alter = together[0].arithmetic, _Altering(rows, together)
    semantics = join_semantics([one.meant for one in together])
    given = [one.inputs for one in together]
    inputs = join_inputs(given) if len(given) > 1 else given[0]
    advance = together[0].advance
    y, ho = gru(
        arithmetic,
        semantics,
        inputs,
        alter=alter,
        advance=advance(arithmetic, semantics, alter) if advance else None,
        every_row=True,  # some take something of other rows
    )
    return ((y[at], ho[at]) for at in rows)


class _Altering:
    """What variants make of the quantities of a step: each of its own rows of the stack."""

    def __init__(self, rows: Sequence[slice], together: Sequence[_Changed]) -> None:
        self._known: dict[str, Array] = {}
        self._changes: dict[str, list[tuple[slice, Quantities, Expression]]] = {}
        for at, one in zip(rows, together, strict=True):
            quantities = Quantities(self._known, at, one.asked)
            for name, expression in (each for v in one.variants for each in v.quantities.items()):
                self._changes.setdefault(name, []).append((at, quantities, expression))

    def __call__(self, name: str, value: Array) -> Array:
        if name == IN_A_STEP[0]:
            self._known.clear()
        changes = self._changes.get(name, ())
        self._known[name] = result = value.copy() if changes else value
        for at, quantities, expression in changes:
            result[at] = expression(quantities)
        return result


def _handed_out(one: _Changed, outputs: Outputs) -> HandedOut:
    """Change the outputs as the variants hand them out."""

    def again(given: GruInputs, *more: Variant) -> Outputs:
        [found] = _run([_changed([*one.variants, *more], one.asked, given, {})])
        return found

    y, ho = outputs
    for variant in one.variants:
        if variant.outputs:
            y, ho = variant.outputs(Evaluated(one.given, one.asked, y, ho, again))
    last = ho
    for variant in one.variants:
        if variant.last:
            last = variant.last(Evaluated(one.given, one.asked, y, ho, again))
    return y, ho, last
