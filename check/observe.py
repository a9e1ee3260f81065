"""Where observed outputs come from: a runtime that is run now, or an outputs file made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from ..cases.dtypes import dtype_name
from ..vectors.case import Array, Arrays, Block, Case
from .runtime import Runtime, Unsupported, error_sentence

Status = Literal["ok", "unsupported", "error", "missing"]


@dataclass(frozen=True)
class Answer:
    """What came of one case: its outputs where `status` is ok, else why there are none."""

    status: Status
    outputs: Arrays
    message: str = ""


@dataclass(frozen=True)
class Observed:
    """What came of the cases of a block, stacked: row i is case i (zeros where it is not ok)."""

    status: Sequence[Status]
    messages: Sequence[str]
    outputs: Arrays


class Source(Protocol):
    """A source of observed outputs; `name` and `version` are the runtime's."""

    name: str
    version: str

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """Raise VectorFileError if the source has cases of a block that the vectors do not."""

    def observe(self, relative: str, block: Block) -> Observed:
        """The outputs of the cases of `block`, which stands in the vector file at `relative`."""


class FromRuntime:
    """Outputs of a runtime in this process: an exception is one case's error."""

    def __init__(self, runtime: Runtime) -> None:
        self.name, self.version = runtime.name, runtime.version
        self._runtime = runtime

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """A runtime has just the cases it is asked."""

    def observe(self, relative: str, block: Block) -> Observed:  # noqa: ARG002
        """Run every case of the block."""
        return stacked(block, [answer(self._runtime, case) for case in block.cases()])


def answer(runtime: Runtime, case: Case) -> Answer:
    """Run one case. Whatever the runtime raises becomes the answer."""
    try:
        outputs = runtime.run(case)
        return Answer("ok", {name: np.asarray(array) for name, array in outputs.items()})
    except Unsupported as reason:
        return Answer("unsupported", {}, str(reason))
    except Exception as error:
        return Answer("error", {}, error_sentence(error))


def stacked(block: Block, answers: Sequence[Answer]) -> Observed:
    """Answers to the cases of a block as arrays; one of wrong names, shapes or dtypes is an error."""
    arrays = {name: np.zeros_like(expected) for name, expected in block.outputs.items()}
    status: list[Status] = []
    messages = []
    for row, given in enumerate(answers):
        problem = _problem(block, given.outputs) if given.status == "ok" else ""
        status.append("error" if problem else given.status)
        messages.append(problem or given.message)
        if status[row] == "ok":
            for name, array in given.outputs.items():
                arrays[name][row] = array
    return Observed(status, messages, arrays)


def _problem(block: Block, outputs: Mapping[str, Any]) -> str:
    """What is wrong with the names, shapes or dtypes of a runtime's outputs."""
    if set(outputs) != set(block.outputs):
        return f"returned {_names(outputs)}; expected {_names(block.outputs)}"
    for name, expected in block.outputs.items():
        got: Array = outputs[name]
        if got.shape != expected.shape[1:] or got.dtype != expected.dtype:
            return (
                f"{name} is {dtype_name(got.dtype)} {got.shape}; "
                f"expected {dtype_name(expected.dtype)} {expected.shape[1:]}"
            )
    return ""


def _names(outputs: Mapping[str, Any]) -> str:
    return ", ".join(outputs) if outputs else "nothing"
