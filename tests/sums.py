"""Orders in which products of matrices are summed, each correct: x (…, rows, k) by weight (…, k, m)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import ml_dtypes
import numpy as np

from grucible.cases.dtypes import Array

Product = Callable[[Array, Array], Array]
"""x (…, rows, k) by weight (…, k, m), summed up in some order."""
WIDER: dict[str, Any] = {"float16": np.float32, "float32": np.float64, "float64": np.longdouble}


def one_by_one(x: Array, weight: Array) -> Array:
    """Term after term, each product and each sum rounded."""
    return np.asarray(reduce(add, _terms(x, weight)))


def _terms(x: Array, weight: Array) -> list[Array]:
    return [x[..., :, k : k + 1] * weight[..., k : k + 1, :] for k in range(x.shape[-1])]


def backwards(x: Array, weight: Array) -> Array:
    """From the last term to the first."""
    return one_by_one(x[..., ::-1], weight[..., ::-1, :])


def in_halves(x: Array, weight: Array) -> Array:
    """Pairwise: the sums of two halves, added."""
    return _pairwise(_terms(x, weight))


def _pairwise(terms: Sequence[Array]) -> Array:
    half = len(terms) // 2
    return _pairwise(terms[:half]) + _pairwise(terms[half:]) if half else terms[0]


def fused(x: Array, weight: Array) -> Array:
    """Term after term, from the last, with fused multiply-add: products are exact in a wider type."""
    wider = WIDER[x.dtype.name]
    total = np.zeros(np.broadcast_shapes(x[..., :1].shape, weight[..., :1, :].shape), x.dtype)
    for k in range(x.shape[-1] - 1, -1, -1):
        product = x[..., k : k + 1].astype(wider) * weight[..., k : k + 1, :]
        total = (total + product).astype(x.dtype)
    return total


def in_lanes(lanes: int, inner: Product = one_by_one) -> Product:
    """Every `lanes`-th term in a lane of its own, as registers do; the lanes are added pairwise."""

    def multiply(x: Array, weight: Array) -> Array:
        each = range(min(lanes, x.shape[-1]))
        return _pairwise([inner(x[..., k::lanes], weight[..., k::lanes, :]) for k in each])

    return multiply


def split_k(size: int, inner: Product = one_by_one, wider: bool = False) -> Product:
    """`size` terms after one another make a block; blocks are added in turn, perhaps in a `wider` type."""

    def multiply(x: Array, weight: Array) -> Array:
        kind = WIDER[x.dtype.name] if wider else x.dtype
        starts = range(0, x.shape[-1], size)
        blocks = (inner(x[..., k : k + size], weight[..., k : k + size, :]) for k in starts)
        return np.asarray(reduce(add, (block.astype(kind) for block in blocks)).astype(x.dtype))

    return multiply


def compensated(x: Array, weight: Array) -> Array:
    """Kahan's sum: what a sum lost goes into the next."""
    first, *others = _terms(x, weight)
    total, lost = first, np.zeros_like(first)
    for term in others:
        term = term - lost
        new = total + term
        total, lost = new, (new - total) - term
    return total


def transposed(x: Array, weight: Array) -> Array:
    """(Wᵀxᵀ)ᵀ, by BLAS."""
    return np.matmul(weight.swapaxes(-1, -2), x.swapaxes(-1, -2)).swapaxes(-1, -2)


def summed(x: Array, weight: Array) -> Array:
    """As numpy's einsum adds."""
    return np.asarray(np.einsum("...rk,...km->...rm", x, weight))


def by_unit(x: Array, weight: Array) -> Array:
    """Threads of eight units each, which take the terms in orders of their own."""
    k, m = weight.shape[-2:]
    parts = []
    for first in range(0, m, 8):
        order = np.random.default_rng([k, first]).permutation(k)
        parts.append(one_by_one(x[..., order], weight[..., order, first : first + 8]))
    return np.concatenate(parts, axis=-1)


def by_row(x: Array, weight: Array) -> Array:
    """Rows in fours, with fused multiply-add; the rows left over one by one."""
    whole = x.shape[-2] // 4 * 4
    tiled, left = fused(x[..., :whole, :], weight), in_lanes(4)(x[..., whole:, :], weight)
    return np.concatenate([tiled, left], axis=-2)


def cut_blocks(x: Array, weight: Array) -> Array:
    """As tensor cores: eight exact products are added at once to the sum, which is cut, not rounded."""
    wider = WIDER[x.dtype.name]
    total: Any = np.zeros((), x.dtype)
    for k in range(0, x.shape[-1], 8):
        exact = total + x[..., k : k + 8].astype(wider) @ weight[..., k : k + 8, :].astype(wider)
        total = exact.astype(x.dtype)
        total = np.where(np.abs(total) > np.abs(exact), np.nextafter(total, 0 * total), total)
    return np.asarray(total)


def flush(values: Array) -> Array:
    """Subnormals become zero, except float16's, which are ordinary numbers."""
    if values.dtype == np.float16:
        return values
    tiny = ml_dtypes.finfo(values.dtype).smallest_normal
    return np.where(np.abs(values) < tiny, 0 * values, values)


def flushed(x: Array, weight: Array) -> Array:
    """Term after term; every product and sum is flushed to zero."""
    terms = _terms(flush(x), flush(weight))
    return np.asarray(reduce(lambda total, term: flush(total + flush(term)), terms, 0 * terms[0]))


def wide(x: Array, weight: Array) -> Array:
    """Operands of a narrow type, accumulated in float32, the sum stored in that type."""
    return (x.astype(np.float32) @ weight.astype(np.float32)).astype(x.dtype)
