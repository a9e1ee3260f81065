"""The table of wrong GRUs: kernels with known mistakes, and what a right diagnosis names of each.

To add one, change a method of `Kernel` in a module beside this one, in its table or in a class, and enter it
into expected.yaml, by the class's name in small letters with hyphens: what is wrong, and what a right diagnosis names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .kernel import Kernel

CELL, SEQUENCE, ONNX = "openvino.GRUCell-3", "openvino.GRUSequence-5", "onnx.GRU-14"

GONE = r"(left out|ignored|multiplied by 0(?!\.)|limited to ±0(?!\.)|taken as zeros?)"
"""A quantity, or an input, is not there."""
EACH = "(every pre-activation|candidate's pre-activation|pre-activations of both gates|gate's pre-activation)"
"""The argument of a function, by its other names."""
EARLIER = "earlier (question|call|case)|(question|call|case) before|asked before|not cleared|stale"
"""What a runtime remembers of earlier questions."""


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
    place: str = ""
    also: str = ""


def read_table(*modules: Any) -> dict[str, WrongGru]:
    """Read expected.yaml, with the kernels of these modules; all must be in it but those with an underscore."""
    kernels: dict[str, tuple[str, type[Kernel]]] = {}
    for module in modules:
        group = module.__name__.rpartition(".")[2]
        for name, found in (*module.KERNELS.items(), *vars(module).items()):
            if isinstance(found, type) and issubclass(found, Kernel) and found is not Kernel:
                name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
                if name[0] != "_":
                    kernels[name] = group, found
    rows = yaml.safe_load((Path(__file__).parent / "expected.yaml").read_text(encoding="utf-8"))
    assert set(rows) == set(kernels), set(rows) ^ set(kernels)
    return {
        name: WrongGru(
            name,
            kernels[name][0],
            row["operator"],
            row["mistakes"],
            kernels[name][1],
            tuple(map(_expand, row["named"])),
            _expand(row.get("place", "")),
            _expand(row.get("also", "")),
        )
        for name, row in rows.items()
    }


def _expand(pattern: str) -> str:
    for word, expression in (("<gone>", GONE), ("<each>", EACH), ("<earlier>", EARLIER)):
        pattern = pattern.replace(word, expression)
    return pattern
