"""What a reply to an invalid question is: a refusal, the obvious thing, garbage, or a crash."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...cases.dtypes import Array, Arrays
from ...cases.invalid.questions import InvalidQuestion
from ...cases.question import Question
from ...vectors.difference import difference
from ..observed.source import Reply, held_to
from .refusal import Outcome


def graded(asked: InvalidQuestion, valid: Reply, given: Reply) -> tuple[Outcome, str]:
    """The outcome of an invalid question, and what is said of it.

    `valid` is what the runtime said to the valid question, which it answered, and `given` what it said to
    the invalid one. Outputs are the obvious thing where they are those of the valid question again, be they
    right or wrong, or are near the exact answer of a question that this one may be taken for.
    """
    if given.status != "ok":
        if given.fault and given.fault.kind != "raised":
            return ("crash" if given.fault.kind == "crashed" else "garbage"), given.message
        return ("unasked" if given.status == "missing" else "refused"), given.message
    held = held_to(asked.question.outputs, given)
    if held.status != "ok":
        return "garbage", held.message
    if _same(valid.outputs, given.outputs) or _near(asked.may_be_taken_for(), given.outputs):
        return "obvious", ""
    return "garbage", _what_is_wrong(given.outputs, valid.outputs)


def _same(one: Arrays, other: Arrays) -> bool:
    return all(np.array_equal(one[name], array) for name, array in other.items())


def _near(taken_for: Iterable[Question], outputs: Arrays) -> bool:
    """Whether outputs are those of any of some questions, at the loosest tolerance of the dtype."""
    from ...gen.posed import (
        answer,  # the exact evaluation, slow to import, and seldom needed
    )

    for question in taken_for:
        for right in answer(question).answers.values():
            limits = right.tolerances.values()
            if all(
                (
                    _off(outputs, right.outputs, name) <= np.max([one[name] for one in limits], 0)
                ).all()
                for name in right.outputs
            ):
                return True
    return False


def _off(outputs: Arrays, right: Arrays, name: str) -> Array:
    return difference(outputs[name].astype(np.float64), right[name].astype(np.float64))


def _what_is_wrong(outputs: Arrays, valid: Arrays) -> str:
    """How outputs differ from those of the valid question."""
    bad = [
        name for name, array in outputs.items() if not np.isfinite(array.astype(np.float64)).all()
    ]
    if bad:
        return (
            f"{' and '.join(bad)} {'has' if len(bad) == 1 else 'have'} numbers that are not finite"
        )
    if all(not array.any() for array in outputs.values()):
        return "all numbers are zero"
    most = max(float(_off(outputs, valid, name).max(initial=0.0)) for name in outputs)
    return f"off by up to {most:.3g} from the outputs of the valid question"
