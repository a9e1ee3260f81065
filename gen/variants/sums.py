"""Steps in which a quantity has more, or less, of others: what the diagnosis solves for.

A name says what is added to which quantity: `a_r+=1*a_z` adds the update gate's pre-activation to the reset
gate's; `a_zr+=-1*b` takes the biases from both gates; `state+=-1*z*h+1*r*h` takes the reset gate for the
update gate in the blend.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from .expressions import QUANTITIES
from .fields import GROUPS
from .variant import Quantities, Variant

Terms = Mapping[str, float]
"""Coefficients by product, such as `z*h`; the product of nothing is `1`."""
_ADDS = "+="
_TERM = re.compile(r"([+-]?[\d.]+(?:e[+-]\d+)?)\*([^+-]+)")
_OWN = {"a": "", "x": "{w}", "p": "{r}", "b": "{b}", "c": "Rbh"}
"""Parts of a pre-activation: of the input, of the state, of biases, and Rbh times rt; or all."""
_STATE = {"t": 1.0, "z*t": -1.0, "z*h": 1.0}
_OF_GATES = ("a", "x", "p", "b", "h", "1", "x_z", "x_r", "p_z", "p_r")
PRODUCTS: Mapping[str, Sequence[str]] = {
    "a_z": _OF_GATES,
    "a_r": (*_OF_GATES, "b_z", "a_z"),
    "a_h": (
        *_OF_GATES, "c", "b_z", "b_r", "a_z", "a_r", "z", "r", "u",
        "b_u", "r*x_h", "r*b", "r*p", "z*p", "r*h", "z*h",
    ),
    "a_zr": ("a", "x", "p", "b", "h", "1"),
    "a_zrh": ("a", "x", "p", "b", "c", "h", "1"),
    "z": ("1", "z", "z*z"),
    "r": ("1", "r", "z", "r*r"),
    "t": ("1", "h", "z", "r", "t", "r*t", "z*t", "a_h"),
    "state": ("1", "state", "h", "t", "z", "r", "z*t", "z*h", "r*t", "r*h", "z*r*h", "z*z*h", "z*z*t"),
}  # fmt: skip
"""What may be added to a quantity: products of what a step knows by then."""
_WORDS = QUANTITIES | {
    **{f"x_{gate}": f"Xt*(W{gate}^T)" for gate in "zrh"},
    **{f"p_{gate}": f"Ht-1*(R{gate}^T)" for gate in "zr"},
    **{f"b_{gate}": f"the biases of {gate}" for gate in "zrh"},
    "b_u": "Rbh", "h": "Ht-1", "z": "zt", "r": "rt", "t": "ht", "1": "1",
    "b": "its biases", "p": "its recurrent part",
    "a_zr": "the pre-activations of both gates", "a_zrh": "every pre-activation",
}  # fmt: skip


def with_terms(target: str, terms: Terms) -> Variant:
    """Make the variant that adds terms to a quantity of the step.

    Raises KeyError where the quantity or a product is none that is known.
    """
    for product in terms:
        if product not in PRODUCTS[target]:
            raise KeyError(product)
    targets = [f"a_{gate}" for gate in target[2:]] if target.startswith("a_") else [target]
    text = "".join(f"{c:+.7g}*{product}" for product, c in terms.items()).removeprefix("+")
    return Variant(
        f"{target}{_ADDS}{text}",
        " and ".join(_in_words(target, terms)),
        quantities={one: partial(_sum, one, terms) for one in targets},
    )


def _sum(target: str, terms: Terms, q: Quantities) -> Array:
    return np.asarray(q[target] + sum(c * _product(p, target, q) for p, c in terms.items()))


def is_sum(name: str) -> bool:
    """Whether this is the name of a variant that `with_terms` makes."""
    return name.partition(_ADDS)[0] in PRODUCTS


def numbers_of(name: str) -> list[float]:
    """List the coefficients in the name of a sum."""
    return [float(number) for number, _ in _TERM.findall(name.partition(_ADDS)[2])]


def sum_called(name: str) -> Variant:
    """Make the variant of a name again; KeyError or ValueError where it says none."""
    target, _, text = name.partition(_ADDS)
    terms = {product: float(number) for number, product in _TERM.findall(text)}
    if not terms or (made := with_terms(target, terms)).name != name:
        raise ValueError(f"{name[:80]} is no sum of terms")
    return made


def _product(product: str, target: str, q: Quantities) -> Array | float:
    found: Array | float = prod(_part(name, target[-1], q) for name in product.split("*"))
    return found


def _part(name: str, gate: str, q: Quantities) -> Any:
    """Find a quantity, or a part of a pre-activation, its own gate's if the name says none.

    It is 0 where the step has no such part, as Rbh outside of a reset gate.
    """
    inside, [kind, *other] = "p_u" in q, name.split("_")
    of = other[0] if other else gate
    if name == "1":
        return 1.0
    if name in ("c", "b_u"):
        return 0.0 if not inside else q["u"] - q["p_u"] if other else q["r"] * _part("b_u", "", q)
    if name == "p" and of == "h" and inside:
        return q["r"] * q["p_u"]
    if kind == "b":
        return q[f"a_{of}"] - q[f"s_{of}"]
    return q[f"{name}_{of}"] if name in _OWN else q[name]


def _in_words(target: str, terms: Terms) -> Iterator[str]:
    """Say how the quantity is computed: the blend as a formula, another one by its difference."""
    if target == "state" and not {"1", "state"}.issuperset(terms):
        whole = {p: _STATE.get(p, 0.0) + terms.get(p, 0.0) for p in (*_STATE, *terms)}
        yield f"the new state computed as Ht = {_formula({p: c for p, c in whole.items() if c})}"
        return
    words = {**_WORDS, **QUANTITIES}[target]
    for product, c in terms.items():
        if product == "1":
            yield f"{words} off by {c:.6g}"
        elif product in ("a", target):
            yield f"{words} {_scaled(c)}"
        elif product in _OWN and target.startswith("a_"):
            part = "" if product == "c" else GROUPS[target[2:]]
            own = "{b_outside}" if product == "b" and "h" in target else _OWN[product]
            yield f"{part}{own} {_scaled(c)}"
        else:
            how = "added to" if c > 0 else "subtracted from"
            yield f"{_times(abs(c), _one(product), ' times')} {how} {words}"


def _scaled(c: float) -> str:
    return {-1.0: "left out", -2.0: "negated"}.get(float(f"{c:.6g}"), f"multiplied by {1 + c:.6g}")


def _formula(terms: Terms) -> str:
    """Write a sum.

    A product and as much, or its opposite, times zt or rt are (1 ± zt) times it.
    """
    left, found = dict(terms), []
    for product, c in terms.items():
        for gate in ("z", "r"):
            more = left.get(f"{gate}*{product}", 0.0)
            if product in left and abs(more) == abs(c):
                del left[product], left[f"{gate}*{product}"]
                found.append((c, f"(1 {'+' if more == c else '-'} {gate}t) (.) {_one(product)}"))
    found += [(c, _one(product)) for product, c in left.items()]
    signed = (f"{'-' if c < 0 else '+'} {_times(abs(c), one)}" for c, one in found)
    return " ".join(signed).removeprefix("+ ") or "0"


def _times(number: float, one: str, times: str = "") -> str:
    return one if number == 1 else f"{number:.6g}" if one == "1" else f"{number:.6g}{times} {one}"


def _one(product: str) -> str:
    """Write a product, such as zt (.) Ht-1."""
    return " (.) ".join(_WORDS[name] for name in product.split("*"))
