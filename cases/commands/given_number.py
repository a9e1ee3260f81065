"""Numbers that a user gives on the command line, in digits: Python also takes `1_0` and `٣` for numbers."""

from __future__ import annotations

import re
from typing import Any

import click

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE
)
_EXPECTED = {
    _WHOLE: "a valid integer; expected digits alone, such as 10",
    _NUMBER: "a valid float; expected a number such as 10, 0.5 or 1e-3",
}


def given_number(text: str) -> float:
    """The number that a text says; ValueError where it says none."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is no number")
    return float(text)


class GivenNumber(click.types.FloatParamType):
    """Any number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number of a text; a usage error for one that is not written in digits."""
        return super().convert(_in_digits(value, _NUMBER, param, ctx), param, ctx)


class GivenNumberWithin(click.FloatRange):
    """A number within bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number of a text; a usage error for one that is not written in digits."""
        return super().convert(_in_digits(value, _NUMBER, param, ctx), param, ctx)


class GivenWhole(click.IntRange):
    """A whole number within bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number of a text; a usage error for one that is not written in digits."""
        return super().convert(_in_digits(value, _WHOLE, param, ctx), param, ctx)


def _in_digits(
    value: Any, written: re.Pattern[str], param: click.Parameter | None, ctx: click.Context | None
) -> Any:
    if isinstance(value, str) and not written.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not {_EXPECTED[written]}", ctx, param)
    return value
