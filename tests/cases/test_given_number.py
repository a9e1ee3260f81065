"""Numbers on the command line are written in digits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import pytest

from grucible.__main__ import grucible
from grucible.cases.commands.given_number import (
    GivenNumber,
    GivenNumberWithin,
    GivenWhole,
    given_number,
)

NO_NUMBERS = [
    "1_0",
    "٣",
    "0.٣",
    "１",
    " 1",
    "1 ",
    "1\n",
    "",
    ".",
    "e5",
    "1e",
    "0x1p3",
    "1,5",
    "--1",
]
KINDS: list[Any] = [GivenNumber(), GivenNumberWithin(0), GivenWhole(0)]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_not_written_in_digits_is_refused(text: str) -> None:
    for kind in KINDS:
        with pytest.raises(click.BadParameter, match=r"is not a valid (float|integer); expected "):
            kind.convert(text, None, None)
    with pytest.raises(ValueError, match="is no number"):
        given_number(text)


@pytest.mark.parametrize(
    "text", ["0", "10", "+5", "0.5", ".5", "5.", "1e-3", "1E+3", "1e400", "inf"]
)
def test_numbers_as_they_are_usually_written(text: str) -> None:
    for kind in KINDS[:2]:
        assert kind.convert(text, None, None) == given_number(text) == float(text)
    assert KINDS[2].convert("+0010", None, None) == 10
    assert KINDS[2].convert(7, None, None) == 7  # a default


def _options() -> Iterator[tuple[str, click.Parameter]]:
    context = click.Context(grucible)
    for name in grucible.list_commands(context):
        command = grucible.get_command(context, name)
        assert command
        yield from ((f"{name} {one.name}", one) for one in command.params)


def test_no_option_takes_a_number_otherwise() -> None:
    numbers: Any = (click.types.FloatParamType, click.types.IntParamType)
    kinds = {name: one.type for name, one in _options() if isinstance(one.type, numbers)}
    assert len(kinds) > 10
    ours = (GivenNumber, GivenNumberWithin, GivenWhole)
    assert [name for name, kind in kinds.items() if not isinstance(kind, ours)] == []
