"""The child's side of the protocol: a Python runtime answers questions on its standard input and output."""

from __future__ import annotations

import contextlib
import os
import signal
from functools import partial
from typing import BinaryIO

from threadpoolctl import threadpool_limits

from ...cases.console import format_error
from ...cases.errors import GrucibleError
from ..protocol.header import answer_parts, header_lines, hello_lines, read_question
from ..runtimes.runtime import RuntimeNotInstalled, load_runtime, raised_at
from .source import ask_runtime, check_reply

COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from grucible.check.observed.serve import serve; serve(sys.argv[2])"
)
"""The program of a child; it finds modules where its parent does."""


def serve(name: str) -> None:
    """Load the runtime called `name`, and answer questions until there are no more.

    What the runtime prints goes to standard error, so that it cannot mix with the answers.
    """
    asked, answers = _open_pipes()
    try:
        runtime = load_runtime(name)
    except (GrucibleError, KeyboardInterrupt) as error:
        why = str(error)
        if isinstance(error, KeyboardInterrupt):  # raised by the runtime: Ctrl-C does not get here
            why = f"runtime {name}: does not load: {format_error(error)}{raised_at(error)}"
        missing = [("installed", "no")] * isinstance(error, RuntimeNotInstalled)
        _send(answers, hello_lines([("unusable", why), *missing]))
        return
    hello = [("name", runtime.name), ("version", runtime.version), ("about", runtime.about)]
    hello += [("parallel", "yes")] * runtime.parallel
    _send(answers, hello_lines(hello))
    threadpool_limits(1)  # arrays are small: threads of BLAS and OpenMP would only compete
    with contextlib.suppress(BrokenPipeError, EOFError):  # the parent has ended, or asks no more
        header_lines(partial(_read_line, asked))  # the judge's hello
        while True:
            question = read_question(header_lines(partial(_read_line, asked)), asked.read)
            reply = check_reply(question.outputs, ask_runtime(runtime, question))
            _send(answers, *answer_parts(reply))


def _open_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Open the pipes of questions and answers; what is printed from here on goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return asked, answers


def _read_line(asked: BinaryIO) -> bytes:
    if line := asked.readline():
        return line[:-1]
    raise EOFError


def _send(answers: BinaryIO, *parts: bytes) -> None:
    for part in parts:
        answers.write(part)
    answers.flush()
