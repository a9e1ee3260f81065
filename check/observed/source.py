"""A source answers questions: what it replies, and what it replies to the cases of a block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from ...cases.console import MOST_MESSAGE, format_error, format_message, shorten
from ...cases.dtypes import Array, Arrays, dtype_name
from ...cases.question import Question, TensorType
from ..protocol.header import AnswerHead
from ..runtimes.runtime import Runtime, Unsupported, raised_at, traceback_lines

if TYPE_CHECKING:  # what they import, a process that runs a runtime does without
    from ...vectors.block import Block

Status = Literal["ok", "unsupported", "error", "missing"]


@dataclass(frozen=True)
class Fault:
    """What kind of error a case gave: the runtime `raised` it, `crashed` or hung, or its answer was
    `malformed`: outputs of other names, shapes or dtypes, or no answer by the protocol.

    `traceback` has the lines of where it was raised, as far as the runtime tells.
    """

    kind: Literal["raised", "crashed", "malformed"]
    traceback: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    """What a runtime said to one question: its outputs where `status` is ok, else why there are none."""

    status: Status
    outputs: Arrays
    message: str = ""
    fault: Fault | None = None


@dataclass(frozen=True)
class Observed:
    """What came of the cases of a block, stacked: row i is case i (zeros where it is not ok).

    `faults` has, by row, what kind of error it was, where that is known.
    """

    status: Sequence[Status]
    messages: Sequence[str]
    outputs: Arrays
    faults: Mapping[int, Fault] = field(default_factory=dict)


class Source(Protocol):
    """What answers questions: a runtime in this process or in others, a program, files made elsewhere."""

    @property
    def name(self) -> str:
        """The runtime's name."""

    @property
    def version(self) -> str:
        """The runtime's version, "" where it has none."""

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        """Yield the reply to each question, in their order; some questions may be taken ahead.

        Outputs may have any names, shapes and dtypes: `held_to` compares them with what was asked for.
        """

    def finish(self) -> Reply | None:
        """End what answers, when nothing is asked any more; give an error where that goes wrong."""

    def close(self) -> None:
        """Let go of processes and files."""


class FromRuntime:
    """A `Source` that calls a runtime in this process: an exception is one case's error.

    It is called with numpy's handling of errors that holds where this is made.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.name, self.version = runtime.name, runtime.version
        self._runtime = runtime
        self._errors = np.geterr()

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        """Ask each question, on copies: a runtime may write where it likes."""
        return map(self._answer, questions)

    def _answer(self, question: Question) -> Reply:
        try:
            # what it sets is its own, and files are named by relative paths
            with np.errstate(**self._errors), contextlib.chdir("."):
                return returned(self._runtime, copied(question))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # in this process it would end whoever judges
            return Reply("error", {}, format_error(error), Fault("crashed", traceback_lines(error)))

    def finish(self) -> Reply | None:
        """Nothing ends."""
        return None

    def close(self) -> None:
        """Nothing is open."""


def observe_block(source: Source, block: Block) -> Observed:
    """Ask a source all questions of a block."""
    return stacked(block, list(source.answer(block.questions())))


def copied(question: Question) -> Question:
    """The same question, to which a runtime may do what it likes."""
    return replace(
        question,
        given=deepcopy(dict(question.given)),
        inputs={name: array.copy() for name, array in question.inputs.items()},
        outputs=dict(question.outputs),
    )


def returned(runtime: Runtime, question: Question) -> Reply:
    """Ask one question. Whatever the runtime raises becomes the reply; what it returns need not be what was
    asked for, and `held_to` says what is wrong with it."""
    wanted = dict(question.outputs)  # it may do to the question what it likes
    try:
        outputs = taken(runtime.run(question))
        if not isinstance(outputs, dict):
            names = ", ".join(wanted)
            said = f"returned a {type(outputs).__name__}; expected a dict with {names}"
            return Reply("error", {}, said, Fault("malformed"))
        return Reply("ok", outputs)
    except Unsupported as reason:
        return Reply("unsupported", {}, format_message(reason))
    except Exception as error:
        return Reply(
            "error",
            {},
            f"{format_error(error)}{raised_at(error)}",
            Fault("raised", traceback_lines(error)),
        )


def taken(given: Any) -> Any:
    """What a runtime returned: where that is a mapping, arrays by names that are its no more."""
    if not isinstance(given, Mapping):
        return given
    return {"".join([str(name)]): _own(array) for name, array in given.items()}


def reply_of(head: AnswerHead, outputs: Arrays) -> Reply:
    """The reply that an answer by the protocol is."""
    kind: Literal["malformed", "raised"] = "malformed" if head.malformed else "raised"
    fault = Fault(kind, head.traceback) if head.status == "error" else None
    return Reply(head.status, outputs, head.message, fault)


def stacked(block: Block, replies: Sequence[Reply]) -> Observed:
    """The replies to the questions of a block as arrays."""
    arrays = {name: np.zeros_like(expected) for name, expected in block.answer.outputs.items()}
    wanted = {name: TensorType(a.shape[1:], a.dtype) for name, a in arrays.items()}
    seen = [held_to(wanted, given) for given in replies]
    for row, given in enumerate(seen):
        for name, array in given.outputs.items():
            arrays[name][row] = array
    faults = {row: given.fault for row, given in enumerate(seen) if given.fault}
    return Observed([r.status for r in seen], [r.message for r in seen], arrays, faults)


def held_to(wanted: Mapping[str, TensorType], given: Reply) -> Reply:
    """A reply from wherever it comes: outputs of other names, shapes or dtypes are an error."""
    problem = _problem(wanted, given.outputs) if given.status == "ok" else ""
    return (
        Reply("error", {}, shorten(problem, MOST_MESSAGE), Fault("malformed")) if problem else given
    )


def _own(given: Any) -> Array:
    """A copy of what a runtime returned, in the machine's byte order: it may use its memory again. An
    `__array__` that ignores `copy` gives that memory itself, so the copy is of its array."""
    array = np.array(np.asarray(given))
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _problem(wanted: Mapping[str, TensorType], outputs: Mapping[str, Array]) -> str:
    """What is wrong with the names, shapes or dtypes of a runtime's outputs."""
    if set(outputs) != set(wanted):
        return f"returned {_names(outputs)}; expected {_names(wanted)}"
    for name, expected in wanted.items():
        got = outputs[name]
        if got.shape != expected.shape or got.dtype != expected.dtype:
            return (
                f"{name} is {dtype_name(got.dtype)} {got.shape}; "
                f"expected {dtype_name(expected.dtype)} {expected.shape}"
            )
    return ""


def _names(outputs: Mapping[str, object]) -> str:
    return ", ".join(map(str, outputs)) if outputs else "nothing"
