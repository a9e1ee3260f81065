"""`grucible.verify`: a runtime judged from Python, and the report that it gives."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from ..cases.errors import GrucibleError, several, texts
from ..gen.making import open_or_make
from .judging.criterion import chosen_criteria
from .judging.expectations import Expectation
from .observed.source import FromRuntime
from .report import Report
from .reports.html import html_page
from .runtimes.runtime import Preparing, RuntimeFunction, describe_runtime
from .verdict import Demand, judge

_FRAME = "sandbox='allow-scripts allow-popups' style='width: 100%; height: 50rem; border: 0'"


class ShownReport(Report):
    """A report that notebooks show as its page."""

    def _repr_html_(self) -> str | None:
        """Return the page in a frame, or None where jinja2, which makes it, is not installed."""
        try:
            return f'<iframe {_FRAME} srcdoc="{html.escape(html_page([self]))}"></iframe>'
        except GrucibleError:
            return None


def verify(
    vectors: str | Path | None = None,
    runtime: RuntimeFunction | Preparing | None = None,
    *,
    arithmetic: str | Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
    select: str | Sequence[str] = (),
    expectations: Sequence[Expectation] = (),
    require: str | Sequence[str] = (),
    diagnosis: bool = True,
    strict: bool = False,
    allow_stale: bool = False,
) -> ShownReport:
    """Judge `runtime`, a function from a question to outputs or what is Preparing, by the vectors at a path.

    Without a path, the core vectors are used. The runtime is called in this process. `arithmetic` holds
    texts `[DTYPE=]CLASS`; without it, `rtol`, `atol` and `ulp`, each dtype's own class is required. `select`
    has globs of the ids to judge, `require` globs of the ids for which unsupported is a failure. One text may
    stand for a list. With `strict`, questions that must be refused are asked too, and accepting one is a
    failure. Stale expectations make the report's exit status 1, unless `allow_stale`.
    Raises GrucibleError for vectors that cannot be used, invalid criteria, and globs that match nothing, and
    TypeError for arguments of other types.
    """
    if runtime is None:
        raise TypeError("verify() needs runtime=, a function from a question to outputs")
    if not callable(runtime) and not hasattr(runtime, "prepare"):
        raise TypeError(f"runtime is of type {type(runtime).__name__}; expected a function")
    name = getattr(runtime, "__name__", type(runtime).__name__)
    source = FromRuntime(describe_runtime(name, runtime))
    demand = Demand(
        chosen_criteria(texts("arithmetic", arithmetic), rtol, atol, ulp),
        several("expectations", expectations, Expectation, "a grucible.Expectation"),
        texts("require", require),
        diagnosis,
        strict,
        allow_stale,
    )
    path = None if vectors is None else Path(vectors)
    report = judge(open_or_make(path, texts("select", select)), source, demand)
    return ShownReport(**{one.name: getattr(report, one.name) for one in fields(report)})
