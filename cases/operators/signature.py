"""What an operator is, as data: attributes, inputs and outputs in the words of its specification.

One more `Operator` value describes an operator of another owner, with its names, axis order, gate
order and bias form. Everything that reads cases (expansion, inputs, the GRU, files, runtimes) works
from these descriptions and knows no operator by name.

Two vocabularies meet here. The specification's own names stand on the left (`batch_size`, `X`,
`linear_before_reset`); what they mean to a GRU stands on the right, in a vocabulary shared by all
operators:

* axes: `batch`, `time`, `direction`, `input`, `hidden`;
* tensor roles: `x`, `h0`, `lengths`, `w`, `r`, `b` (inputs), `y`, `ho` (outputs);
* what an attribute sets: `clip`, `reset_after`, `direction`; an axis whose size it repeats, such as
  `hidden`; `activations` (f and g, or f and g of each direction), or `f` and `g` apart, and their
  `alpha` and `beta`; `bias_inside`, whether
  the candidate's recurrent bias is inside the product with the reset gate (a bias form for each);
  `sequence`, whether the output has every state or only the last; `y_padding`, what the output is where a
  row has no step; or nothing;
* the parts stacked along a gate axis: `z`, `r`, `h` for a weight or for the sum of a gate's two
  biases; `wz`, `wr`, `wh` for an input-side bias and `rz`, `rr`, `rh` for a recurrent one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

Role = Literal["x", "h0", "lengths", "w", "r", "b", "y", "ho"]

ABSENT = "absent"
"""The value of a factor that is left out, so that the specification's default applies."""

Fill = Literal["zeros", "drawn"]
ZEROS_OR_DRAWN: tuple[Fill, ...] = ("zeros", "drawn")
DRAWN_OR_ZEROS: tuple[Fill, ...] = ("drawn", "zeros")
DIRECTIONS = {
    "forward": ("forward",), "reverse": ("reverse",), "bidirectional": ("forward", "reverse"),
}  # fmt: skip
"""The usual words for directions, and their meanings."""
SEQUENCE_SIZES = {
    "batch_size": "batch", "seq_length": "time", "input_size": "input", "hidden_size": "hidden",
    "num_directions": "direction",
}  # fmt: skip
"""The usual size symbols of an operator on sequences, and the shared axes that they measure."""

Kind = Literal["int", "float", "boolean", "string", "strings", "floats"]
Meaning = Literal[
    "", "batch", "time", "input", "hidden", "activations", "f", "g", "alpha", "beta", "clip",
    "reset_after", "bias_inside", "direction", "sequence", "y_padding",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute of an operator.

    `default` is the value that the specification gives a left-out attribute (None: it gives none).
    `choices` maps each allowed value to its meaning (an activation's name to the function with default
    parameters, NaN for a parameter without default). An attribute that repeats a size has the name of the
    size's symbol. `length` is the number of entries of a list, for
    each direction if `per_direction`. `written` maps integers to the values that they may stand for.
    For numbers, `positive` excludes zero and below, `infinite` also allows infinity (with `positive`), and
    `single` rounds the value to float32. In case ids a value stands after `token`, and a left-out
    attribute is `absent_token`.
    """

    name: str
    kind: Kind
    about: str
    sets: Meaning = ""
    required: bool = False
    default: Any = None
    choices: Mapping[Any, Any] = field(default_factory=dict)
    written: Mapping[int, Any] = field(default_factory=dict)
    length: int | None = None
    per_direction: bool = False
    positive: bool = False
    infinite: bool = False
    single: bool = False
    token: str = ""
    absent_token: str = ""

    def canonical(self, value: Any) -> Any:
        """Replace an integer by the value that it stands for."""
        return self.written.get(value, value) if type(value) is int else value

    @property
    def is_list(self) -> bool:
        """Whether the attribute's value is a list."""
        return self.kind in ("strings", "floats")


@dataclass(frozen=True)
class Form:
    """One shape a tensor may take, chosen by attributes.

    An axis is a product of the specification's size symbols and of numbers, outermost first. A number counts
    parts: `3*hidden_size` stacks three, the axes `2`, `3*hidden_size` six, and `1` is an axis without
    meaning. `num_directions*hidden_size` holds the directions side by side. `parts` names what the numbers
    count, in order. Lengths with a time axis are a mask, true where a row has a step. The form holds if every
    attribute in `when` has the value there. A `role`, if given, then replaces the tensor's.
    """

    axes: tuple[str, ...]
    parts: tuple[str, ...] = ()
    when: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    role: Role | None = None

    @cached_property
    def products(self) -> tuple[tuple[str, ...], ...]:
        """The size symbols and numbers that each axis multiplies, outermost first."""
        return tuple(tuple(axis.split("*")) for axis in self.axes)


@dataclass(frozen=True)
class Tensor:
    """An input or output: its role in a GRU, its type variable, and the forms it may take.

    A tensor that is not `required` may be left out. A tensor with `fills` may be drawn or zeros: the first
    of the two, unless the case says the other. It is zeros for an input that the specification may not
    use at all, and drawn for an initial state. Tensors with one word in `together` are all given or all left
    out. Lengths are at least `least`. `names` has the owner's names of the tensors that this one stacks along
    its direction axis, in order.
    """

    name: str
    role: Role
    type: str
    forms: tuple[Form, ...]
    required: bool = True
    fills: tuple[Fill, ...] = ()
    together: str = ""
    least: int = 0
    names: tuple[str, ...] = ()

    def role_in(self, attributes: Mapping[str, Any]) -> Role:
        """Find the role that the tensor plays for `attributes` (defaults filled in)."""
        return self.form(attributes).role or self.role

    def form(self, attributes: Mapping[str, Any]) -> Form:
        """Find the form for `attributes` (defaults filled in)."""
        for form in self.forms:
            if not form.when or all(attributes[n] == value for n, value in form.when.items()):
                return form
        raise AssertionError(f"{self.name}: no form for {attributes}")


@dataclass(frozen=True)
class Notation:
    """How a specification writes the formulas of a GRU; the defaults are ONNX's and OpenVINO's.

    `x` and `h` are a step's input and old state; `z`, `r`, `t` and `state` its gates, candidate and new
    state. `gate` maps gates to other letters. The input weight `w` and the recurrent weight `u` contain
    {gate}; `matmul`, which is x·weightᵀ, contains {x} and {weight}. `b` is an input bias, `rb` a recurrent
    bias, `sum_b` the sum of both. `functions` maps activations to other names.
    """

    x: str = "Xt"
    h: str = "Ht-1"
    z: str = "zt"
    r: str = "rt"
    t: str = "ht"
    state: str = "Ht"
    gate: Mapping[str, str] = field(default_factory=dict)
    w: str = "W{gate}"
    u: str = "R{gate}"
    matmul: str = "{x}*({weight}^T)"
    times: str = "(.)"
    b: str = "Wb{gate}"
    rb: str = "Rb{gate}"
    sum_b: str = "Wb{gate} + Rb{gate}"
    functions: Mapping[str, str] = field(default_factory=dict)

    def of_gate(self, words: str, gate: str) -> str:
        """Write `words`, a field that contains {gate}, for a gate."""
        return words.format(gate=self.gate.get(gate, gate))

    def part(self, part: str) -> str:
        """Write a part of a bias (see the module): an input, a recurrent, or a summed bias."""
        words = {"w": self.b, "r": self.rb}[part[0]] if len(part) == 2 else self.sum_b
        return self.of_gate(words, part[-1])

    def rewrite(self, text: str) -> str:
        """Write what a text has in the usual notation, such as zt or Rbh, in this one."""
        marks: dict[str, str] = {getattr(USUAL, n): getattr(self, n) for n in _MARKS}

        def write(found: re.Match[str]) -> str:
            x, weight, gate = found["x"], found["weight"], found["gate"]
            if weight:
                of_gate = self.of_gate({"W": self.w, "R": self.u}[weight], gate)
                return self.matmul.format(x=marks[x], weight=of_gate)
            if found["bias"]:
                return self.part(found["bias"].replace("b", "").lower())
            return marks[found[0]]

        return _IN_TEXT.sub(write, text)


USUAL = Notation()
"""The notation of ONNX and OpenVINO."""
_MARKS = ("x", "h", "z", "r", "t", "state", "times")
_IN_TEXT = re.compile(
    r"(?P<x>Xt|Ht-1)\*\((?P<weight>[WR])(?P<gate>[zrh])\^T\)"
    r"|\b(?P<bias>[WR]b[zrh])\b|\bHt-1\b|\b(?:[zrhHX]t)\b|\(\.\)"
)
"""What a text may have of the usual notation."""


@dataclass(frozen=True, eq=False)
class Operator:
    """A GRU operator as its owner specifies it.

    `sizes` maps the specification's size symbols to the shared axes, `types` each type variable to
    the dtype names it may take (the first is the default). `id_order` is the order in which
    attributes appear in case ids. For pre-activations beyond `sure_range`, the owner's documents leave the
    result open; deciding cases have none. `notation` says how the owner writes formulas. `always` has,
    by meaning, what no attribute sets and is not as usual: `f` and `g`, or fields of `semantics.Semantics`.
    """

    name: str
    source: str
    attributes: tuple[Attribute, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    sizes: Mapping[str, str]
    types: Mapping[str, tuple[str, ...]]
    id_order: tuple[str, ...]
    sure_range: float = math.inf
    notation: Notation = USUAL
    always: Mapping[str, Any] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        """The operator's owner, which is also the name of the folder of its cases and its ledger."""
        return self.name.partition(".")[0]

    def attribute(self, name: str) -> Attribute | None:
        """Find the attribute called `name`, if the operator has it."""
        return next((a for a in self.attributes if a.name == name), None)

    def tensor(self, role: Role) -> Tensor | None:
        """Find the input or output that plays `role`, if the operator has one."""
        return next((t for t in (*self.inputs, *self.outputs) if t.role == role), None)

    def dtypes(self) -> tuple[str, ...]:
        """List the floating-point types of X, and so of a case."""
        return self.types[next(t.type for t in self.inputs if t.role == "x")]

    @property
    def masked(self) -> bool:
        """Whether a mask says which steps each row has, and so on which side padding is."""
        lengths = self.tensor("lengths")
        return lengths is not None and len(lengths.forms[0].axes) > 1

    def setting(self, meaning: Meaning) -> Attribute | None:
        """Find the attribute that sets `meaning`, if the operator has one."""
        return next((a for a in self.attributes if a.sets == meaning), None)

    def repeating(self) -> dict[str, Attribute]:
        """Find the attributes that repeat a size, by the size's symbol."""
        return {one.name: one for one in self.attributes if one.name in self.sizes}

    def with_defaults(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in the specification's defaults of attributes that are not `given`."""
        filled = {a.name: given.get(a.name, a.default) for a in self.attributes}
        for one in self.attributes:
            if one.per_direction and one.name not in given and one.default is not None:
                filled[one.name] = one.default * len(self.directions(filled))
        return {name: value for name, value in filled.items() if value is not None}

    def directions(self, attributes: Mapping[str, Any]) -> tuple[str, ...]:
        """List the directions in which the sequence is traversed, in the order of the direction axis."""
        one = self.setting("direction")
        return one.choices[attributes[one.name]] if one else ("forward",)

    def beside(self, tensor: Tensor) -> list[str]:
        """List the tensors that are given or left out together with `tensor`, and itself."""
        together = [t.name for t in self.inputs if t.together == tensor.together != ""]
        return together or [tensor.name]

    def present(self, tensors: tuple[Tensor, ...], absent: Container[str]) -> list[Tensor]:
        """Leave out the tensors that are `absent`."""
        return [t for t in tensors if t.name not in absent]

    def shape(
        self, tensor: Tensor, attributes: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> tuple[int, ...]:
        """Compute the shape of `tensor` from the values of all size symbols."""
        return tuple(
            math.prod(int(one) if one.isdigit() else sizes[one] for one in product)
            for product in tensor.form(attributes).products
        )
