"""How far off a computed activation may be, of the argument it is given.

In units of a class's unit roundoff: (relative, absolute, growing), for an error of at most
relative·|φ| + absolute + growing·|v|; what each function rounds stands in its record
(cases.operators.activations).
"""

from __future__ import annotations

from ...cases.operators.activations import FUNCTIONS, Activation
from .classes import ArithmeticClass


def underflow_growth(function: Activation) -> float:
    """How much what a parameter loses where it underflows counts, for each unit of |v|."""
    return FUNCTIONS[function.name].underflow(abs(function.alpha), abs(function.beta))


def function_error(function: Activation, one: ArithmeticClass) -> tuple[float, float, float]:
    """(relative, absolute, growing) of `function` in the class `one`, in its unit roundoffs."""
    return FUNCTIONS[function.name].rounding(abs(function.alpha), abs(function.beta), one)
