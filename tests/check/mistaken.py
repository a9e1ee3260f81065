"""A program that speaks the protocol, but for the line of Python that it is given: `python mistaken.py LINE`.

Nothing of grucible is imported: this is what somebody's first attempt may do. Its numbers are all 0.25. The
line may change HELLO, or `answer`, which gets the output lines and the bytes of a right answer.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
import time

__all__ = ["os", "signal", "time"]  # for the line

HELLO = (
    "grucible 1\nname mistaken\nversion 1\noperator openvino.GRUSequence-5\ndtype float32\nend\n"
)
OUT = open(1, "wb", 1 << 16)  # noqa: SIM115 - buffered, whatever the environment says


def header() -> list[str]:
    lines: list[str] = []
    for line in sys.stdin.buffer:
        if line == b"end\n":
            return lines
        lines.append(line.decode().rstrip("\n"))
    end()
    OUT.flush()
    sys.exit(0)


def write(*parts: str | bytes, flush: bool = True) -> None:
    for part in parts:
        OUT.write(part.encode() if isinstance(part, str) else part)
    if flush:
        OUT.flush()


def answer(outputs: str, data: bytes) -> None:
    write("ok\n", outputs, "end\n", data)


def end() -> None:
    """At the end of the input."""


exec(sys.argv[1])
write(HELLO)
header()
while True:
    asked = header()
    for line in asked:
        if line.startswith("input "):
            sys.stdin.buffer.read(int(line.split()[-1]))
    outputs = [line for line in asked if line.startswith("output ")]
    total = sum(int(line.split()[-1]) for line in outputs)
    answer("".join(f"{line}\n" for line in outputs), struct.pack("<f", 0.25) * (total // 4))
