"""How the inputs of a case are drawn: the scale of X, or the special values planted in the inputs.

The drawing itself is in `gen.inputs`; a case names one of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Plant = Literal[
    "", "nan", "infinity", "overflow", "signed-zero", "subnormal", "padding-nan", "padding-infinity"
]


@dataclass(frozen=True)
class Draw:
    """`x_exponent`, `weight_exponent`: X, and W and R, are scaled by 2 to that power. `plant`: the
    special values put into the inputs; such a case is nonportable."""

    name: str
    about: str
    x_exponent: int = 0
    weight_exponent: int = 0
    plant: Plant = ""


DRAWS: dict[str, Draw] = {
    draw.name: draw
    for draw in (
        Draw("ordinary", "pre-activations of order one"),
        Draw("quarter-weights", "W and R a quarter as large, for large cells", weight_exponent=-2),
        Draw("x8", "X eight times as large: saturating sigmoid and tanh, relu above one", 3),
        Draw(
            "x64", "X sixty-four times as large: saturated sigmoid and tanh, relu far above one", 6
        ),
        Draw("nan", "one NaN in X, one in initial_hidden_state", plant="nan"),
        Draw("infinity", "+infinity and -infinity in X", plant="infinity"),
        Draw("overflow", "X so large that results overflow to infinity", plant="overflow"),
        Draw("signed-zero", "zeros of both signs everywhere", plant="signed-zero"),
        Draw("subnormal", "X, h0 and B subnormal in the case's dtype", plant="subnormal"),
        Draw("padding-nan", "NaN in X past every row's length", plant="padding-nan"),
        Draw(
            "padding-infinity",
            "infinities of both signs in X past every row's length",
            plant="padding-infinity",
        ),
    )
}
