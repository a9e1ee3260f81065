"""Where a vector file comes from: one that is published, one that says it was made by this version, another.

A file proves by its digests that it is what it says, not that its answers are right. Anyone can change
answers and tolerances and compute the digests anew; only those of published files are known beforehand.
"""

from __future__ import annotations

import json
from typing import Literal

from ...vectors.published import GENERATOR, published_pairs
from ...vectors.reader import VectorFile

Origin = Literal["published", "this version", "unknown"]
ORIGINS: dict[Origin, str] = {
    "published": "published",
    "this version": "made by this version, as it says",
    "unknown": "of unknown origin",
}
"""Each origin in words, after a number of files."""


def origin(vectors: VectorFile) -> Origin:
    """The origin of an open file, whose digests have been verified."""
    if (vectors.content_sha256, vectors.tolerance_sha256) in published_pairs():
        return "published"
    try:
        made_from = json.loads(str(vectors.attributes.attribute("made_from")))
        return "this version" if made_from["generator"] == GENERATOR else "unknown"
    except (ValueError, KeyError, TypeError, RecursionError):
        return "unknown"
