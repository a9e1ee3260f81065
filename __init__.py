"""grucible: conformance vectors for GRU operators, and the judge that applies them.

    from grucible import load_vectors, verify
    for case in load_vectors("vectors/"):
        ...
    report = verify("vectors/", runtime=my_function)

Importing the package is cheap; numpy and h5py are imported when one of these is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cases.errors import GrucibleError
    from .cases.question import Question
    from .check.report import Report
    from .check.runtimes.runtime import Unsupported
    from .check.verdict import verify
    from .vectors.case import Answer, Case
    from .vectors.find import load_vectors

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Case",
    "GrucibleError",
    "Question",
    "Report",
    "Unsupported",
    "load_vectors",
    "verify",
]

_HOMES = {
    "Answer": ".vectors.case",
    "Case": ".vectors.case",
    "GrucibleError": ".cases.errors",
    "Question": ".cases.question",
    "Report": ".check.report",
    "Unsupported": ".check.runtimes.runtime",
    "load_vectors": ".vectors.find",
    "verify": ".check.verdict",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name], __name__), name)
