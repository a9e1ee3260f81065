"""The errors that a user can act on: a line with the place and, where known, the remedy."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any


class GrucibleError(Exception):
    """An error that a user can mend; its message is the only line shown (exit status 2)."""


class SpecError(GrucibleError):
    """A mistake in a YAML file; the message names the file and, where known, line and field."""


class VectorFileError(GrucibleError):
    """A file of vectors, messages or outputs that cannot be used; the message names the file."""


class RuntimeNotUsable(GrucibleError):
    """A runtime that cannot be loaded, started or limited."""


def expected(name: str, given: object, kind: type, what: str) -> None:
    """Raise TypeError unless the argument called `name` is of this kind; `what` describes the kind."""
    if not isinstance(given, kind):
        raise TypeError(f"{name} is of type {type(given).__name__}; expected {what}")


def several(name: str, given: Any, kind: type, what: str) -> tuple[Any, ...]:
    """Return the values in an argument. Raises TypeError unless each is of this kind."""
    expected(name, given, Iterable, f"several, each {what}")
    found = given if isinstance(given, tuple) else tuple(given)
    for number, one in enumerate(found):
        expected(f"{name}[{number}]", one, kind, what)
    return found


def texts(name: str, given: Any) -> tuple[str, ...]:
    """Return the texts in an argument, which may be one text. Raises TypeError for anything else."""
    return (given,) if isinstance(given, str) else several(name, given, str, "a text")


@contextlib.contextmanager
def needing(package: str, extra: str, what: str) -> Iterator[None]:
    """Turn any error while importing `package` into a GrucibleError with the remedy.

    `what` needs the package; `extra` is the extra of grucible that installs it.
    """
    from .console import format_error

    try:
        yield
    except (GrucibleError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit, too
        if isinstance(error, ModuleNotFoundError) and error.name == package:
            raise GrucibleError(
                f"{what} needs {package}: pip install 'grucible[{extra}]'"
            ) from None
        raise GrucibleError(
            f"{what} needs {package}, which does not import ({format_error(error)}); "
            f"reinstall it: pip install --force-reinstall 'grucible[{extra}]'"
        ) from None
