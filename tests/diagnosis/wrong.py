"""The table of wrong GRUs: kernels with known mistakes, and what a right diagnosis names of each.

To add one, change a method of `Kernel` in a table of kernels.py, and enter it into expected.yaml by the same
name: what is wrong, and what a right diagnosis names. second.py and second.yaml are the second list, and
real.py and real.yaml the third, of bugs from public trackers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import yaml

from grucible.vectors.vector_set import open_set

from .kernel import Kernel

CELL, SEQUENCE, ONNX = "openvino.GRUCell-3", "openvino.GRUSequence-5", "onnx.GRU-14"
THEMES = ("core", "core_with_zero", "plain", "plain_sizes")
"""The themes that wrong GRUs are judged by; later ones would change what marks are compared with."""

GONE = r"(left out|ignored|multiplied by 0(?!\.)|limited to ±0(?!\.)|taken as zeros?)"
"""A quantity, or an input, is not there."""
EACH = "(every pre-activation|candidate's pre-activation|pre-activations of both gates|gate's pre-activation)"
"""The argument of a function, by its other names."""
EARLIER = "earlier (question|call|case)|(question|call|case) before|asked before|not cleared|stale"
"""What a runtime remembers of earlier questions."""


@cache
def judging(operator: str) -> list[str]:
    """Select the float32 questions of an operator, or of several, that wrong GRUs are judged by."""
    globs = [f"{operator}/{theme}/float32/*" for theme in THEMES]
    ids = open_set(select=(f"{operator}/*",)).ids
    return [glob for glob in globs if any(fnmatchcase(one, glob) for one in ids)]


@dataclass(frozen=True)
class WrongGru:
    """A wrong kernel for the questions of one operator, and regular expressions for what is true of it.

    An expression is searched for, ignoring case, in each sentence of a finding followed by its place.
    `named` has one for each mistake. `place` is where a mistake sits that is not everywhere: naming that is
    enough. `also` is true besides, such as half of a mistake. `source` is where a bug was reported. A kernel may
    keep state, so each use makes one.
    """

    name: str
    group: str
    operator: str
    mistakes: str
    kernel: type[Kernel]
    named: tuple[str, ...]
    place: str = ""
    also: str = ""
    source: str = ""


def read_table(
    groups: Mapping[str, Mapping[str, type[Kernel]]], file: str = "expected.yaml"
) -> dict[str, WrongGru]:
    """Read what is expected of the kernels of these groups; the file must have all and no others."""
    kernels = {name: (group, one) for group, of in groups.items() for name, one in of.items()}
    rows = yaml.safe_load((Path(__file__).parent / file).read_text(encoding="utf-8"))
    assert set(rows) == set(kernels), set(rows) ^ set(kernels)
    known = {"operator", "mistakes", "named", "place", "also", "source"}
    assert all(set(row) <= known for row in rows.values())
    return {
        name: WrongGru(
            name,
            kernels[name][0],
            row["operator"],
            row["mistakes"],
            kernels[name][1],
            named=tuple(map(_expand, row["named"])),
            place=_expand(row.get("place", "")),
            also=_expand(row.get("also", "")),
            source=row.get("source", ""),
        )
        for name, row in rows.items()
    }


def _expand(pattern: str) -> str:
    for word, expression in (("<gone>", GONE), ("<each>", EACH), ("<earlier>", EARLIER)):
        pattern = pattern.replace(word, expression)
    return pattern
