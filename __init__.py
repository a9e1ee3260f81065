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
    from .check.judging.expectations import Expectation
    from .check.one_case import Judgment, judge
    from .check.pytest_plugin import suite as pytest  # noqa: F401
    from .check.report import Report
    from .check.reports.terminal import report_text
    from .check.runtimes.runtime import Unsupported
    from .check.tracing.trace import Trace, trace
    from .check.verdict import verify
    from .vectors.case import Answer, Case
    from .vectors.hdf5 import CORE
    from .vectors.vector_set import load_vectors

__version__ = "0.1.0"
__all__ = [
    "CORE",
    "Answer",
    "Case",
    "Expectation",
    "GrucibleError",
    "Judgment",
    "Question",
    "Report",
    "Trace",
    "Unsupported",
    "judge",
    "load_vectors",
    "report_text",
    "trace",
    "verify",
]

_HOMES = {
    "CORE": ".vectors.hdf5",
    "Answer": ".vectors.case",
    "Case": ".vectors.case",
    "Expectation": ".check.judging.expectations",
    "GrucibleError": ".cases.errors",
    "Judgment": ".check.one_case",
    "Question": ".cases.question",
    "Report": ".check.report",
    "Trace": ".check.tracing.trace",
    "Unsupported": ".check.runtimes.runtime",
    "judge": ".check.one_case",
    "load_vectors": ".vectors.vector_set",
    "report_text": ".check.reports.terminal",
    "trace": ".check.tracing.trace",
    "verify": ".check.verdict",
}
_PYTEST = ".check.pytest_plugin.suite"
"""What `grucible.pytest` is; pytest is imported when it is first used."""


def __dir__() -> list[str]:
    return [*__all__, "__version__", "pytest"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES and name != "pytest":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name == "pytest":
        return import_module(_PYTEST, __name__)
    return getattr(import_module(_HOMES[name], __name__), name)
