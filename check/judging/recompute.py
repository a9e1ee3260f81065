"""Evaluating a share of the stored answers anew, before anybody is judged by them."""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from ...cases.errors import VectorFileError
from ...gen.posed import differing
from ..observed.observations import Slice

_KEY = secrets.token_bytes(16)
"""What the choice hangs on, besides ids: whoever writes a file must not know which cases are looked at."""


def recompute(part: Slice, share: float, *, one_at_least: bool) -> int:
    """Evaluate `share` of the cases of a slice anew, chosen at random; returns how many.

    Raises VectorFileError for the first one whose answer is not what the evaluation gives.
    """
    rows = np.array([row for row, one in enumerate(part.block.ids) if _chosen(one, share)], int)
    if not rows.size and one_at_least:
        rows = np.zeros(1, int)
    if not rows.size:
        return 0
    block = part.block.rows(rows)
    for row, why in sorted(differing(block).items()):
        raise VectorFileError(
            f"{part.file.path}: {block.ids[row]}: {why}; do not judge by this file, generate it again"
        )
    return len(block)


def _chosen(case_id: str, share: float) -> bool:
    drawn = hashlib.blake2b(case_id.encode(), digest_size=8, key=_KEY).digest()
    return int.from_bytes(drawn, "big") < share * 2**64
