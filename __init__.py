"""grucible: conformance vectors for GRU operators, and the judge that applies them.

    from grucible import load_vectors, verify
    for case in load_vectors("vectors/"):
        ...
    report = verify("vectors/", runtime=my_function)

Importing the package is cheap: numpy and h5py are imported when a name that needs them is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cases.errors import GrucibleError as GrucibleError
    from .cases.question import Question as Question
    from .check.judging.expectations import Expectation as Expectation
    from .check.one_case import Judgment as Judgment
    from .check.one_case import judge as judge
    from .check.pytest_plugin import suite as pytest  # noqa: F401
    from .check.report import Report as Report
    from .check.reports.terminal import report_text as report_text
    from .check.runtimes.runtime import Unsupported as Unsupported
    from .check.trace import Trace as Trace
    from .check.trace import trace as trace
    from .check.verify import verify as verify
    from .gen.posed import answer as answer
    from .vectors.case import Answer as Answer
    from .vectors.case import Case as Case
    from .vectors.hdf5 import CORE as CORE
    from .vectors.vector_set import load_vectors as load_vectors

__version__ = "0.1.0"

_HOMES = {
    "CORE": ".vectors.hdf5",
    "Answer": ".vectors.case",
    "Case": ".vectors.case",
    "Expectation": ".check.judging.expectations",
    "GrucibleError": ".cases.errors",
    "Judgment": ".check.one_case",
    "Question": ".cases.question",
    "Report": ".check.report",
    "Trace": ".check.trace",
    "Unsupported": ".check.runtimes.runtime",
    "answer": ".gen.posed",
    "judge": ".check.one_case",
    "load_vectors": ".vectors.vector_set",
    "report_text": ".check.reports.terminal",
    "trace": ".check.trace",
    "verify": ".check.verify",
}
"""The module of each public name."""
__all__ = [*_HOMES]  # noqa: PLE0604


def __dir__() -> list[str]:
    return [*__all__, "__version__", "pytest"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "pytest":  # imports the library pytest, at the first use
        return import_module(".check.pytest_plugin.suite", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)
