"""The table of wrong GRUs: kernels with known mistakes, and what a right diagnosis names of each.

To add one, subclass `Kernel` in a module beside this one, change a method, say in the docstring what is wrong,
and register it: `@wrong(CELL, "clip ignored")`. Its name is the class's, in small letters with hyphens.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from .kernel import Kernel

CELL, SEQUENCE, ONNX = "openvino.GRUCell-3", "openvino.GRUSequence-5", "onnx.GRU-14"

GONE = r"(left out|ignored|multiplied by 0(?!\.)|limited to ±0(?!\.)|taken as zeros?)"
"""A quantity, or an input, is not there."""
EACH = "(every pre-activation|candidate's pre-activation|pre-activations of both gates|gate's pre-activation)"
"""The argument of a function, by its other names."""
EARLIER = "earlier (question|call|case)|(question|call|case) before|asked before|not cleared|stale"
"""What a runtime remembers of earlier questions."""

K = TypeVar("K", bound=type[Kernel])


@dataclass(frozen=True)
class WrongGru:
    """A wrong kernel for the questions of one operator, and regular expressions for what is true of it.

    An expression is searched for, ignoring case, in each sentence of a finding followed by its place.
    `named` has one for each mistake. `place` is where a mistake sits that is not everywhere: naming that is
    enough. `also` is true besides, such as half of a mistake. A kernel may keep state, so each use makes one.
    """

    name: str
    group: str
    operator: str
    mistakes: str
    kernel: type[Kernel]
    named: tuple[str, ...]
    place: str
    also: str


WRONG: dict[str, WrongGru] = {}
"""All wrong GRUs by name, once their modules are imported."""


def wrong(operator: str, *named: str, place: str = "", also: str = "") -> Callable[[K], K]:
    """Add a kernel to the table; its group is the name of its module."""

    def add(kernel: K) -> K:
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", kernel.__name__).lower()
        assert name not in WRONG, f"two wrong GRUs are called {name}"
        group, mistakes = kernel.__module__.rpartition(".")[2], kernel.__doc__ or ""
        WRONG[name] = WrongGru(name, group, operator, mistakes, kernel, named, place, also)
        return kernel

    return add
