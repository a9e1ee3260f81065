"""One attribute of an operator: what it is called, which values it takes, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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
    and `single` says that the value is held as a float32 number. In case ids a value stands after
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
        """The value that `value` is another way to write, or itself."""
        return self.written.get(value, value) if type(value) is int else value

    @property
    def is_list(self) -> bool:
        """Whether the attribute's value is a list."""
        return self.kind in ("strings", "floats")
