"""What an operator is, as data: attributes, inputs and outputs in the words of its specification.

An operator of another owner, with other names, axis order, gate order and bias form, is one more
`Operator` value. Everything that reads cases (expansion, inputs, the GRU, files, runtimes) works
from these descriptions and knows no operator by name.

Two vocabularies meet here. The specification's own names stand on the left (`batch_size`, `X`,
`linear_before_reset`); what they mean to a GRU stands on the right, in a vocabulary shared by all
operators:

* axes: `batch`, `time`, `direction`, `input`, `hidden`;
* tensor roles: `x`, `h0`, `lengths`, `w`, `r`, `b` (inputs), `y`, `ho` (outputs);
* what an attribute sets: `hidden`, `clip`, `reset_after`, `direction`; `activations` (f and g, or f
  and g of each direction), or `f` and `g` apart, and their `alpha` and `beta`; `bias_inside`, whether
  the candidate's recurrent bias is inside the product with the reset gate (its forms say how);
  `sequence`, whether every state is given, or the last alone; or nothing;
* the parts stacked along a gate axis: `z`, `r`, `h` for a weight or for the sum of a gate's two
  biases; `wz`, `wr`, `wh` for an input-side bias and `rz`, `rr`, `rh` for a recurrent one.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
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
"""The usual words for directions, and what they mean."""
SEQUENCE_SIZES = {
    "batch_size": "batch", "seq_length": "time", "input_size": "input", "hidden_size": "hidden",
    "num_directions": "direction",
}  # fmt: skip
"""The usual symbols of sizes of an operator on sequences."""

Kind = Literal["int", "float", "boolean", "string", "strings", "floats"]
Meaning = Literal[
    "", "hidden", "activations", "f", "g", "alpha", "beta", "clip", "reset_after", "bias_inside",
    "direction", "sequence",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute of an operator.

    `default` is what the specification says a left-out attribute means (None: it has no meaning of
    its own). `choices` maps each allowed value to what it means (an activation's name to the
    function, with default parameters, NaN where there is none); `length` is the number of entries of
    a list, for each direction where `per_direction`. `written` maps integers that may stand for a value
    to it. Of numbers, `positive` excludes zero and below, `infinite` allows infinity to a positive one,
    and `single` makes the value a float32 number. In case ids a value stands after
    `token`, and a left-out attribute is `absent_token`.
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
        """Replace another way to write a value by the value."""
        return self.written.get(value, value) if type(value) is int else value

    @property
    def is_list(self) -> bool:
        """Whether the attribute's value is a list."""
        return self.kind in ("strings", "floats")


@dataclass(frozen=True)
class Form:
    """One shape a tensor may take, chosen by attributes.

    `axes` are the specification's symbols, a stacked gate axis as `3*hidden_size`, an axis that is
    always 1 as `1`; `parts` names what is stacked there, in order. The form holds where every
    attribute in `when` has that value; the tensor then plays `role` where that is another one.
    """

    axes: tuple[str, ...]
    parts: tuple[str, ...] = ()
    when: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    role: Role | None = None


@dataclass(frozen=True)
class Tensor:
    """An input or output: its role in a GRU, its type variable, and the forms it may take.

    One that is not `required` may be left out. One that has `fills` may be zeros: the first of the two
    is what a case has that does not say. What a specification leaves open whether it is read at all is
    zeros unless the case says `drawn`; an initial state is drawn unless the case says `zeros`.
    """

    name: str
    role: Role
    type: str
    forms: tuple[Form, ...]
    required: bool = True
    fills: tuple[Fill, ...] = ()

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

    `x` and `h` are what a step starts from; `z`, `r`, `t` and `state` what it gives; `gate` are the
    letters of gates, where they are others. In `w` and `u`, the input and the recurrent weight, stands
    {gate}, in `matmul`, x·weightᵀ, stand {x} and {weight}. `b` is an input bias, `rb` a recurrent one,
    `sum_b` what a bias that has no side is. `functions` are activations that have other names.
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
        """Write `words`, one of the fields with {gate}, of a gate."""
        return words.format(gate=self.gate.get(gate, gate))

    def part(self, part: str) -> str:
        """Write a part of a bias (see the module): of one side, or of both."""
        words = {"w": self.b, "r": self.rb}[part[0]] if len(part) == 2 else self.sum_b
        return self.of_gate(words, part[-1])


USUAL = Notation()
"""That of ONNX and OpenVINO."""


@dataclass(frozen=True, eq=False)
class Operator:
    """A GRU operator as its owner specifies it.

    `sizes` maps the specification's size symbols to the shared axes, `types` each type variable to
    the dtype names it may take (the first is the default). `id_order` is the order in which
    attributes appear in case ids. A deciding case has no pre-activation beyond `sure_range`, from where on
    the owner's documents leave open what is computed. `notation` is how its formulas are written.
    `always` are fields of `semantics.Semantics` that no attribute sets, where they are not as usual.
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
        """Who specifies the operator: the folder of its cases and of its ledger."""
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

    def setting(self, meaning: Meaning) -> Attribute | None:
        """Find the attribute that sets `meaning`, if the operator has one."""
        return next((a for a in self.attributes if a.sets == meaning), None)

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

    def present(self, tensors: tuple[Tensor, ...], absent: Container[str]) -> list[Tensor]:
        """Leave out the tensors that are `absent`."""
        return [t for t in tensors if t.name not in absent]

    def shape(
        self, tensor: Tensor, attributes: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> tuple[int, ...]:
        """Compute the shape of `tensor` where every size symbol has the value in `sizes`."""
        lengths = []
        for axis in tensor.form(attributes).axes:
            count, _, symbol = axis.rpartition("*")
            lengths.append(int(count or 1) * (1 if symbol == "1" else sizes[symbol]))
        return tuple(lengths)
