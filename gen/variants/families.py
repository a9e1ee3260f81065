"""Families: variants with a number in them, which a search fits to what was observed.

A family is a sentence with a number, such as "the update gate zt limited to ±0.5". Its members are
variants like any other, named by family and number: `z-limited=0.5`. Factors and shifts of quantities are
no families: they are solved for (`sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.activations import FUNCTIONS, Activation
from ...cases.operators.semantics import StackedSemantics
from ..gru import Alter
from .expressions import QUANTITIES
from .forms import FORMS, HARD, NOT_LINEAR, WIDENED, Number, NumberForm, along, told
from .variant import Variant


@dataclass(frozen=True)
class Family:
    """Variants that differ in the number of a form.

    `subject` is what the form is of, in words, as in Variant.about; `made` gives what a member changes,
    as fields of Variant.
    """

    name: str
    subject: str
    form: NumberForm
    made: Callable[[Number], dict[str, Any]]
    needs: tuple[str, ...] = ()

    @lru_cache(maxsize=1 << 16)  # noqa: B019 - families live as long as the program
    def member(self, number: float) -> Variant:
        """The variant with this number."""
        return Variant(
            f"{self.name}={_shortest(number)}",
            f"{self.subject} {told(self.form, number)}",
            needs=self.needs,
            jumps=self.form.jumps,
            **self.made(number),
        )

    def members(self, numbers: Sequence[float]) -> Variant:
        """The variants with these numbers, at once: each computes a copy of the cases."""
        made = self.made(np.array(numbers, np.float64))
        return Variant(
            self.name,
            self.subject,
            needs=self.needs,
            jumps=self.form.jumps,
            copies=len(numbers),
            **made,
        )


def _shortest(number: float) -> str:
    """The number with as few digits as tell it from any other."""
    text = f"{number:g}"
    return text if float(text) == number else repr(float(number))


def _altered(names: tuple[str, ...], form: NumberForm, number: Number) -> dict[str, Any]:
    def alter(name: str, value: Array) -> Array:
        return form.of(value, along(number, value)) if name in names else value

    def bound(_: StackedSemantics) -> Alter:
        return alter

    return {"alter": bound}


def _of_quantities() -> Iterator[Family]:
    """Every form of each quantity, of both gates, and of the pre-activations, but those that are solved for."""
    groups = {name: ((name,), words) for name, words in QUANTITIES.items()} | {
        "gates": (("z", "r"), "both gates zt and rt"),
        "pre-activations": (("a_z", "a_r", "a_h"), "every pre-activation"),
        "pre-activations-of-gates": (("a_z", "a_r"), "the pre-activations of both gates"),
    }
    for group, (names, words) in groups.items():
        for form in NOT_LINEAR:
            yield Family(f"{group}-{form.name}", words, form, partial(_altered, names, form))


def _function(name: str, number: Number) -> dict[str, Any]:
    asked, _, _ = CHANGED_FUNCTIONS[name]
    return _instead(asked, lambda one, k: one._replace(name=f"{name}={k!r}"), number)


def _instead(
    asked: str, other: Callable[[Activation, float], Activation], number: Number
) -> dict[str, Any]:
    """Another function, made of the one that is `asked` for and of the number."""

    def changed(s: StackedSemantics) -> StackedSemantics:
        numbers = np.broadcast_to(along(number, s.clip), s.clip.shape).ravel().tolist()

        def each(functions: Any) -> Any:
            return tuple(
                tuple(
                    other(one, k) if one.name == asked else one
                    for one, k in zip(cases, numbers, strict=True)
                )
                for cases in functions
            )

        return replace(s, f=each(s.f), g=each(s.g))

    return {"semantics": changed}


NEGATIVE = ("tanh", "affine", "leaky-relu", "scaled-tanh", "elu", "softsign")
"""The functions that have negative results."""
CHANGED_FUNCTIONS: dict[str, tuple[str, str, NumberForm]] = {
    f"{asked}-{where}-{form.name}": (asked, where, form)
    for asked in FUNCTIONS
    for where in ("argument", "result")
    for form in FORMS
    if (where, form.name) != ("result", "leaky") or asked in NEGATIVE
}
"""What members of families compute in place of a function, by name: which one, of what it is a form (its
argument or its result), and the form. Behind the name stands "=" and the number."""


def _of_functions() -> Iterator[Family]:
    """Every form of the argument and of the result of the activation functions."""
    for name, (asked, where, form) in CHANGED_FUNCTIONS.items():
        subject = f"the {where} of {asked}"
        yield Family(name, subject, form, partial(_function, name), needs=(f"f.{asked}",))


def _hard_sigmoid(slope: Number) -> dict[str, Any]:
    return _instead("sigmoid", lambda _, k: Activation("hard-sigmoid", k, 0.5), slope)


def _clip_scaled(number: Number) -> dict[str, Any]:
    factor = np.maximum(np.abs(number), 1e-300)  # infinity, no clip, stays so
    return {"semantics": lambda s: replace(s, clip=s.clip * along(factor, s.clip))}


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        *_of_quantities(),
        *_of_functions(),
        Family(
            "sigmoid-as-hard-sigmoid-of-slope", "sigmoid", HARD, _hard_sigmoid, needs=("f.sigmoid",)
        ),
        Family("clip-scaled", "{clip}", WIDENED, _clip_scaled, needs=("clip",)),
    )
}
"""All families, by name."""
