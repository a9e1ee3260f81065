"""Packages that are not needed by all, and may not be installed, or not work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from .console import format_error
from .errors import GrucibleError


@contextlib.contextmanager
def needing(package: str, extra: str, what: str) -> Iterator[None]:
    """Turn any error of importing a package that `what` needs into a GrucibleError with the remedy.

    `extra` is the extra of grucible that brings the package.
    """
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
