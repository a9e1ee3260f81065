"""The options that say what is demanded of outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from .gathered import gathered

if TYPE_CHECKING:
    from ..judging.criterion import Criterion


def _criteria(
    arithmetic: tuple[str, ...], rtol: float | None, atol: float | None, ulp: float | None
) -> Mapping[str, Criterion]:
    from ..judging.criterion import chosen_criteria

    return chosen_criteria(arithmetic, rtol, atol, ulp)


judged_by = gathered(
    "criteria",
    _criteria,
    click.option("--arithmetic", multiple=True, metavar="[DTYPE=]CLASS",
                 help="Demand this class of arithmetic, such as float16=float32. Repeatable."),
    click.option("--rtol", type=float, help="Relative tolerance instead, for all dtypes."),
    click.option("--atol", type=float, help="Absolute tolerance instead, for all dtypes."),
    click.option("--ulp", type=float, help="Units in the last place instead, for all dtypes."),
)  # fmt: skip
"""Gives a command those options; it gets what they choose, by dtype, as `criteria`."""
