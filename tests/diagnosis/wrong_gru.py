"""A wrong GRU, and what a reviewer would say is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .kernel import Kernel

CELL, SEQUENCE, ONNX = "openvino.GRUCell-3", "openvino.GRUSequence-5", "onnx.GRU-14"

Kind = Literal["single", "several", "place", "data", "stateful", "numerical"]
"""One mistake everywhere; more than one; wrong in some rows, units, steps or directions alone; depending on
values or sizes; depending on earlier questions; too little precision."""


@dataclass(frozen=True)
class WrongGru:
    """A kernel with mistakes, a sentence each; `place` says where they sit, "" where it is everywhere.

    It is asked the questions of one operator. A kernel may keep state, so each use makes a new one.
    """

    name: str
    operator: str
    mistakes: tuple[str, ...]
    kind: Kind
    place: str
    kernel: type[Kernel]
