"""The child's side of the protocol: a Python runtime answers questions on its standard input and output, or
is loaded and says what it is."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import BinaryIO

from threadpoolctl import threadpool_limits

from ...cases.errors import GrucibleError, RuntimeNotUsable
from ..protocol.header import END, answer_parts, array_of, can_be_sent, hello_lines, question_of
from ..runtimes.runtime import (
    GROUP,
    Runtime,
    RuntimeNotInstalled,
    load_registered,
    load_runtime,
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
    hello = [("name", runtime.name), ("version", runtime.version)]
    _send(answers, hello_lines([*hello, *[("parallel", "yes")] * runtime.parallel]))
    threadpool_limits(1)  # arrays are small: the threads of BLAS and OpenMP would only fight
    _header(asked)  # the judge's hello
    try:
        while lines := _header(asked):
            _answer(runtime, lines, asked, answers)
    except BrokenPipeError:  # the parent has ended
        sys.exit(0)


def describe(point: str) -> None:
    """Load the runtime at an entry point, a JSON list of its name and value, and say what it is."""
    from importlib.metadata import EntryPoint  # slow to import, and not needed to answer

    _, answers = _pipes()
    _send(answers, hello_lines())
    name, value = json.loads(point)
    try:
        found = load_registered(EntryPoint(name, value, GROUP))
        told = [("version", found.version), ("about", found.about)]
    except RuntimeNotInstalled as error:
        told = [("not", "installed"), ("about", str(error))]
    except RuntimeNotUsable as error:
        told = [("not", "usable"), ("about", str(error))]
    _send(answers, hello_lines(told))


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


def _answer(runtime: Runtime, lines: list[str], asked: BinaryIO, answers: BinaryIO) -> None:
    question, inputs = question_of(lines)
    for one in inputs:
        question.inputs[one.name] = array_of(one, asked.read(one.bytes))  # type: ignore[index]
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
