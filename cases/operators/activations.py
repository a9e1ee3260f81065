"""The activation functions of all operators' specifications, in one shared vocabulary.

An operator's description maps its own spelling (`HardSigmoid`, `hardSigmoid`) to an `Activation`;
the GRU, its tolerances and its variants know these alone. v is a pre-activation, a and b the
parameters alpha and beta:

    relu              max(0, v)
    sigmoid           1/(1 + e^-v)
    tanh              tanh(v)
    affine            a v + b
    leaky-relu        v where v >= 0, else a v
    thresholded-relu  v where v > a, else 0
    scaled-tanh       a tanh(b v)
    hard-sigmoid      min(1, max(0, a v + b))
    elu               v where v >= 0, else a (e^v - 1)
    softsign          v/(1 + |v|)
    softplus          log(1 + e^v)
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Parameter = Literal["alpha", "beta"]

TAKES: dict[str, tuple[Parameter, ...]] = {
    "relu": (),
    "sigmoid": (),
    "tanh": (),
    "affine": ("alpha", "beta"),
    "leaky-relu": ("alpha",),
    "thresholded-relu": ("alpha",),
    "scaled-tanh": ("alpha", "beta"),
    "hard-sigmoid": ("alpha", "beta"),
    "elu": ("alpha",),
    "softsign": (),
    "softplus": (),
}
"""The functions, and the parameters that each takes."""

BOUNDED = frozenset({"sigmoid", "tanh", "scaled-tanh", "hard-sigmoid", "softsign"})
"""The functions that stay bounded; a state whose gates do not may grow without bound."""


class Activation(NamedTuple):
    """A function with its parameters; one that it does not take is 0.

    Parameters are exact numbers: those of specifications are C floats, and so float32 numbers.
    """

    name: str
    alpha: float = 0.0
    beta: float = 0.0

    @property
    def takes(self) -> tuple[Parameter, ...]:
        """The parameters that the function takes."""
        return TAKES.get(self.name, ())

    def having(self, parameter: Parameter, value: float) -> Activation:
        """The function with another value of one parameter."""
        return self._replace(alpha=value) if parameter == "alpha" else self._replace(beta=value)

    def __str__(self) -> str:
        given = ", ".join(f"{getattr(self, name):g}" for name in self.takes)
        return f"{self.name}({given})" if given else self.name
