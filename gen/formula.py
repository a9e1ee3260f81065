"""What a question asks for, in lines of text: its attributes and its equations.

The equations are the step of `gen.gru` over texts, in the owner's notation (`cases.operators.signature`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from ..cases.operators import OPERATORS
from ..cases.operators.activations import Activation
from ..cases.operators.semantics import Semantics
from ..cases.operators.signature import USUAL, Attribute, Notation
from ..cases.question import Question
from .gru import GATES, Step, step

NO_FORMULA = (AttributeError, LookupError, TypeError, ValueError)
"""What expressions of arrays raise that take no formulas: most of numpy's functions do not."""


def _own_names(notation: Notation) -> dict[str, str]:
    """Return the owner's names of quantities of a step, for those that the owner names."""
    return {name: getattr(notation, name) for name in ("z", "r", "t", "state")}


@dataclass(frozen=True)
class Formula:
    """The sum of `terms`, texts in a notation; a term that is subtracted begins with "-".

    A sum needs brackets as the operand of a product; a product needs them as that of a matrix product.
    """

    terms: tuple[str, ...]
    notation: Notation
    is_product: bool = False

    @property
    def text(self) -> str:
        """The formula as it is written."""
        signs = (f" - {one[1:]}" if one.startswith("-") else f" + {one}" for one in self.terms[1:])
        return "".join([*self.terms[:1], *signs]) or "0"

    @property
    def as_factor(self) -> str:
        """The text, in brackets if it is a sum."""
        return f"({self.text})" if len(self.terms) > 1 else self.text

    def __add__(self, other: Formula | float) -> Formula:
        if not isinstance(other, Formula):
            return self + Formula((f"{other:g}",), self.notation) if other else self
        terms = list(self.terms)
        for one in other.terms:
            if (opposite := _negate(one)) in terms:
                terms.remove(opposite)
            else:
                terms.append(one)
        return Formula(tuple(terms), self.notation, len(terms) == 1)

    __radd__ = __add__

    def __sub__(self, other: Formula) -> Formula:
        return self + -1 * other

    def __rsub__(self, other: float) -> Formula:
        return Formula((f"{other:g}",), self.notation) - self

    def __mul__(self, other: Formula) -> Formula:
        text = f" {self.notation.times} ".join(one.as_factor for one in (self, other))
        return Formula((text,), self.notation, is_product=True)

    def __rmul__(self, number: float) -> Formula:
        if number == -1:
            return Formula(tuple(map(_negate, self.terms)), self.notation, self.is_product)
        if number in (0, 1):
            return self if number else Formula((), self.notation)
        return Formula((f"{number:g}",), self.notation) * self

    def clip(self, low: float, high: float, **_: object) -> Formula:
        """Write the clipping, which numpy's `clip` calls; infinite limits clip nothing."""
        if math.isinf(low) and math.isinf(high):
            return self
        return Formula((f"clip[{low:g}, {high:g}]({self.text})",), self.notation)


def _negate(term: str) -> str:
    return term[1:] if term.startswith("-") else f"-{term}"


class Formulas:
    """Arithmetic on formulas in a notation; see `gen.gru.Arithmetic`."""

    def __init__(self, notation: Notation = USUAL) -> None:
        self.notation = notation
        self.zero: Any = Formula((), notation)

    def product(self, x: Formula, weight: str) -> Formula:
        """Write the product of x with a weight."""
        words = self.notation.matmul
        bracketed = (len(x.terms) > 1 or x.is_product) and words.startswith("{x}")
        left = f"({x.text})" if bracketed else x.text
        return Formula((words.format(x=left, weight=weight),), self.notation, is_product=True)

    def activation(self, function: Activation, a: Formula, clip: float) -> Formula:
        """Write function(a), with the clipping of a if there is one."""
        name = self.notation.functions.get(function.name, function.name)
        applied = str(function).replace(function.name, name, 1)
        return Formula((f"{applied}({a.clip(-clip, clip).text})",), self.notation)

    def blend(self, z: Formula, t: Formula, h: Formula) -> Formula:
        """Write (1 - z) (.) t + z (.) h."""
        return (1 - z) * t + z * h


def quantities(
    meant: Semantics, bias_parts: Collection[str], index: int, notation: Notation = USUAL
) -> Iterator[tuple[str, str]]:
    """Write each quantity of a step (gen.gru.Step) of direction number `index`, by name.

    The order is one in which they can be computed; a quantity that the owner names comes as an equation.
    """
    own = _own_names(notation)
    names = {name: own.get(name, name) for name in Step._fields}
    for name, text in _texts(meant, bias_parts, index, notation, names):
        yield name, f"{own[name]} = {text}" if name in own else text


def _texts(
    meant: Semantics,
    bias_parts: Collection[str],
    index: int,
    notation: Notation,
    names: Mapping[str, str],
    changes: Mapping[str, Callable[[Any], Any]] = MappingProxyType({}),
    asked: Semantics | None = None,
) -> Iterator[tuple[str, str]]:
    """Write the quantities of a step that have `names`; later quantities use these names.

    `changes` are expressions of quantities (gen.variants), with what is `asked` for. One that takes no
    formulas raises one of NO_FORMULA.
    """
    arithmetic = Formulas(notation)
    texts: list[tuple[str, str]] = []
    given = asked or meant
    known: dict[str, Any] = {
        "clip": given.clip, "f": given.f[index], "g": given.g[index], "activation": arithmetic.activation,
    }  # fmt: skip

    def named(name: str, value: Any) -> Any:
        known[name] = value
        if name in changes:
            known[name] = value = arithmetic.zero + np.asarray(changes[name](known)).item()
        if name in names:
            texts.append((name, value.text))
            known[name] = Formula((names[name],), notation)
        return known[name]

    def bias(*parts: str) -> Formula | None:
        given = [notation.part(part) for part in parts if part in bias_parts]
        # a part that is neither input nor recurrent may be the sum of both
        terms = tuple(term for text in given for term in text.split(" + "))
        return Formula(terms, notation) if terms else None

    weights = SimpleNamespace(
        index=index,
        recurrent={gate: notation.of_gate(notation.u, gate) for gate in GATES},
        bias={gate: bias(gate, f"w{gate}", f"r{gate}") for gate in ("z", "r")},
        bias_h_input=bias("h", "wh"),
        bias_h_recurrent=bias("rh"),
    )
    x, h = Formula((notation.x,), notation), Formula((notation.h,), notation)
    wx = {gate: arithmetic.product(x, notation.of_gate(notation.w, gate)) for gate in GATES}
    step(arithmetic, meant, weights, wx, h, named)  # type: ignore[arg-type]
    yield from texts


def attribute_lines(question: Question) -> Iterator[str]:
    """Write every attribute of the operator: its value, or its default."""
    operator = OPERATORS[question.operator]
    width = max(len(attribute.name) for attribute in operator.attributes)
    for attribute in operator.attributes:
        yield f"{attribute.name:{width}}  {_attribute(attribute, question.given)}"


def _attribute(attribute: Attribute, given: Mapping[str, Any]) -> str:
    if attribute.name in given:
        return _text(given[attribute.name])
    default = "none" if attribute.default is None else _text(attribute.default)
    return f"absent (default {default})"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return "infinity" if value == math.inf else str(value)


def equation_lines(
    question: Question,
    meant: Semantics | None = None,
    changes: Mapping[str, Callable[[Any], Any]] = MappingProxyType({}),
) -> Iterator[str]:
    """Write the equations that a question asks for, direction by direction; or as they are misread.

    Raises one of NO_FORMULA for an expression among the `changes` that takes no formulas.
    """
    s, operator, attributes = question.semantics, OPERATORS[question.operator], question.attributes
    s = meant or s
    own = operator.notation
    parts: dict[str, list[str]] = {"w": [], "b": []}
    for tensor in operator.inputs:
        if tensor.name in question.inputs and tensor.role in parts:
            parts[tensor.role] += tensor.form(attributes).parts
    for index, direction in enumerate(s.directions):
        if s.directions != ("forward",):
            yield f"{direction}:"
        if index and (s.f[index], s.g[index]) == (s.f[0], s.g[0]):
            yield "the same, with weights of its own"
            continue
        names = _own_names(own)
        for name, text in _texts(s, parts["b"], index, own, names, changes, question.semantics):
            yield f"{names[name]} = {text}"
    biases = [part if own is USUAL else own.part(part) for part in parts["b"]]
    last = f"biases {', '.join(biases)}" if biases else "there is no bias"
    yield f"gates are stacked {', '.join(own.gate.get(g, g) for g in parts['w'])}; {last}"
    if s.y_order == "processing" and "reverse" in s.directions:
        yield "outputs of reverse stand in the order of processing (ledger: reverse-order)"
