"""Sources, which answer questions, and their replies to the cases of a block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...cases.console import MOST_MESSAGE, format_error, format_message, shorten
from ...cases.dtypes import Array, Arrays, dtype_name
from ...cases.question import Question, TensorType
from ..protocol.header import Fault, Hello, Reply, Status
from ..runtimes.runtime import Runtime, Unsupported, raised_at, traceback_lines

if TYPE_CHECKING:  # a process that runs a runtime need not import it
    from ...vectors.block import Block


@dataclass(frozen=True)
class Observed:
    """The replies to the cases of a block, stacked: row i is case i.

    Outputs are zeros where the status is not ok. By row, where there is any, `faults` has the kind of error,
    and `overwrote` the inputs that the runtime wrote into.
    """

    status: Sequence[Status]
    messages: Sequence[str]
    outputs: Arrays
    faults: Mapping[int, Fault] = field(default_factory=dict)
    overwrote: Mapping[int, tuple[str, ...]] = field(default_factory=dict)


class Source(Protocol):
    """What answers questions: a runtime in this process or in others, a program, files made elsewhere."""

    @property
    def name(self) -> str:
        """The runtime's name."""

    @property
    def version(self) -> str:
        """The runtime's version, "" where it has none."""

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        """Yield the replies in the order of the questions; some questions may be taken ahead.

        Outputs may have any names, shapes and dtypes: `check_reply` compares them with what was asked for.
        """

    def close(self) -> None:
        """Let go of processes and files."""


class FromRuntime:
    """A `Source` that calls a runtime in this process: an exception is one case's error.

    The runtime is called with the settings of numpy's errors from when this object was made.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.name, self.version, self.hello = runtime.name, runtime.version, Hello()
        self._runtime = runtime
        self._errors = np.geterr()

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        """Ask one question after another."""
        return map(self._answer, questions)

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _answer(self, question: Question) -> Reply:
        try:
            # both are restored if the runtime changes them
            with np.errstate(**self._errors), contextlib.chdir("."):
                return ask_runtime(self._runtime, question)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit, too, would end the judge
            return Reply("error", {}, format_error(error), Fault("crashed", traceback_lines(error)))


def observe_block(source: Source, block: Block) -> Observed:
    """Ask a source all questions of a block."""
    return stack_replies(block, list(source.answer(block.questions())))


def copy_question(question: Question) -> Question:
    """Copy a question, so that a runtime may change the copy."""
    return replace(
        question,
        given=deepcopy(dict(question.given)),
        inputs={name: array.copy() for name, array in question.inputs.items()},
        outputs=dict(question.outputs),
    )


def ask_runtime(runtime: Runtime, question: Question) -> Reply:
    """Ask one question; what the runtime raises becomes the reply.

    The runtime gets copies of its arrays; the reply names those that it overwrote. Outputs need not be what
    was asked for: `check_reply` compares them.
    """
    asked = copy_question(question)
    arrays = dict(asked.inputs)
    reply = _ask_runtime(runtime, asked, ", ".join(question.outputs))
    changed = [n for n, a in question.inputs.items() if arrays[n].tobytes() != a.tobytes()]
    return replace(reply, overwrote=tuple(changed))


def _ask_runtime(runtime: Runtime, question: Question, names: str) -> Reply:
    try:
        given: Any = runtime.run(question)
        if isinstance(given, Mapping):
            return Reply(
                "ok", {"".join([str(name)]): _copy(array) for name, array in given.items()}
            )
        kind = "None" if given is None else f"a {type(given).__name__}"
        why = f"returned {kind}; expected a dict with {names}"
        return Reply("error", {}, why, Fault("malformed"))
    except Unsupported as reason:
        return Reply("unsupported", {}, format_message(reason))
    except Exception as error:
        why = f"{format_error(error)}{raised_at(error)}"
        return Reply("error", {}, why, Fault("raised", traceback_lines(error)))


def _copy(given: Any) -> Array:
    """Copy an array, in the machine's byte order: the runtime may use its memory again.

    `np.asarray` comes first: from an `__array__` that ignores `copy`, `np.array` would get that memory.
    """
    array = np.array(np.asarray(given))
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def stack_replies(block: Block, replies: Sequence[Reply]) -> Observed:
    """Stack the replies to the questions of a block; malformed outputs become errors."""
    arrays = {name: np.zeros_like(expected) for name, expected in block.answer.outputs.items()}
    wanted = {name: TensorType(a.shape[1:], a.dtype) for name, a in arrays.items()}
    checked = [check_reply(wanted, reply) for reply in replies]
    for row, reply in enumerate(checked):
        for name, array in reply.outputs.items():
            arrays[name][row] = array
    faults = {row: reply.fault for row, reply in enumerate(checked) if reply.fault}
    overwrote = {row: reply.overwrote for row, reply in enumerate(checked) if reply.overwrote}
    texts = [reply.message for reply in checked]
    return Observed([reply.status for reply in checked], texts, arrays, faults, overwrote)


def check_reply(wanted: Mapping[str, TensorType], reply: Reply) -> Reply:
    """Turn a reply into an error if its outputs have other names, shapes or dtypes than those wanted."""
    if reply.status != "ok":
        return reply
    if set(reply.outputs) != set(wanted):
        given = ", ".join(map(str, reply.outputs)) or "nothing"
        problem = f"returned {given}; expected {', '.join(wanted)}"
    else:
        problem = "; ".join(
            f"{name} is {_format_type(reply.outputs[name])}; expected {_format_type(expected)}"
            for name, expected in wanted.items()
            if (reply.outputs[name].shape, reply.outputs[name].dtype) != tuple(expected)
        )
    if not problem:
        return reply
    why = shorten(problem, MOST_MESSAGE)
    return replace(reply, status="error", outputs={}, message=why, fault=Fault("malformed"))


def _format_type(of: Array | TensorType) -> str:
    return f"{dtype_name(of.dtype)} {of.shape}"
