"""Packages that are not needed by all, and may not be installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .errors import GrucibleError


@contextlib.contextmanager
def needing(package: str, extra: str, what: str) -> Iterator[None]:
    """While importing what `what` needs of a package: GrucibleError, with the remedy, where it is not there.

    `extra` is the extra of grucible that brings the package.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise GrucibleError(
            f"{what} needs the package {package}: pip install 'grucible[{extra}]'"
        ) from None
