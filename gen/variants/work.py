"""How much work it is to compute a variant of a case, known before any is done.

A unit is about a nanosecond. It is the shapes that say it, so whoever asks can leave out what would take
too long, and gets the same on every machine.
"""

from __future__ import annotations

from ...cases.operators import OPERATORS
from ...cases.question import Question, sizes_of

MOST_WORK = 1 << 25
"""Maximum work of a case that is computed under variants; the whole catalogue of one takes some 5 s.

The largest case that is shipped has two thirds of that."""
_COPIES = 8
"""Of every weight, however many the steps: it is converted, copied for the variant, and compared."""
_OF_A_STATE, _OF_A_STEP, _OF_A_CASE = 100, 10_000, 20_000


def work(question: Question) -> int:
    """Count the units of work of one variant of a case.

    That is each weight in every step of every row, and the rest.
    """
    operator = OPERATORS[question.operator]
    axes = {operator.sizes[symbol]: length for symbol, length in sizes_of(question).items()}
    hidden, directions = axes["hidden"], len(question.semantics.directions)
    steps = axes.get("time", 1)
    rows = axes["batch"] * steps
    weights = 3 * hidden * (axes["input"] + hidden) * directions
    states = rows * hidden * directions
    return (
        weights * (rows + _COPIES)
        + _OF_A_STATE * states
        + _OF_A_STEP * steps * directions
        + _OF_A_CASE
    )


def too_large(question: Question) -> bool:
    """Whether a case is too large to be computed under variants."""
    return work(question) > MOST_WORK
