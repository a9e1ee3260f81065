"""The messages of the protocol: a header of text lines that ends with `end`, then raw bytes.

A line is a keyword, a space and the rest. A line announces a tensor by name, dtype, shape and byte count.
The bytes of the tensors follow the header in the order of these lines, little-endian, in C order:

    question openvino.GRUCell-3/core/float32/lbr-clip0.5
    operator openvino.GRUCell-3
    dtype float32
    attribute clip given float 0.5
    attribute activations default texts sigmoid tanh
    input X float32 2x3 24
    output Ho float32 2x4 32
    end

    ok                              unsupported no bfloat16 here
    output Ho float32 2x4 32        end
    end

Lines with unknown keywords are ignored, so that a later version can say more.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from ...cases.console import MOST_MESSAGE, join_lines, shorten
from ...cases.dtypes import NUMPY_TYPES, Array, Arrays, dtype_name, numpy_dtype
from ...cases.question import Question, TensorType
from ..runtimes.runtime import last_frames

VERSION = 1
MOST_LINE_BYTES = 8 << 10
"""Maximum bytes of a line: an id, or a message of some thousand characters."""
MOST_HEADER_BYTES = 64 << 10
"""Maximum bytes of a header; the longest question of the core has 800."""
MOST_RANK = 8
"""Maximum axes of a tensor; GRU operators' have at most 4."""
MOST_ELEMENTS = 1 << 59
"""Maximum elements of a tensor; numpy refuses a shape of 2^63 bytes, even where an axis is 0."""
SPARE_BYTES = 16 << 20
"""Maximum bytes of an answer beyond those asked for; a wrong answer must not fill the memory."""

Status = Literal["ok", "unsupported", "error", "missing"]
_STATUSES = ("ok", "unsupported", "error")
"""The words with which an answer begins."""
_DTYPES = tuple(NUMPY_TYPES)
_TENSOR = re.compile(
    rf"(?P<name>\S+) (?P<dtype>{'|'.join(_DTYPES)}) "
    rf"(?P<shape>scalar|\d{{1,18}}(x\d{{1,18}}){{0,{MOST_RANK - 1}}}) (?P<bytes>\d{{1,18}})",
    re.ASCII,
)
"""The pattern of an `input` or `output` line behind its keyword."""
_TYPES: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "text"}
_READ: dict[str, Callable[[str], Any]] = {
    "bool": lambda text: {"0": False, "1": True}[text],
    "int": int,
    "float": float,
    "text": str,
}


class ProtocolError(Exception):
    """A message breaks the protocol; the text says what came, and what was expected."""


class OtherQuestion(ProtocolError):
    """An answer names another question than the one that was asked."""


@dataclass(frozen=True)
class Fault:
    """The kind of a case's error, with the lines of its traceback, if they are known.

    The runtime `raised` the error; or it `crashed`; or it `hung`, with no answer in time; or its answer
    was `malformed`: outputs of other names, shapes or dtypes, or no answer by the protocol.
    """

    kind: Literal["raised", "crashed", "hung", "malformed"]
    traceback: tuple[str, ...] = ()

    @property
    def no_answer(self) -> bool:
        """Whether no answer came: the runtime crashed or hung."""
        return self.kind in ("crashed", "hung")


@dataclass(frozen=True)
class Reply:
    """The answer to one question: outputs if `status` is ok, else a message that says why there are none.

    `overwrote` names the inputs of the question that the runtime wrote into.
    """

    status: Status
    outputs: Arrays
    message: str = ""
    fault: Fault | None = None
    overwrote: tuple[str, ...] = ()


class Announced(NamedTuple):
    """A tensor that a header announces: `bytes` of it follow."""

    name: str
    type: TensorType
    bytes: int


# writing


def join_header(lines: Iterable[tuple[str, str]]) -> bytes:
    """Make a header of lines, each a keyword and the rest."""
    text = [" ".join(f"{keyword} {rest}".splitlines()).rstrip() for keyword, rest in lines]
    return "\n".join([*text, "end", ""]).encode("utf-8", "backslashreplace")


def hello_lines(lines: Iterable[tuple[str, str]] = ()) -> bytes:
    """Make the hello, which each side sends first, with further lines of keyword and rest."""
    return join_header([("grucible", str(VERSION)), *lines])


def question_parts(question: Question) -> list[bytes]:
    """Make the parts of a question as it is sent: its header, then the bytes of each input."""
    lines = [
        ("question", question.id),
        ("operator", question.operator),
        ("dtype", question.dtype),
    ]
    for name, value in question.attributes.items():
        whose = "given" if name in question.given else "default"
        if value is not None:
            lines.append(("attribute", f"{name} {whose} {_value(value)}"))
    wanted = [("output", _tensor(name, of)) for name, of in question.outputs.items()]
    return _with_arrays(lines, "input", question.inputs, wanted)


def answer_parts(reply: Reply) -> list[bytes]:
    """Make an answer as it is sent: `ok` with its outputs, or `unsupported` or `error` with a message."""
    text = reply.message.encode("utf-8", "backslashreplace")[: MOST_LINE_BYTES // 2]
    more = [("overwrote", name) for name in reply.overwrote]
    if reply.fault:
        traceback = (("traceback", line) for line in reply.fault.traceback)
        more += [("fault", reply.fault.kind), *traceback]
    first = [(reply.status, text.decode("utf-8", "ignore"))]
    return _with_arrays(first, "output", reply.outputs, more)


def _with_arrays(
    before: Iterable[tuple[str, str]],
    keyword: str,
    arrays: Mapping[str, Array],
    after: Iterable[tuple[str, str]],
) -> list[bytes]:
    """Make a message with a line for each array, and the bytes of each, little-endian, behind its header."""
    swap = sys.byteorder == "big"
    lines = [(keyword, _tensor(n, TensorType(a.shape, a.dtype))) for n, a in arrays.items()]
    data = ((array.byteswap() if swap else array).tobytes() for array in arrays.values())
    return [join_header([*before, *lines, *after]), *data]


def _value(value: Any) -> str:
    """Write an attribute's type and value: `float 0.5`, `texts sigmoid tanh`, `bool 1`."""
    if isinstance(value, (list, tuple)):
        kind = _TYPES[type(value[0])] if value else "text"
        return " ".join([f"{kind}s", *(_value(one).partition(" ")[2] for one in value)])
    return f"{_TYPES[type(value)]} {int(value) if isinstance(value, bool) else value}"


def _tensor(name: str, of: TensorType) -> str:
    return f"{name} {dtype_name(of.dtype)} {'x'.join(map(str, of.shape)) or 'scalar'} {of.nbytes}"


# reading


def header_lines(next_line: Callable[[], bytes]) -> list[str]:
    """Read the lines of the next header, without its `end`.

    `next_line` gives a line's bytes without the line feed. Raises ProtocolError for too long a header.
    """
    found: list[str] = []
    size = 0
    while (line := next_line().decode("utf-8", "backslashreplace").removesuffix("\r")) != "end":
        size += len(line) + 1
        if size > MOST_HEADER_BYTES:
            raise ProtocolError(f"a header is longer than {MOST_HEADER_BYTES} bytes")
        found.append(line)
    return found


def _parsed(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Split each line into its keyword and the rest."""
    return [(keyword, rest) for keyword, _, rest in (line.partition(" ") for line in lines)]


def announced(rest: str) -> Announced:
    """Read the rest of an `input` or `output` line. Raises ProtocolError unless it announces a tensor."""
    found = _TENSOR.fullmatch(rest)
    if found:
        axes = [] if found["shape"] == "scalar" else [*map(int, found["shape"].split("x"))]
        tensor = TensorType(tuple(axes), numpy_dtype(found["dtype"]))
        few = math.prod(max(1, axis) for axis in axes) <= MOST_ELEMENTS
        if few and _tensor(found["name"], tensor) == rest:
            return Announced(found["name"], tensor, int(found["bytes"]))
    raise ProtocolError(
        f"{rest[:80]!r} announces no tensor; expected NAME DTYPE SHAPE BYTES, such as: Ho float32 2x4 32, "
        f"with a dtype of {', '.join(_DTYPES)}"
    )


def _read_arrays(tensors: Iterable[Announced], read: Callable[[int], bytes]) -> Arrays:
    """Read the bytes of announced tensors, in their order."""
    found = {}
    for one in tensors:
        array = np.frombuffer(read(one.bytes), one.type.dtype).reshape(one.type.shape)
        found[one.name] = array.byteswap() if sys.byteorder == "big" else array.copy()
    return found


def read_question(lines: Sequence[str], read: Callable[[int], bytes]) -> Question:
    """Make a question from the lines of its header; `read` gives the bytes of its inputs, which follow."""
    rests: dict[str, str] = {}
    given: dict[str, Any] = {}
    inputs, outputs = [], {}
    for keyword, rest in _parsed(lines):
        if keyword == "attribute":
            name, whose, kind, *words = rest.split(" ")
            if whose == "given":
                values = [_READ[kind.removesuffix("s")](word) for word in words]
                given[name] = values if kind.endswith("s") else values[0]
        elif keyword == "input":
            inputs.append(announced(rest))
        elif keyword == "output":
            one = announced(rest)
            outputs[one.name] = one.type
        else:
            rests[keyword] = rest
    arrays = _read_arrays(inputs, read)
    return Question(rests["question"], rests["operator"], rests["dtype"], given, arrays, outputs)


@dataclass(frozen=True)
class Hello:
    """What a program says of itself: `name` and `version` are "" where it does not say them.

    `operators` and `dtypes` are what it answers; an empty set means all. `unusable` says why the program
    cannot be asked, or is ""; `installed` is false if a package is missing. `protocol` is the version of the
    protocol that it names.
    """

    name: str = ""
    version: str = ""
    about: str = field(default="", compare=False)
    parallel: bool = False
    operators: frozenset[str] = frozenset()
    dtypes: frozenset[str] = frozenset()
    unusable: str = ""
    installed: bool = True
    protocol: int = field(default=VERSION, compare=False)

    def refuses(self, question: Question) -> str:
        """Say why the program need not be asked; "" if it must."""
        for asked, known in ((question.operator, self.operators), (question.dtype, self.dtypes)):
            if known and asked not in known:
                return f"no {asked}: its hello names {shorten(', '.join(sorted(known)))}"
        return ""


def hello_of(lines: Sequence[str]) -> Hello:
    """Read a hello from its lines. Raises ProtocolError unless exactly one line names a version (any)."""
    pairs = _parsed(lines)
    last = dict(pairs)
    if "unusable" in last:
        return Hello(unusable=last["unusable"], installed=last.get("installed") != "no")
    versions = [rest for keyword, rest in pairs if keyword == "grucible"]
    if len(versions) != 1 or not re.fullmatch("[0-9]{1,18}", versions[0]):
        first = repr(lines[0].strip()[:80]) if lines else "nothing"
        raise ProtocolError(
            f"its hello begins with {first}; expected the line `grucible {VERSION}`"
        )
    return Hello(
        name=join_lines(last.get("name", "")),
        version=join_lines(last.get("version", "")),
        about=join_lines(last.get("about", "")),
        parallel=last.get("parallel") == "yes",
        operators=frozenset(rest for keyword, rest in pairs if keyword == "operator"),
        dtypes=frozenset(rest for keyword, rest in pairs if keyword == "dtype"),
        protocol=int(versions[0]),
    )


def answer_head(lines: Sequence[str], question: Question) -> tuple[Reply, list[Announced]]:
    """Read the header of an answer to `question`: the reply, and the outputs that it announces.

    Raises OtherQuestion if the header names another question. Raises ProtocolError if it is no answer, or
    announces an output twice, or far too many bytes.
    """
    status, _, message = lines[0].partition(" ") if lines else ("", "", "")
    if status not in _STATUSES:
        first = lines[0][:80] if lines else ""
        raise ProtocolError(f"it wrote {first!r}; expected ok, unsupported or error")
    pairs = _parsed(lines[1:])
    for word in (word for word, _ in pairs if word in _STATUSES):
        raise ProtocolError(f"it wrote {status} and {word} to one question; expected one of them")
    for other in (rest for word, rest in pairs if word == "question" and rest != question.id):
        raise OtherQuestion(f"it answered {other[:200]!r}; the question is {question.id!r}")
    overwrote = tuple(name for name in question.inputs if ("overwrote", name) in pairs)
    if status != "ok":
        traceback = last_frames(rest for word, rest in pairs if word == "traceback")
        fault = Fault("malformed" if ("fault", "malformed") in pairs else "raised", traceback)
        text = shorten(message, MOST_MESSAGE)
        known = fault if status == "error" else None
        return Reply(cast("Status", status), {}, text, known, overwrote), []
    outputs = [announced(rest) for word, rest in pairs if word == "output"]
    names = [one.name for one in outputs]
    if len(set(names)) < len(names):
        raise ProtocolError(f"it announced an output twice: {', '.join(names)}")
    wanted = sum(one.nbytes for one in question.outputs.values())
    given = sum(one.bytes for one in outputs)
    if given > wanted + SPARE_BYTES:
        raise ProtocolError(f"it announced {given} bytes; expected {wanted}")
    return Reply("ok", {}, overwrote=overwrote), outputs


def read_answer(lines: Sequence[str], question: Question, read: Callable[[int], bytes]) -> Reply:
    """Make the reply to `question` from the lines of its header; `read` gives the bytes of its outputs.

    Raises what `answer_head` raises. Outputs need not be what was asked for.
    """
    reply, outputs = answer_head(lines, question)
    return replace(reply, outputs=_read_arrays(outputs, read))
