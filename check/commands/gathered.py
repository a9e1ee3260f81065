"""Options that make one value together."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

Command = Callable[..., None]


def gathered(
    name: str, make: Callable[..., Any], *options: Callable[[Command], Command]
) -> Callable[[Command], Command]:
    """Give a command click's `options`; it gets what `make` makes of them, by its parameters' names, as
    `name`."""
    own = list(inspect.signature(make).parameters)

    def decorated(command: Command) -> Command:
        @wraps(command)
        def with_value(**given: Any) -> None:
            value = make(**{one: given.pop(one) for one in own})
            command(**given, **{name: value})

        taking: Command = with_value
        for option in reversed(options):
            taking = option(taking)
        return taking

    return decorated
