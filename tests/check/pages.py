"""Reports to make pages of, and what a page holds."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from grucible import Question, Unsupported, verify
from grucible.check.verify import ShownReport

from .numpy_gru import MISTAKES

Array = npt.NDArray[Any]
HOSTILE = "</script><img src=x onerror='window.broken = 1'>&lt;b&gt;\"'`${broken}\x1b[2J\u202e"
"""What a runtime may say to get out of wherever its words stand."""


def hostile(question: Question) -> Mapping[str, Array]:
    """A runtime that says so in an error, in a reason, and else is wrong."""
    if question.dtype == "float16":
        raise Unsupported(HOSTILE)
    if question.dtype == "float64":
        raise ValueError(HOSTILE)
    return {name: np.full(t.shape, 2, t.dtype) for name, t in question.outputs.items()}


hostile.__name__ = HOSTILE


@cache
def wrong_report() -> ShownReport:
    """Of a GRU that ignores clip and has float32 alone, on the plain questions of GRUSequence-5."""
    clip_ignored = MISTAKES["clip ignored"]

    def run(question: Question) -> Mapping[str, Array]:
        if question.dtype == "bfloat16":
            raise Unsupported("no bfloat16 here")
        return clip_ignored(question)

    run.__name__ = "clips_nothing"
    return verify(runtime=run, select=["openvino.GRUSequence-5/plain/*"])


@cache
def other_report() -> ShownReport:
    """Of a GRU that ignores the lengths, on one dtype of the same."""
    lengths_ignored = MISTAKES["sequence_lengths ignored"]

    def run(question: Question) -> Mapping[str, Array]:
        return lengths_ignored(question)

    run.__name__ = "ignores_lengths"
    return verify(runtime=run, select=["openvino.GRUSequence-5/plain/float32/*"])


def held(page: str, name: str = "data") -> Any:
    """The value that a page holds under a name."""
    [text] = re.findall(
        rf'<script type="application/octet-stream" id="{name}">([^<]*)</script>', page
    )
    return json.loads(gzip.decompress(base64.b64decode(text)))


def ids(page: str) -> list[str]:
    """The ids of a page's cases, in their order."""
    found: list[str] = held(page)["cases"]["id"]
    return found
