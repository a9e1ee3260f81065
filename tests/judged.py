"""Judging in a test: vectors at a path, by a source or by outputs files."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grucible import Report
from grucible.check.observed.outputs_file import FromOutputs
from grucible.check.observed.source import Source
from grucible.check.verdict import Demand, judge
from grucible.vectors.vector_set import open_set


def judge_source(
    vectors: Path, source: Source, select: Sequence[str] = (), **demanded: Any
) -> Report:
    """Judge what a source answers to the vectors at a path; `demanded` is what a Demand holds."""
    return judge(open_set(vectors, select), source, Demand(**demanded))


def judge_outputs(
    vectors: Path, outputs: Path, select: Sequence[str] = (), **demanded: Any
) -> Report:
    """Judge outputs files by the vectors at a path."""
    opened = open_set(vectors, select)
    with contextlib.closing(FromOutputs(outputs, opened)) as source:
        return judge(opened, source, Demand(**demanded))
