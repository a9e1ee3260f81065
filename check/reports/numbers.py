"""Arrays as people read them."""

from __future__ import annotations

import numpy as np

from ...cases.dtypes import Array, dtype_name

MOST_WHOLE = 1 << 20
"""Of a larger array --full prints no more than the ends: its text would be some 10 MB."""


def numbers(array: Array, width: int, *, whole: bool) -> list[str]:
    """An array in lines of at most `width`, in the fewest digits that tell a number from its neighbours, so
    that it can be copied. Of many numbers the first and the last ones, unless it is to be `whole`."""
    if dtype_name(array.dtype) == "bfloat16":
        array = array.astype(np.float32)
    text = np.array2string(
        array,
        max_line_width=width,
        floatmode="unique",
        threshold=MOST_WHOLE if whole else 24,
        edgeitems=2,
    )
    return [line for line in text.splitlines() if line.strip()]
