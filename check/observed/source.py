"""Where observed outputs come from: a runtime that is run now, or an outputs file made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np

from ...cases.dtypes import Array, Arrays, dtype_name
from ...cases.question import Question
from ...vectors.block import Block
from ..runtimes.runtime import Runtime, Unsupported, error_sentence, one_line

Status = Literal["ok", "unsupported", "error", "missing"]


@dataclass(frozen=True)
class Reply:
    """What a runtime said to one question: its outputs where `status` is ok, else why there are none."""

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
    """A source of observed outputs."""

    needs_inputs: bool
    """Whether `observe` looks at the inputs of a block."""

    @property
    def name(self) -> str:
        """The runtime's name."""

    @property
    def version(self) -> str:
        """The runtime's version, "" where it has none."""

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
        return stacked(block, [reply(self._runtime, _copied(q)) for q in block.questions()])


def _copied(question: Question) -> Question:
    return replace(
        question,
        given=deepcopy(dict(question.given)),
        inputs={name: array.copy() for name, array in question.inputs.items()},
    )


def reply(runtime: Runtime, question: Question) -> Reply:
    """Ask one question. Whatever the runtime raises becomes the reply."""
    try:
        outputs: Any = runtime.run(question)  # whatever it returns
        if not isinstance(outputs, Mapping):
            wanted = ", ".join(question.outputs)
            return Reply(
                "error", {}, f"returned a {type(outputs).__name__}; expected a dict with {wanted}"
            )
        copies = {name: _native(np.array(array)) for name, array in outputs.items()}
        problem = _problem(question, copies)
        return Reply("error", {}, problem) if problem else Reply("ok", copies)
    except Unsupported as reason:
        return Reply("unsupported", {}, one_line(str(reason)))
    except Exception as error:
        return Reply("error", {}, error_sentence(error))


def stacked(block: Block, replies: Sequence[Reply]) -> Observed:
    """The replies to the questions of a block as arrays."""
    arrays = {name: np.zeros_like(expected) for name, expected in block.answer.outputs.items()}
    for row, given in enumerate(replies):
        for name, array in given.outputs.items():
            arrays[name][row] = array
    return Observed([r.status for r in replies], [r.message for r in replies], arrays)


def _native(array: Array) -> Array:
    """The same numbers in the machine's byte order."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _problem(question: Question, outputs: Mapping[str, Array]) -> str:
    """What is wrong with the names, shapes or dtypes of a runtime's outputs."""
    if set(outputs) != set(question.outputs):
        return f"returned {_names(outputs)}; expected {_names(question.outputs)}"
    for name, expected in question.outputs.items():
        got = outputs[name]
        if got.shape != expected.shape or got.dtype != expected.dtype:
            return (
                f"{name} is {dtype_name(got.dtype)} {got.shape}; "
                f"expected {dtype_name(expected.dtype)} {expected.shape}"
            )
    return ""


def _names(outputs: Mapping[str, object]) -> str:
    return ", ".join(map(str, outputs)) if outputs else "nothing"
