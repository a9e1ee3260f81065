"""Arguments of the Python API: of another type than is expected, they are refused by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def expected(name: str, given: object, kind: type, what: str) -> None:
    """Raise TypeError unless an argument is of this kind; `what` says in words what it should be."""
    if not isinstance(given, kind):
        raise TypeError(f"{name} is of type {type(given).__name__}; expected {what}")


def several(name: str, given: Any, kind: type, what: str) -> tuple[Any, ...]:
    """What is in an argument, each of this kind. Raises TypeError where it is something else."""
    expected(name, given, Iterable, f"several of {what}")
    found = given if isinstance(given, tuple) else tuple(given)
    for number, one in enumerate(found):
        expected(f"{name}[{number}]", one, kind, what)
    return found


def texts(name: str, given: Any) -> tuple[str, ...]:
    """Several texts, or one that is given by itself. Raises TypeError where it is something else."""
    return (given,) if isinstance(given, str) else several(name, given, str, "a text")
