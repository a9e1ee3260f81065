"""The child's side of the protocol: a Python runtime answers questions on its standard input and output, or
is loaded and says what it is."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import BinaryIO

from threadpoolctl import threadpool_limits

from ...cases.console import format_error
from ...cases.errors import GrucibleError, RuntimeNotUsable
from ...cases.question import Question
from ..protocol.header import (
    END,
    PREPARE,
    answer_parts,
    array_of,
    can_be_sent,
    hello_lines,
    question_of,
    ready_lines,
)
from ..runtimes.runtime import (
    GROUP,
    Runtime,
    RuntimeNotInstalled,
    load_registered,
    load_runtime,
    raised_at,
)
from .source import held_to, returned

_RUN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from grucible.check.observed.serve import {0}; {0}(sys.argv[2])"
)
"""What a child runs, with the modules of its parent within reach."""
COMMAND = _RUN.format("serve")
DESCRIBE = _RUN.format("describe")


def serve(name: str) -> None:
    """Load the runtime called `name` and answer what is asked, until nothing is.

    What the runtime prints to its standard output goes to standard error: answers stay clean.
    """
    asked, answers = _pipes()
    try:
        runtime = load_runtime(name)
    except GrucibleError as error:
        _send(answers, hello_lines([("unusable", str(error))]))
        return
    except KeyboardInterrupt as error:
        _send(answers, hello_lines([("unusable", f"runtime {name}: {_interrupts(error)}")]))
        return
    hello = [("name", runtime.name), ("version", runtime.version)]
    hello += [("parallel", "yes")] * runtime.parallel
    hello += [("prepares", "yes")] * (runtime.prepare_for is not None)
    _send(answers, hello_lines(hello))
    threadpool_limits(1)  # arrays are small: the threads of BLAS and OpenMP would only fight
    _header(asked)  # the judge's hello
    try:
        while lines := _header(asked):
            if lines[0].startswith(f"{PREPARE} "):
                _prepare(runtime, [_question(_header(asked), asked) for _ in range(_count(lines))])
                _send(answers, ready_lines())
            else:
                _answer(runtime, _question(lines, asked), answers)
    except BrokenPipeError:  # the parent has ended
        sys.exit(0)


def describe(points: str) -> None:
    """Load the runtimes at entry points, a JSON list of names and values, and say what each is."""
    from importlib.metadata import EntryPoint  # slow to import, and not needed to answer

    _, answers = _pipes()
    _send(answers, hello_lines())
    for name, value in json.loads(points):
        try:
            found = load_registered(EntryPoint(name, value, GROUP))
            told = [("version", found.version), ("about", found.about)]
        except RuntimeNotInstalled as error:
            told = [("not", "installed"), ("about", str(error))]
        except RuntimeNotUsable as error:
            told = [("not", "usable"), ("about", str(error))]
        except KeyboardInterrupt as error:
            told = [("not", "usable"), ("about", f"runtime {name}: {_interrupts(error)}")]
        _send(answers, hello_lines(told))


def _interrupts(error: KeyboardInterrupt) -> str:
    """What is said of a runtime that raises what Ctrl-C does, which does not get here."""
    return f"does not load: {format_error(error)}{raised_at(error)}"


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Where questions come from and answers go; what is printed from here on goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return asked, answers


def _header(asked: BinaryIO) -> list[str]:
    """The lines of the next header, without its `end`; none where there is no more."""
    lines: list[str] = []
    for line in asked:
        text = line.decode().removesuffix("\n")
        if text == END:
            return lines
        lines.append(text)
    return []


def _count(lines: list[str]) -> int:
    """How many questions are announced."""
    return int(lines[0].removeprefix(f"{PREPARE} "))


def _question(lines: list[str], asked: BinaryIO) -> Question:
    """The question with this header, and its inputs, which follow."""
    question, inputs = question_of(lines)
    for one in inputs:
        question.inputs[one.name] = array_of(one, asked.read(one.bytes))  # type: ignore[index]
    return question


def _prepare(runtime: Runtime, questions: list[Question]) -> None:
    """Show the runtime what it is asked next. What goes wrong then is told when it is asked."""
    if runtime.prepare_for is not None:
        with contextlib.suppress(Exception):
            runtime.prepare_for(questions)


def _answer(runtime: Runtime, question: Question, answers: BinaryIO) -> None:
    wanted = dict(question.outputs)
    given = returned(runtime, question)
    if not can_be_sent(given.outputs, wanted):
        given = held_to(wanted, given)  # an error; of the others, whoever asked says what is wrong
    more: list[tuple[str, str]] = []
    if given.fault:
        more = [("fault", given.fault.kind), *(("traceback", s) for s in given.fault.traceback)]
    _send(answers, *answer_parts(given.status, given.outputs, given.message, more))


def _send(answers: BinaryIO, *parts: bytes) -> None:
    for part in parts:
        answers.write(part)
    answers.flush()
