"""How an owner writes the formulas of a GRU: names of quantities, weights, biases and operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Notation:
    """The words of one specification; left out are those of ONNX and OpenVINO.

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
        """`words`, one of the fields in which {gate} stands, of a gate."""
        return words.format(gate=self.gate.get(gate, gate))

    def part(self, part: str) -> str:
        """A part of a bias (see `signature`): of one side, or of both."""
        words = {"w": self.b, "r": self.rb}[part[0]] if len(part) == 2 else self.sum_b
        return self.of_gate(words, part[-1])


USUAL = Notation()
"""That of ONNX and OpenVINO."""
