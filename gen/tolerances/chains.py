"""How errors go through time: by products of signed Jacobians."""

from __future__ import annotations

import numpy as np

from ...cases.dtypes import Array
from .error_values import Linear

LONGEST, SHORTEST, WIDEST = 16, 4, 512


def window(hidden: int) -> int:
    """Over how many steps products of Jacobians reach back: 16, and less where hidden_size is more than
    32, so that the products take time like hidden_size² in a step, as all else does; but at least 4."""
    return min(LONGEST, max(SHORTEST, WIDEST // hidden))


def chain_bytes(time: int, batch: int, hidden: int) -> int:
    """The bytes that the products of Jacobians of one direction of a case take, twice over."""
    return 2 * 8 * min(time, window(hidden)) * batch * hidden**2


class Chains:
    """The errors of the last steps, each with the product of the Jacobians J of all steps since.

    With s_t what step t adds (s_0 the error of the first state) and e_t the error after it,

        e_t ≤ Σ_{t-w < s ≤ t} |J_t ⋯ J_{s+1}| s_s + |J_t ⋯ J_{t-w+1}| e_{t-w},    w the window.

    Errors are rows, (n, rows, classes, hidden), and so Jacobians are transposed.
    """

    def __init__(self, first: Array, steps: int) -> None:
        n, rows, _, self.hidden = first.shape
        self.window = window(self.hidden)
        self.sources, self.totals = ([first], [first]) if first.any() else ([], [])
        most = min(self.window, steps)
        # one below the other, oldest first; two, that each step may read one and write the other
        self.products = np.empty((n, rows, most * self.hidden, self.hidden))
        self.spare = np.empty_like(self.products)

    def keep(self, rows: Array) -> None:
        """Forget all rows but these: a mask."""
        self.sources = [errors[:, rows] for errors in self.sources]
        self.totals = [errors[:, rows] for errors in self.totals]
        self.products = self.products[:, rows]
        self.spare = np.empty_like(self.products)

    def arrive(self, step: Linear) -> Array | float:
        """What the errors so far have become after a step: a bound."""
        if not self.sources:
            return 0.0
        h, many = self.hidden, len(self.sources)
        old, new = self.products, self.spare[:, :, : many * h]
        jacobian = step.matrix(new[:, :, -h:])
        if many > 1:
            first = self.dropped * h
            np.matmul(old[:, :, first : first + (many - 1) * h], jacobian, out=new[:, :, :-h])
        self.products, self.spare = self.spare, old
        sizes = np.abs(new, out=old[:, :, : many * h])
        return np.asarray(np.concatenate(self.sources, axis=-1) @ sizes)

    def add(self, source: Array, total: Array) -> None:
        """A step's own addition, and the whole error after it."""
        self.sources.append(source)
        self.totals.append(total)
        self.dropped = int(len(self.sources) > self.window)
        if self.dropped:  # what is older counts with the whole error at its time
            del self.sources[0], self.totals[0]
            self.sources[0] = self.totals[0]
