"""Values of options that say how much a runtime may take: seconds and bytes."""

from __future__ import annotations

import click


def share(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """A share of something, which is a number."""
    if value != value:
        raise click.BadParameter("nan is not a share")
    return value


def seconds(_: click.Context, __: click.Parameter, value: float) -> float:
    """A time limit, of which a very long one is as good as any longer."""
    if value != value:
        raise click.BadParameter("nan is not a number of seconds")
    return min(value, 1e6)


def size_in_bytes(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """The bytes of a SIZE, with the unit K, M, G or T."""
    if value is None:
        return None
    number, unit = value[:-1], value[-1:].upper()
    if unit not in ("K", "M", "G", "T") or not (number.isascii() and number.isdigit()):
        raise click.BadParameter(f"{value!r}; expected a whole number of K, M, G or T, such as 4G")
    if len(number) > 20 or not 0 < int(number) << 10 * (1 + "KMGT".index(unit)) < 1 << 63:
        raise click.BadParameter(f"{value!r}; expected more than nothing and less than 8388608T")
    return int(number) << 10 * (1 + "KMGT".index(unit))
