"""What a script holds that asks a program: one question by the protocol, and its answer read."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np


def answer_of(command: Sequence[str], message: bytes, seconds: float) -> dict[str, Any]:
    """The outputs that a program answers to a hello and one question; of bfloat16 the bits, as uint16.

    Standard error is left to the terminal.
    """
    ended = subprocess.run(
        command, input=message, stdout=subprocess.PIPE, timeout=seconds, check=False
    )
    said = io.BytesIO(ended.stdout)
    header_of(said)  # the program's hello
    lines = header_of(said)
    if lines[:1] != ["ok"]:
        raise RuntimeError(" ".join(lines[:1]) or f"no answer; exit status {ended.returncode}")
    outputs = {}
    for line in lines:
        keyword, _, rest = line.partition(" ")
        if keyword == "output":
            name, dtype, shape, size = rest.split(" ")
            kind = np.dtype({"bfloat16": "uint16"}.get(dtype, dtype)).newbyteorder("<")
            array = np.frombuffer(said.read(int(size)), kind)
            axes = [] if shape == "scalar" else [int(axis) for axis in shape.split("x")]
            outputs[name] = array.reshape(axes).astype(kind.newbyteorder("="))
    return outputs


def header_of(said: Any) -> list[str]:
    """The lines of the next header, without its `end`."""
    lines: list[str] = []
    for line in said:
        text = line.decode(errors="replace").rstrip("\r\n")
        if text == "end":
            return lines
        lines.append(text)
    return lines
