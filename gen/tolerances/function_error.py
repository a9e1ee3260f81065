"""How far off a computed activation may be, of the argument it is given.

In units of a class's unit roundoff: (relative, absolute, growing), for an error of at most
relative·|φ| + absolute + growing·|v|. Those of sigmoid and tanh are fitted, and stand in the class
(gen.arithmetic). The others are counted in the textbook form of cases.activations: each operation
rounds once, alpha and beta may have been rounded before, an exponential or logarithm errs by two
units.
"""

from __future__ import annotations

from ...cases.operators.activations import Activation
from .classes import Arithmetic


def underflow_growth(function: Activation) -> float:
    """How much what a parameter loses where it underflows counts, for each unit of |v|."""
    match function.name:
        case "affine" | "leaky-relu" | "hard-sigmoid":
            return 1.0
        case "scaled-tanh":
            return abs(function.alpha)
    return 0.0


def function_error(function: Activation, one: Arithmetic) -> tuple[float, float, float]:
    """(relative, absolute, growing) of `function` in the class `one`, in its unit roundoffs."""
    a, b = abs(function.alpha), abs(function.beta)
    match function.name:
        case "sigmoid":
            return (*one.sigmoid, 0.0)
        case "tanh":
            return (*one.tanh, 0.0)
        case "affine":  # a·v: a, the product, the sum; b: itself, the sum
            return (0.0, 2.0 * b, 3.0 * a)
        case "leaky-relu":  # a, the product
            return (2.0, 0.0, 0.0)
        case "scaled-tanh":  # b and b·v pass through v·tanh′(v) <= tanh(v); a, the product. Fitted:
            # a(2 sigmoid(2bv) - 1), which cancels near 0, is off by 3.5 a there (ONNX Runtime 1.31)
            return (one.tanh[0] + 4.0, (one.tanh[1] + 4.0) * a, 0.0)
        case "hard-sigmoid":  # as affine, where |a·v| <= 1 + |b|
            return (0.0, 3.1 + 5.1 * b, 0.0)
        case "elu":  # e^v - 1 cancels near 0: its error is that of e^v <= 1
            return (3.0, 3.0 * a, 0.0)
        case "softsign":  # 1 + |v|, the quotient
            return (3.0, 0.0, 0.0)
        case "softplus":  # e^v, 1 + e^v, the logarithm
            return (4.0, 4.0, 0.0)
    return (0.0, 0.0, 0.0)
