"""Where observed outputs come from: a runtime that is run now, or an outputs file made elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np

from ...cases.console import MOST_MESSAGE, format_error, format_message, shorten
from ...cases.dtypes import Array, Arrays, dtype_name
from ...cases.question import Question, TensorType
from ..protocol.program import AnswerHead
from ..runtimes.runtime import Runtime, Unsupported, raised_at, traceback_lines

if TYPE_CHECKING:  # what they import, a process that runs a runtime does without
    from ...vectors.block import Block
    from ...vectors.reader import VectorFile

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
    """A source of observed outputs."""

    needs_inputs: bool
    """Whether `ask` looks at the inputs of a block."""

    @property
    def name(self) -> str:
        """The runtime's name."""

    @property
    def version(self) -> str:
        """The runtime's version, "" where it has none."""

    def check_blocks(self, vectors: VectorFile) -> None:
        """Raise VectorFileError if the source has blocks or questions of a file that the vectors do not."""

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """Raise VectorFileError if the source has cases of a block that the vectors do not."""

    @property
    def ahead(self) -> int:
        """So many cases may be asked for before what is observed of the first is waited for."""

    def ask(self, relative: str, block: Block) -> Callable[[], Observed]:
        """Ask for the cases of `block`, which stands in the vector file at `relative`.

        What is returned waits for the outputs.
        """


@runtime_checkable
class Answering(Protocol):
    """A source that answers any question, also one that stands in no vector file: a runtime."""

    def replies(self, questions: Sequence[Question]) -> list[Reply]:
        """What the runtime says to each question. Its outputs may have any names, shapes and dtypes."""


@runtime_checkable
class Ending(Protocol):
    """A source that ends by itself when nothing is asked any more, which may go wrong."""

    def finish(self) -> Mapping[str, Reply]:
        """Let it end, and give errors by the id of the last question that was answered before."""


def at_the_end(source: Source, block: Block, observed: Observed) -> Observed:
    """What was observed of the case of a block of one, when the source has ended: an error where that went
    wrong."""
    wrong = source.finish() if isinstance(source, Ending) else {}
    reply = wrong.get(block.ids[0])
    return stacked(block, [reply]) if reply else observed


class FromRuntime:
    """Outputs of a runtime in this process: an exception is one case's error.

    It is called with numpy's handling of errors that holds where this is made.
    """

    needs_inputs = True
    ahead = 1

    def __init__(self, runtime: Runtime) -> None:
        self.name, self.version = runtime.name, runtime.version
        self._runtime = runtime
        self._errors = np.geterr()

    def check_blocks(self, vectors: VectorFile) -> None:
        """A runtime has just the cases it is asked."""

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """A runtime has just the cases it is asked."""

    def ask(self, relative: str, block: Block) -> Callable[[], Observed]:  # noqa: ARG002
        """Run every case of the block, each on copies: a runtime may write where it likes."""
        observed = stacked(block, [self._answer(question) for question in block.questions()])
        return lambda: observed

    def replies(self, questions: Sequence[Question]) -> list[Reply]:
        """What the runtime says to each question, asked on copies."""
        return [self._answer(question) for question in questions]

    def _answer(self, question: Question) -> Reply:
        here = _working_directory()
        try:
            with np.errstate(**self._errors):  # what it sets there is its own
                return returned(self._runtime, copied(question))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # in this process it would end whoever judges
            return Reply("error", {}, format_error(error), Fault("crashed", traceback_lines(error)))
        finally:
            if here:
                os.chdir(here)  # the next file may be named by a relative path


def _working_directory() -> str:
    """Where this process is; "" where that was removed."""
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return ""


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
