"""Packages that are not needed by all, and may not be installed, or not work."""

from __future__ import annotations

import contextlib
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from .console import format_error
from .errors import GrucibleError

_INSTALLED = (
    Path(__file__).parents[1],
    *map(Path, {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}),
)
"""Where grucible is, and what is installed beside it."""


@contextlib.contextmanager
def needing(package: str, extra: str, what: str) -> Iterator[None]:
    """While importing what `what` needs of a package: GrucibleError, with the remedy, where it is not there,
    lacks what is needed, or raises anything when it is imported, SystemExit too.

    `extra` is the extra of grucible that brings the package.
    """
    try:
        yield
    except (GrucibleError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise GrucibleError(f"{what} needs {package}{_remedy(package, extra, error)}") from None


def _remedy(package: str, extra: str, error: BaseException) -> str:
    if missing(error) == package:
        return f": pip install 'grucible[{extra}]'"
    return f", which does not import ({format_error(error)}); {reinstalling(extra, error, package)}"


def missing(error: BaseException) -> str:
    """The package that is not there, if `error` says so; "" for any other error, and where another module
    has the package's name."""
    package = _top(error)
    module = sys.modules.get(package)
    return package if module is None or hasattr(module, "__path__") else ""


def _top(error: BaseException) -> str:
    """The package of a module that was not found; "" for another error."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return (name or "").partition(".")[0]


def reinstalling(extra: str, error: BaseException, package: str = "") -> str:
    """The remedy where a package that an extra of grucible brings is there, and raised `error`: `package`, or
    else the one that the error names."""
    anew = f"reinstall it: pip install --force-reinstall 'grucible[{extra}]'"
    package = package or _top(error)
    place = _found(package) if package else _place(error)
    if not Path(place).is_absolute() or any(Path(place).is_relative_to(one) for one in _INSTALLED):
        return anew
    return f"rename {place}, where that is another module of its name, or {anew}"


def _place(error: BaseException) -> str:
    """The file of the module that lacks something, or that raised the error; "" where there is none."""
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        return getattr(error.obj, "__file__", None) or ""
    frames = traceback.extract_tb(error.__traceback__)
    known = getattr(error, "path", None) or getattr(error, "filename", None)  # of what is imported
    return str(known or (frames[-1].filename if frames else ""))


def _found(package: str) -> str:
    """The file that a package would be imported from; "" where nobody knows."""
    try:
        spec = find_spec(package)
    except Exception:  # of a module without a spec, or of what others have put among the finders
        return ""
    return (spec and spec.origin) or ""
