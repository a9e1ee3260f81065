"""What a script holds that asks a program: one question by the protocol, and its answer read."""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..protocol.header import MOST_HEADER_BYTES
from .returned import Malformed


def answer_of(
    command: Sequence[str], header: Sequence[str], data: bytes, seconds: float
) -> dict[str, Any]:
    """The outputs that a program answers to a hello and one question; of bfloat16 the bits, as uint16.

    Standard error is left to the terminal. An ImportError is of a program that does not start.
    """
    with tempfile.TemporaryFile() as asked:
        asked.write("".join(f"{line}\n" for line in header).encode() + data)
        asked.seek(0)
        try:
            program: Any = subprocess.Popen(command, stdin=asked, stdout=subprocess.PIPE)
        except OSError as error:
            raise ImportError(f"the program does not start: {error}") from error
    until = time.monotonic() + seconds
    late = threading.Timer(seconds, program.kill)
    late.start()
    try:
        greet(program)
        return outputs_of(program, header)
    except EOFError:
        if time.monotonic() >= until:
            raise TimeoutError(f"no answer in {seconds} s; stopped") from None
        raise
    finally:
        late.cancel()
        program.kill()
        program.stdout.close()
        program.wait()


def greet(program: Any) -> None:
    """Read the program's hello; ImportError where it says none."""
    try:
        hello = header_of(program) or []
    except Malformed as error:
        raise ImportError(f"the program does not say hello: {error}") from error
    if not any(line.startswith("grucible ") for line in hello):
        raise ImportError(f"the program does not say hello: {' '.join(hello)[:99]}")


def outputs_of(program: Any, header: Sequence[str]) -> dict[str, Any]:
    """The outputs of the answer, no more than were asked for."""
    lines = header_of(program)
    if lines is None:
        raise EOFError(f"no answer; exit status {program.wait()}")
    if not lines or lines[0].partition(" ")[0] != "ok":
        raise RuntimeError(" ".join(lines[:1]) or "an empty answer")
    [question] = [line for line in header if line.startswith("question ")]
    if any(line.startswith("question ") and line != question for line in lines):
        raise Malformed("the answer is to another question")
    asked, given = ([one for one in of if one.startswith("output ")] for of in (header, lines))
    if sorted(given) != sorted(asked):
        raise Malformed(f"answered {', '.join(given) or 'no output'}; expected {', '.join(asked)}")
    outputs = {}
    for line in given:
        _, name, dtype, shape, size = line.split(" ")
        kind = np.dtype({"bfloat16": "uint16"}.get(dtype, dtype)).newbyteorder("<")
        content = program.stdout.read(int(size))
        if len(content) < int(size):
            raise Malformed(f"the answer ends in the middle of {name}")
        axes = [] if shape == "scalar" else [int(axis) for axis in shape.split("x")]
        array = np.frombuffer(content, kind).reshape(axes)
        outputs[name] = array.astype(kind.newbyteorder("="))
    return outputs


def header_of(program: Any) -> Any:
    """The lines of the next header, without its `end`, what a terminal would obey in them written out; None
    where there is no whole one."""
    lines: list[str] = []
    left = MOST_HEADER_BYTES
    while line := program.stdout.readline(left):
        left -= len(line)
        said = line.decode(errors="replace").rstrip("\r\n")
        text = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in said)
        if text == "end":
            return lines
        lines.append(text)
    if left:
        return None
    raise Malformed(f"a header is longer than {MOST_HEADER_BYTES} bytes")
