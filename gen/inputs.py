"""Drawing the inputs of a case: dyadic, full-mantissa, asymmetric, the same on every machine.

Each number is an integer times a power of two. The integers come from a counter-based generator
(raw words of Philox) keyed by SHA-256 of the case id, the seed, the attempt and the input's name,
so no case's numbers depend on another's. No floating-point arithmetic is involved that rounds.

The scales keep pre-activations of order one: |X| < 2, |B| < 1, |h0| < 1,
|W| < 2^-⌊½ log2 input_size⌋, |R| < 2^-⌊½ log2 hidden_size⌋; where f is unbounded, as relu is, W, R
and B are halved. Where every gate has two biases, both are on a grid twice as coarse, so that their
sum and difference are exact in the dtype. Inputs decide whether structural mistakes are seen:
nothing is zero, nothing is symmetric, X past a row's length is as large as before it. h0 is zero only
where a case asks for that.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..cases.dtypes import FLOAT_TYPES, Array, Arrays, FloatType, numpy_dtype
from ..cases.operators import OPERATORS
from ..cases.operators.activations import FUNCTIONS
from ..cases.operators.layout import gru_inputs
from ..cases.operators.semantics import semantics
from ..cases.operators.signature import Operator
from ..cases.specs.expand import CaseSpec
from ..cases.specs.factors import DRAWS

SMALLER = 6
"""Attempt from which on, and at every third, W and R are halved once more.

With the sums of products, what their rounding may cost becomes smaller."""


def draw_inputs(case: CaseSpec, seed: int, attempt: int) -> Arrays:
    """Draw the inputs of a case, named and shaped as its operator's specification has them."""
    operator = OPERATORS[case.operator]
    attributes = case.attributes
    dtype = FLOAT_TYPES[case.dtype]
    exponents = _exponents(operator, case, attributes, max(0, (attempt - SMALLER) // 3 + 1))
    coarse = _two_biases(operator, attributes)
    arrays: Arrays = {}
    for tensor in operator.inputs:
        if tensor.name in case.absent:
            continue
        if tensor.role == "lengths":
            arrays[tensor.name] = np.array(case.lengths, numpy_dtype(case.types[tensor.type]))
            continue
        shape = operator.shape(tensor, attributes, case.sizes)
        if tensor.name in case.zeros:
            arrays[tensor.name] = np.zeros(shape, dtype.numpy)
            continue
        name = f"{case.id}\0{seed}\0{attempt}\0{tensor.name}"
        mantissas = _mantissas(name, math.prod(shape), dtype.precision)
        role = tensor.role_in(attributes)
        if role == "b" and coarse:
            mantissas = 2.0 * np.copysign(np.maximum(np.abs(mantissas) // 2.0, 1.0), mantissas)
        values = np.ldexp(mantissas, exponents[role] - dtype.precision)  # exact
        arrays[tensor.name] = values.reshape(shape).astype(dtype.numpy)
    _plant(operator, case, dtype, arrays)
    return arrays


def _two_biases(operator: Operator, attributes: Mapping[str, Any]) -> bool:
    """Whether every gate has two biases: whether z has."""
    parts = [p for t in operator.inputs if t.role == "b" for p in t.form(attributes).parts]
    return len({"z", "wz", "rz"}.intersection(parts)) > 1


def _mantissas(name: str, count: int, precision: int) -> Array:
    """`count` signed integers, 0 < |n| < 2^precision, as float64."""
    digest = hashlib.sha256(name.encode()).digest()
    words = _raw_words(np.frombuffer(digest[:16], "<u8"), count)
    magnitude = np.maximum(words >> np.uint64(64 - precision), np.uint64(1)).astype(np.float64)
    return np.asarray(np.where(words & np.uint64(1), magnitude, -magnitude))


_PHILOX = np.random.Philox(key=0)
_START = _PHILOX.state


def _raw_words(key: Array, count: int) -> Array:
    """Take the first raw words of Philox(key).

    To set the state of one that is there is quicker than a new one, which asks the system for random bytes.
    """
    _PHILOX.state = {**_START, "state": {**_START["state"], "key": key}}
    return np.asarray(_PHILOX.random_raw(count))


def _exponents(
    operator: Operator, case: CaseSpec, attributes: Mapping[str, Any], smaller: int
) -> dict[str, int]:
    """Find for each role of an input e such that its values are below 2^e in magnitude.

    W and R are `smaller` by a number of powers of two.
    """
    axes = {axis: case.sizes[symbol] for symbol, axis in operator.sizes.items()}
    less = int(any(not FUNCTIONS[f.name].bounded for f in semantics(operator, attributes).f))
    draw = DRAWS[case.draw]
    return {
        "x": 1 + draw.x_exponent,
        "h0": 0,
        "w": draw.weight_exponent - _half_log2(axes["input"]) - less - smaller,
        "r": draw.weight_exponent - _half_log2(axes["hidden"]) - less - smaller,
        "b": -less,
    }


def _half_log2(size: int) -> int:
    """⌊½ log2 size⌋."""
    return (size.bit_length() - 1) // 2


def _plant(operator: Operator, case: CaseSpec, dtype: FloatType, arrays: Arrays) -> None:
    """Put a draw's special values into the inputs, in place."""
    plant = DRAWS[case.draw].plant
    if not plant:
        return
    shared = gru_inputs(operator, case.attributes, arrays)  # views
    x, h0, *biases = shared.x, shared.h0, *shared.b.values()
    if plant == "nan":
        x[0, 0, 0], h0[-1, -1, -1] = np.nan, np.nan
    elif plant == "infinity":
        x[0, 0, 0], x[-1, 0, 0] = np.inf, -np.inf
    elif plant in ("padding-nan", "padding-infinity"):
        past = np.arange(x.shape[1]) >= shared.lengths[:, None]
        rubbish = np.nan if plant == "padding-nan" else np.inf
        x[past] = np.copysign(np.full_like(x, rubbish), x)[past]
    elif plant == "overflow":
        x *= dtype.numpy.type(2.0 ** _overflow_exponent(dtype))
    elif plant == "signed-zero":
        for array in (x, h0, *biases):
            array[...] = np.copysign(np.zeros_like(array), array)
    else:
        down = (
            dtype.least_exponent + dtype.precision - 2
        )  # the largest subnormal is below 2^(down+1)
        for array in (x, h0, *biases):
            array[...] = np.ldexp(array.astype(np.float64), down).astype(dtype.numpy)


def _overflow_exponent(dtype: FloatType) -> int:
    """How far X (below 2) is scaled so that it nearly fills the range of the dtype."""
    return int(np.frexp(dtype.largest)[1]) - 1
