"""Where observed outputs come from: a runtime that is run now, or an outputs file made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from ...cases.dtypes import Array, Arrays, dtype_name
from ...vectors.case import Block, Case
from ..runtimes.runtime import Runtime, Unsupported, error_sentence, one_line

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
    needs_inputs: bool
    """Whether `observe` looks at the inputs of a block."""

    def check_blocks(self, relative: str, paths: Sequence[str]) -> None:
        """Raise VectorFileError if the source has blocks of a file that the vectors do not."""

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """Raise VectorFileError if the source has cases of a block that the vectors do not."""

    def observe(self, relative: str, block: Block) -> Observed:
        """The outputs of the cases of `block`, which stands in the vector file at `relative`."""


class FromRuntime:
    """Outputs of a runtime in this process: an exception is one case's error."""

    needs_inputs = True

    def __init__(self, runtime: Runtime) -> None:
        self.name, self.version = runtime.name, runtime.version
        self._runtime = runtime

    def check_blocks(self, relative: str, paths: Sequence[str]) -> None:
        """A runtime has just the cases it is asked."""

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """A runtime has just the cases it is asked."""

    def observe(self, relative: str, block: Block) -> Observed:  # noqa: ARG002
        """Run every case of the block, each on copies: a runtime may write where it likes."""
        return stacked(block, [answer(self._runtime, _copied(case)) for case in block.cases()])


def _copied(case: Case) -> Case:
    inputs = {name: array.copy() for name, array in case.inputs.items()}
    return replace(case, inputs=inputs, outputs={n: a.copy() for n, a in case.outputs.items()})


def answer(runtime: Runtime, case: Case) -> Answer:
    """Run one case. Whatever the runtime raises becomes the answer."""
    try:
        outputs: Any = runtime.run(case)  # whatever it returns
        if not isinstance(outputs, Mapping):
            wanted = ", ".join(case.outputs)
            return Answer(
                "error", {}, f"returned a {type(outputs).__name__}; expected a dict with {wanted}"
            )
        copies = {name: _native(np.array(array)) for name, array in outputs.items()}
        problem = _problem(case, copies)
        return Answer("error", {}, problem) if problem else Answer("ok", copies)
    except Unsupported as reason:
        return Answer("unsupported", {}, one_line(str(reason)))
    except Exception as error:
        return Answer("error", {}, error_sentence(error))


def stacked(block: Block, answers: Sequence[Answer]) -> Observed:
    """Answers to the cases of a block as arrays."""
    arrays = {name: np.zeros_like(expected) for name, expected in block.outputs.items()}
    for row, given in enumerate(answers):
        for name, array in given.outputs.items():
            arrays[name][row] = array
    return Observed([a.status for a in answers], [a.message for a in answers], arrays)


def _native(array: Array) -> Array:
    """The same numbers in the machine's byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _problem(case: Case, outputs: Mapping[str, Array]) -> str:
    """What is wrong with the names, shapes or dtypes of a runtime's outputs."""
    if set(outputs) != set(case.outputs):
        return f"returned {_names(outputs)}; expected {_names(case.outputs)}"
    for name, expected in case.outputs.items():
        got = outputs[name]
        if got.shape != expected.shape or got.dtype != expected.dtype:
            return (
                f"{name} is {dtype_name(got.dtype)} {got.shape}; "
                f"expected {dtype_name(expected.dtype)} {expected.shape}"
            )
    return ""


def _names(outputs: Mapping[str, Array]) -> str:
    return ", ".join(map(str, outputs)) if outputs else "nothing"
