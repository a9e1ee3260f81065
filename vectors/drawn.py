"""The numbers of drawn inputs, which follow from the id of a case and a recipe.

A recipe, of one input of one case, is four integers: the attempt that drew it, the bits of its mantissas (0:
all numbers are zeros), its exponent, and 1 if its grid is twice as coarse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..cases.dtypes import Array

ATTEMPTS = range(24)
"""The draws of a case, one after another until one can be kept."""

_PHILOX = np.random.Philox(0)
_START: dict[str, Any] = dict(_PHILOX.state)
"""A generator's state before its first word: to set it takes a tenth of the time of a new generator."""


def draw_numbers(name: str, ids: Sequence[str], seed: int, recipes: Array, count: int) -> Array:
    """Draw `count` numbers of the input `name` for each case, exactly, as float64; `recipes` is (n, 4)."""
    attempts, bits, exponents, coarse = (recipes[:, [column]] for column in range(4))
    words = np.zeros((len(ids), count), np.uint64)
    for row, (case_id, attempt) in enumerate(zip(ids, attempts[:, 0], strict=True)):
        if bits[row]:
            words[row] = _words(f"{case_id}\0{seed}\0{attempt}\0{name}", count)
    mantissas = _mantissas(words, np.maximum(bits, 1))
    if coarse.any():
        twice = 2.0 * np.copysign(np.maximum(np.abs(mantissas) // 2.0, 1.0), mantissas)
        mantissas = np.where(coarse, twice, mantissas)
    return np.where(bits, np.ldexp(mantissas, exponents - bits), 0.0)


def _words(name: str, count: int) -> Array:
    """Draw `count` words by a name."""
    key = np.frombuffer(hashlib.sha256(name.encode()).digest()[:16], "<u8")
    start: Any = _START | {"state": {"counter": np.zeros(4, np.uint64), "key": key}}
    with _PHILOX.lock:
        _PHILOX.state = start
        return np.asarray(_PHILOX.random_raw(count, True))


def _mantissas(words: Array, bits: Array) -> Array:
    """Make signed integers n, 0 < |n| < 2^bits, as float64, of words."""
    magnitude = np.maximum(words >> (64 - bits).astype(np.uint64), np.uint64(1)).astype(np.float64)
    return np.asarray(np.where(words & np.uint64(1), magnitude, -magnitude))
