"""A variant: what it does differently from the GRU, as changes around the one implementation.

A variant changes the inputs, the semantics, quantities inside a step, or the outputs; it never
writes the equations again. Variants compose: the changes of one follow those of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import permutations
from typing import Any, Literal

from ...cases.dtypes import Array
from ...cases.operators.layout import GruInputs
from ...cases.operators.semantics import StackedSemantics
from ...cases.operators.signature import Operator
from ..gru import Advance, Alter
from ..stacks import Float64

Kind = Literal["misreading", "approximation", "precision", "reading"]
Outputs = tuple[Array, Array]
"""y (n, direction, batch, time, hidden) and ho (n, direction, batch, hidden)."""


IN_A_STEP = (
    "h", "x_z", "x_r", "p_z", "s_z", "p_r", "s_r", "a_z", "a_r", "z", "r", "x_h", "p_u", "u", "p_h", "s_h", "a_h",
    "t", "state",
)  # fmt: skip
"""The names of what a step computes (gen.gru.Alter), in the order in which it does."""


class Quantities:
    """What is `known` of a step so far, by name (IN_A_STEP), of some stacked cases.

    Also `clip` (infinite where there is none), and `f` and `g`, the functions of the gates and of the candidate
    by case, all as `asked` for; and `activation`, which applies a function to a clipped value.
    """

    def __init__(self, known: Mapping[str, Array], at: slice, asked: StackedSemantics) -> None:
        self._known, self._at = known, at
        self._asked = {
            "clip": asked.clip, "f": asked.f[0], "g": asked.g[0], "activation": Float64().activation,
        }  # fmt: skip

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __getitem__(self, name: str) -> Any:
        return self._asked[name] if name in self._asked else self._known[name][self._at]


Expression = Callable[[Quantities], Array]
"""A quantity, from those of a step so far, which it is one of."""


@dataclass(frozen=True)
class Evaluated:
    """What a change of the outputs may look at.

    These are the true inputs, the semantics, the outputs so far, and `again`, which computes the outputs of
    other inputs in the same way, with more variants beside.
    """

    inputs: GruInputs
    semantics: StackedSemantics
    y: Array
    ho: Array
    again: Callable[..., Outputs]


@dataclass(frozen=True)
class Variant:
    """One way to differ from the GRU that is asked for.

    `about` completes the sentence "explained by: …"; what an operator has names of its own for stands
    in it as {b}, {lengths} …, see `about_for`. `needs` names what an operator must have for the
    variant to mean anything there, see `traits`, `owners` whose it must be (none: anyone's). `links`
    are reports of real implementations that were wrong in this way, `ledger` the entry of a reading, or
    of the point that a misreading gets wrong where a text is silent on it.

    Each change is None where there is none. `quantities` has what quantities of a step become; `advance` takes
    the steps in another way, made from the arithmetic, what is meant and what is altered. `last` is what an
    output holds that is the last state alone, where that is not ho. `between_steps` says that the change is one
    that no single step of a row tells: of the first state, of which steps are taken and of what, or of what
    a step takes of another row. One that `replaces` an input (x, lengths) undoes some of another one that does.

    An approximation says which `function` it approximates, with what largest `error`; a loss of precision
    the required classes that it is `worse_than`, and the `arithmetic` it computes in. One that `jumps`
    makes a small difference of a quantity a large one at some values, as rounding to a grid does; one that
    `fills` puts one constant, or NaN, exactly where it says.
    """

    name: str
    about: str
    kind: Kind = "misreading"
    needs: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    ledger: str = ""
    links: tuple[str, ...] = ()
    inputs: Callable[[GruInputs, StackedSemantics], GruInputs] | None = None
    semantics: Callable[[StackedSemantics], StackedSemantics] | None = None
    quantities: Mapping[str, Expression] = field(default_factory=dict, hash=False)
    advance: Callable[[Any, StackedSemantics, Alter], Advance] | None = None
    outputs: Callable[[Evaluated], Outputs] | None = None
    last: Callable[[Evaluated], Array] | None = None
    between_steps: bool = False
    replaces: str = ""
    arithmetic: Any = None
    function: str = ""
    error: float = 0.0
    worse_than: tuple[str, ...] = ()
    jumps: bool = False
    fills: bool = False

    def about_for(self, operator: Operator) -> str:
        """`about` in the operator's own words."""
        return operator.notation.rewrite(self.about.format_map(_words(operator)))

    @property
    def within_a_step(self) -> bool:
        """Whether a step from a known state tells it: nothing is changed but inputs, and what a step does."""
        return not (self.outputs or self.last or self.between_steps)

    @property
    def of_outputs_alone(self) -> bool:
        """Whether it leaves all steps as they are, and changes what is handed out."""
        changes = (self.inputs, self.semantics, self.quantities, self.advance, self.arithmetic)
        return not any(changes)

    def means_something_for(self, operator: Operator) -> bool:
        """Whether the operator has what the variant is about."""
        anyones = not self.owners or operator.owner in self.owners
        return anyones and traits(operator).issuperset(self.needs)


class _Words(dict[str, str]):
    """Names by meaning; a meaning without a name stands for itself."""

    def __missing__(self, word: str) -> str:
        return word


@cache
def _words(operator: Operator) -> _Words:
    """List the operator's names: of tensors by role, of attributes by the thing they set."""
    words: dict[str, list[str]] = {}
    for tensor in (*operator.inputs, *operator.outputs):
        words.setdefault(tensor.role, []).append(tensor.name)
    for attribute in operator.attributes:
        words.setdefault(attribute.sets, []).append(attribute.name)
    words.setdefault("reset_after", words.get("bias_inside", []))
    reset = " and ".join(words["reset_after"])
    words["after_asked"] = [f"{reset} is set" if reset else "the formula applies it after"]
    words.setdefault("y", words["ho"])
    inside = " (but for rt (.) Rbh)" if "reset" in traits(operator) else ""
    words["b_outside"] = [" and ".join(words.get("b", ["b"])) + inside]
    words["outputs"] = [tensor.name for tensor in operator.outputs]
    return _Words({word: " and ".join(names) for word, names in words.items() if names})


@cache
def traits(operator: Operator) -> frozenset[str]:
    """List what variants may need of an operator.

    A tensor's role (`lengths`); what an attribute sets (`clip`), `reset` where the reset gate is or may
    be applied after the product; an axis (`axis.time`); a part of a bias (`b.rh`), `b.six` where all
    six are one tensor's, `b.more` where more than three are; an activation that may be asked for
    (`f.tanh`), `f.chosen` where an attribute chooses it, `f.per_direction` where each direction has its
    own; `lengths.0` for rows of length 0; `mask` where a mask says which steps there are; `y.time` or
    `y.processing`, the order of Y; `y.bdt` where a tensor has the axes batch, direction and time in that
    order in some form; `not.zrh` where the gates have another order.
    """
    tensors = (*operator.inputs, *operator.outputs)
    has: set[str] = {t.role for t in tensors} | {a.sets for a in operator.attributes}
    has |= {f"axis.{axis}" for axis in operator.sizes.values()}
    if has & {"reset_after", "bias_inside"} or operator.always.get("reset_after"):
        has.add("reset")
    for form in (form for t in tensors if t.role == "b" for form in t.forms):
        has |= {f"b.{part}" for part in form.parts}
        if len(form.parts) > 3:
            has.add("b.more")
        if len(form.parts) == 6:
            has.add("b.six")
    has |= {f"f.{operator.always[one].name}" for one in ("f", "g") if one in operator.always}
    for attribute in operator.attributes:
        if attribute.sets in ("activations", "f", "g"):
            has.add("f.chosen")
            has |= {f"f.{function.name}" for function in attribute.choices.values()}
            if attribute.per_direction:
                has.add("f.per_direction")
    for tensor in tensors:
        for form in tensor.forms:
            role = form.role or tensor.role
            axes = [operator.sizes.get(one, "") for product in form.products for one in product]
            order = "".join(a[0] for a in axes if a in ("batch", "direction", "time"))
            has.add(f"{role}.{order}")
    has |= {"lengths.0" for t in tensors if t.role == "lengths" and not t.least}
    if operator.masked:
        has.add("mask")
    [weights] = [t for t in operator.inputs if t.role == "w"]
    orders = {"".join(order) for order in permutations("zrh")}
    has |= {f"not.{order}" for order in orders - {"".join(weights.forms[0].parts)}}
    has.add(f"y.{operator.always.get('y_order', 'time')}")
    return frozenset(has)
