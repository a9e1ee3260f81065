"""Running a case on a runtime that knows another operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy.typing as npt

from ...cases.conversion import NotExpressible, ask
from ...cases.operators.signature import Operator
from ...vectors.case import Case
from .runtime import Unsupported

Array = npt.NDArray[Any]


def run_as(
    operator: Operator, run: Callable[[Case], Mapping[str, Array]], case: Case
) -> dict[str, Array]:
    """The outputs for `case` from `run`, which runs cases of `operator`: asked as such a case, and
    the outputs converted back. Raises Unsupported where `operator` cannot ask the same question.
    """
    if case.operator == operator.name:
        return dict(run(case))
    try:
        asked = ask(case, operator)
    except NotExpressible as reason:
        raise Unsupported(str(reason)) from None
    return asked.answer(run(asked.case))
