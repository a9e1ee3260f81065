"""What a source observes of one case, against its exact steps."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array
from ...cases.selection import literal
from ...vectors.find import find_vectors
from ..judging.case_result import ANSWERED
from ..observed.observations import observations
from ..observed.source import Source, at_the_end
from .deviation import Deviation
from .trace import Trace


@dataclass(frozen=True)
class Traced:
    """A trace, and where what was observed of `name` leaves it: the trace is that of the deviation's
    reading. `name` is that of a runtime, with its version."""

    trace: Trace
    name: str = ""
    found: Deviation | None = None

    @property
    def observed(self) -> list[Array | None]:
        """By direction, the observed states (batch, steps, hidden) in the case's dtype, in the order of
        processing, NaN where none was handed out; None where none were looked at."""
        if self.found is None or self.found.states is None:
            return [None] * len(self.trace.directions)
        kind = FLOAT_TYPES[self.trace.case.dtype].numpy
        with np.errstate(invalid="ignore"):
            return [states.astype(kind) for states in self.found.states]


def traced_against(exact: Trace, vectors: Path | None, source: Source) -> Traced:
    """The trace of a case of the vectors at a path (None: the core), and what `source` observes against it.

    What goes wrong when the source ends is an error of the case, as in `check`. Raises VectorFileError for
    vectors that are not as their digests say, and for outputs that are not of these vectors.
    """
    only = (literal(exact.case.id),)
    [part] = observations(find_vectors(vectors, only), source, only)
    found = exact.against_observed(part.observed)
    if found.result.verdict in ANSWERED:
        found = exact.against_observed(at_the_end(source, part.block, part.observed))
    name = f"{source.name} {source.version}".rstrip()
    return Traced(exact.under(found.reading), name, found)
