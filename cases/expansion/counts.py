"""How much a case spec asks for, counted before any of it is made."""

from __future__ import annotations

import itertools
import math

from ..specs.spec_file import CaseSpecFile
from ..specs.spec_model import Covering, Listing, Product

MOST_CASES = 30_000
"""The cases of one spec: half as many again as all that are shipped. A second makes some 18,000."""
MOST_COMBINATIONS = 100_000
"""The combinations of a product, of which `exclude` may leave few."""
MOST_PAIRS = 100_000
"""The pairs of values of a covering array; 30 factors of 8 values have 28,000."""
MOST_EXCLUDED = 2_000_000
"""How often an `exclude` entry may be held against a combination or pair: some 0.6 s."""


def check_counts(spec: CaseSpecFile) -> None:
    """Raise SpecError, which names the entry, where a spec asks for more than is made of one."""
    total = 0
    for index, entry in enumerate(spec.model.cases):
        match entry:
            case Listing(list=listed):
                made, tried, excluded = len(listed), 0, 0
            case Product(product=values, exclude=entries):
                made = tried = math.prod(map(len, values.values()))
                excluded = len(entries)
                _check(spec, index, made, MOST_COMBINATIONS, "combinations")
            case Covering(covering=values, exclude=entries, rows=rows):
                lengths = map(len, values.values())
                tried = sum(a * b for a, b in itertools.combinations(lengths, 2))
                made, excluded = len(rows), len(entries)
                _check(spec, index, tried, MOST_PAIRS, "pairs of values")
        _check(spec, index, tried * excluded, MOST_EXCLUDED, "tests of exclude entries")
        total += made * len(spec.model.dtypes)
        if not excluded:
            _check(spec, index, total, MOST_CASES, "cases")


def _check(spec: CaseSpecFile, index: int, asked: int, most: int, of: str) -> None:
    if asked > most:
        raise spec.document.error(
            ("cases", index), f"asks for {asked:,} {of}; expected at most {most:,} in a spec"
        )
