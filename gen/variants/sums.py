"""Steps in which a quantity has more, or less, of others: what the diagnosis solves for.

A name says what is added to which quantity: `a_r+=1*a_z` adds the update gate's pre-activation to the reset
gate's; `state+=-1*z*h+1*r*h` takes the reset gate for the update gate in the blend.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ...cases.dtypes import Array
from ...cases.operators.semantics import StackedSemantics
from ..gru import Alter
from .expressions import QUANTITIES
from .variant import Variant

Terms = Mapping[str, float]
"""Coefficients by product, such as `z*h`; the product of nothing is `1`."""
_ADDS = "+="
_TERM = re.compile(r"([+-]?[\d.]+(?:e[+-]\d+)?)\*([^+-]+)")
_OWN = {
    "a_z": ("x_z", "p_z", "b_z"),
    "a_r": ("x_r", "p_r", "b_r"),
    "a_h": ("x_h", "p_h", "b_h"),
    "state": ("t", "z*t", "z*h"),
}
"""The products that a quantity is the sum of."""
_GATES = ("x_z", "x_r", "p_z", "p_r", "h", "1")
PRODUCTS: Mapping[str, Sequence[str]] = {
    "a_z": (*_GATES, "b_z"),
    "a_r": (*_GATES, "b_r", "b_z", "a_z"),
    "a_h": (
        *_GATES, "x_h", "p_h", "b_h", "b_z", "b_r", "a_z", "a_r", "z", "r", "u",
        "b_u", "r*b_u", "r*x_h", "r*b_h", "r*p_h", "z*p_h", "r*h", "z*h",
    ),
    "z": ("1", "z", "z*z"),
    "r": ("1", "r", "z", "r*r"),
    "t": ("1", "h", "z", "r", "t", "r*t", "z*t", "a_h"),
    "state": ("1", "h", "t", "z", "r", "z*t", "z*h", "r*t", "r*h", "z*r*h", "z*z*h", "z*z*t"),
}  # fmt: skip
"""What may be added to a quantity: products of what a step knows by then."""
_WORDS = QUANTITIES | {
    **{f"x_{gate}": f"Xt*(W{gate}^T)" for gate in "zrh"},
    **{f"p_{gate}": f"Ht-1*(R{gate}^T)" for gate in "zr"},
    **{f"b_{gate}": f"the biases of {gate}" for gate in "zrh"},
    "b_u": "Rbh", "h": "Ht-1", "z": "zt", "r": "rt", "t": "ht", "1": "1",
}  # fmt: skip


def with_terms(target: str, terms: Terms) -> Variant:
    """Make the variant that adds terms to a quantity of the step.

    Raises KeyError where the quantity or a product is none that is known.
    """
    for product in terms:
        if product not in PRODUCTS[target]:
            raise KeyError(product)

    def bound(_: StackedSemantics) -> Alter:
        known: dict[str, Array] = {}

        def alter(name: str, value: Array) -> Array:
            products = {"a_z": "s_z", "a_r": "s_r", "a_h": "s_h", "u": "p_u"}.get(name)
            if products in known:  # what is no product is bias
                known[f"b_{name[-1]}"] = value - known[products]
            known[name] = value
            if name == target:
                known[name] = value + sum(c * _product(p, known) for p, c in terms.items())
            return known[name]

        return alter

    text = "".join(f"{c:+.7g}*{product}" for product, c in terms.items()).removeprefix("+")
    return Variant(f"{target}{_ADDS}{text}", _in_words(target, terms), alter=bound)


def is_sum(name: str) -> bool:
    """Whether this is the name of a variant that `with_terms` makes."""
    return name.partition(_ADDS)[0] in PRODUCTS


def sum_called(name: str) -> Variant:
    """Make the variant of a name again; KeyError or ValueError where it says none."""
    target, _, text = name.partition(_ADDS)
    terms = {product: float(number) for number, product in _TERM.findall(text)}
    if not terms or (made := with_terms(target, terms)).name != name:
        raise ValueError(f"{name[:80]} is no sum of terms")
    return made


def _product(product: str, known: Mapping[str, Array]) -> Array | float:
    """Multiply what is known; 0 where the step has no such part, as Rbh outside of a reset gate."""
    found: Array | float = 1.0
    for name in product.split("*"):
        found = found * (1.0 if name == "1" else known.get(name, 0.0))
    return found


def _in_words(target: str, terms: Terms) -> str:
    """Say how the quantity is computed: the blend as a formula, another one by what is other."""
    if target == "state":
        whole = dict.fromkeys(_OWN["state"], 1.0) | {"z*t": -1.0}
        for product, c in terms.items():
            whole[product] = whole.get(product, 0.0) + c
        return f"the new state computed as Ht = {_formula({p: c for p, c in whole.items() if c})}"
    own = _OWN.get(target, (target,))
    mine = {product: c for product, c in terms.items() if product in own}
    less = [_one(product) for product, c in mine.items() if c == -1.0]
    said = [f"without {' and '.join(less)}"] * bool(less)
    said += [f"with {_one(p)} multiplied by {1 + c:.6g}" for p, c in mine.items() if c != -1.0]
    for sign, done in ((1.0, "added"), (-1.0, "subtracted")):
        more = [
            f"{abs(c):.6g} times {_one(p)}".removeprefix("1 times ")
            if p != "1"
            else f"{abs(c):.6g}"
            for p, c in terms.items()
            if p not in own and c * sign > 0
        ]
        said += [f"with {' and '.join(more)} {done}"] * bool(more)
    return f"{QUANTITIES[target]} computed {', '.join(said)}"


def _formula(terms: Terms) -> str:
    """Write a sum; a product and its opposite times zt or rt are (1 - zt) times it."""
    left, found = dict(terms), []
    for product, c in terms.items():
        for gate in ("z", "r"):
            if product in left and left.get(f"{gate}*{product}") == -c:
                del left[product], left[f"{gate}*{product}"]
                found.append((c, f"(1 - {gate}t) (.) {_one(product)}"))
    found += [(c, _one(product)) for product, c in left.items()]
    signed = (f"{'-' if c < 0 else '+'} {_times(abs(c), one)}" for c, one in found)
    return " ".join(signed).removeprefix("+ ") or "0"


def _times(number: float, one: str) -> str:
    return one if number == 1 else f"{number:.6g}" if one == "1" else f"{number:.6g} {one}"


def _one(product: str) -> str:
    """Write a product, such as zt (.) Ht-1."""
    return " (.) ".join(_WORDS[name] for name in product.split("*"))
