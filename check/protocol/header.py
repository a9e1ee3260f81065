"""The messages of the protocol: a header of text lines that ends with `end`, then raw bytes.

A line is a keyword, a space and the rest. Tensors are announced by name, dtype, shape and byte count;
their bytes follow the header in the order of the lines, little-endian, in C order:

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

Lines with other keywords are passed over, so that a later version can say more.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ...cases.console import MOST_MESSAGE, join_lines, shorten
from ...cases.dtypes import FLOAT_TYPES, INTEGER_TYPES, Array, dtype_name, numpy_dtype
from ...cases.operators import OPERATORS
from ...cases.question import Question, TensorType
from ..runtimes.runtime import last_frames

VERSION = 1
END = "end"
MOST_LINE_BYTES = 8 << 10
"""Maximum bytes of a line: an id, or a message of some thousand characters."""
MOST_HEADER_BYTES = 64 << 10
"""Maximum bytes of a header; the longest question of the core has 800."""
MOST_RANK = 8
"""Maximum axes of a tensor; GRU operators' have at most 4."""
MOST_ELEMENTS = 1 << 59
"""Maximum elements of a tensor; numpy refuses a shape of 2^63 bytes, even where an axis is 0."""
SPARE_BYTES = 16 << 20
"""Maximum bytes beyond those asked for that are read, so that a wrong answer is reported and not fatal."""
MOST_NAMED = 5
"""Maximum names of a hello in a message; grucible knows few operators and dtypes."""

AnswerStatus = Literal["ok", "unsupported", "error"]
_STATUSES: dict[str, AnswerStatus] = {"ok": "ok", "unsupported": "unsupported", "error": "error"}
_DTYPES = (*FLOAT_TYPES, *INTEGER_TYPES)
_TENSOR = re.compile(
    rf"(?P<name>\S+) (?P<dtype>{'|'.join(_DTYPES)}) "
    rf"(?P<shape>scalar|\d{{1,18}}(x\d{{1,18}}){{0,{MOST_RANK - 1}}}) (?P<bytes>\d{{1,18}})",
    re.ASCII,
)
"""What the rest of an `input` or `output` line is."""
_TYPES: dict[type, str] = {bool: "bool", int: "int", float: "float", str: "text"}
_READ: dict[str, Callable[[str], Any]] = {
    "bool": lambda text: {"0": False, "1": True}[text],
    "int": int,
    "float": float,
    "text": str,
}


class ProtocolError(Exception):
    """What was received is not a message of the protocol; the text says what was, and what should be."""


class OtherQuestion(ProtocolError):
    """An answer names another question than the one that was asked."""


class Announced(NamedTuple):
    """A tensor that a header announces: `bytes` of it follow."""

    name: str
    type: TensorType
    bytes: int


def join_header(lines: Iterable[tuple[str, str]]) -> bytes:
    """Make a header of lines, each a keyword and the rest."""
    text = [" ".join(f"{keyword} {rest}".splitlines()).rstrip() for keyword, rest in lines]
    return "\n".join([*text, END, ""]).encode("utf-8", "backslashreplace")


def hello_lines(lines: Iterable[tuple[str, str]] = ()) -> bytes:
    """Make the first message of either side, with more lines of keyword and rest."""
    return join_header([("grucible", str(VERSION)), *lines])


def check_hello(lines: Sequence[tuple[str, str]]) -> None:
    """Raise ProtocolError unless these are the lines of a hello: one says a version, whichever."""
    versions = [rest for keyword, rest in lines if keyword == "grucible"]
    if len(versions) != 1 or not re.fullmatch("[0-9]{1,18}", versions[0]):
        first = repr(" ".join(lines[0]).strip()[:80]) if lines else "nothing"
        raise ProtocolError(
            f"its hello begins with {first}; expected the line `grucible {VERSION}`"
        )


def question_parts(question: Question) -> list[bytes]:
    """Make the parts of a question as it is sent: its header, then the bytes of each input."""
    lines = [
        ("question", question.id),
        ("operator", question.operator),
        ("dtype", question.dtype),
        *(
            (
                "attribute",
                f"{name} {'given' if name in question.given else 'default'} {_value(value)}",
            )
            for name, value in question.attributes.items()
        ),
    ]
    wanted = [("output", _tensor(name, of)) for name, of in question.outputs.items()]
    return _with_arrays(lines, "input", question.inputs, wanted)


def answer_parts(
    status: str,
    outputs: Mapping[str, Array],
    message: str = "",
    more: Iterable[tuple[str, str]] = (),
) -> list[bytes]:
    """Make an answer as it is sent: `ok` with its outputs, or `unsupported` or `error` with a message.

    `more` are other lines of its header, keyword and rest.
    """
    text = message.encode("utf-8", "backslashreplace")[: MOST_LINE_BYTES // 2]
    return _with_arrays([(status, text.decode("utf-8", "ignore"))], "output", outputs, more)


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
    """Write an attribute's value, its type before it: `float 0.5`, `texts sigmoid tanh`, `bool 1`."""
    if isinstance(value, (list, tuple)):
        kind = _TYPES[type(value[0])] if value else "text"
        return " ".join([f"{kind}s", *(_value(one).partition(" ")[2] for one in value)])
    word = (
        repr(value)
        if isinstance(value, float)
        else str(int(value) if isinstance(value, bool) else value)
    )
    return f"{_TYPES[type(value)]} {word}"


def _tensor(name: str, of: TensorType) -> str:
    return f"{name} {dtype_name(of.dtype)} {'x'.join(map(str, of.shape)) or 'scalar'} {of.nbytes}"


def header_lines(next_line: Callable[[], bytes]) -> list[str]:
    """Read the lines of the next header, without its `end`.

    `next_line` gives the bytes of each, without its end. Raises ProtocolError for a header that is too long.
    """
    found: list[str] = []
    size = 0
    while True:
        line = next_line().decode("utf-8", "backslashreplace").removesuffix("\r")
        size += len(line) + 1
        if line == END:
            return found
        if size > MOST_HEADER_BYTES:
            raise ProtocolError(f"a header is longer than {MOST_HEADER_BYTES} bytes")
        found.append(line)


def parsed(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Split each line into its keyword and the rest."""
    return [(keyword, rest) for keyword, _, rest in (line.partition(" ") for line in lines)]


def announced(rest: str) -> Announced:
    """Read what the rest of an `input` or `output` line announces; ProtocolError where that is nothing."""
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


def array_of(one: Announced, data: bytes) -> Array:
    """Make the announced tensor of the bytes that came."""
    array = np.frombuffer(data, one.type.dtype).reshape(one.type.shape)
    return array.byteswap() if sys.byteorder == "big" else array.copy()


def question_of(lines: Sequence[str]) -> tuple[Question, list[Announced]]:
    """Read the question of a header, whose inputs are still to come, and what is announced of them."""
    rests: dict[str, str] = {}
    given: dict[str, Any] = {}
    inputs, outputs = [], {}
    for keyword, rest in parsed(lines):
        if keyword == "attribute":
            name, whose, kind, *words = rest.split(" ")
            if whose == "given":
                given[name] = _read(kind, words)
        elif keyword == "input":
            inputs.append(announced(rest))
        elif keyword == "output":
            one = announced(rest)
            outputs[one.name] = one.type
        else:
            rests[keyword] = rest
    if rests.get("operator") not in OPERATORS:
        raise ProtocolError(f"operator is {rests.get('operator')!r}; expected one that is known")
    question = Question(rests["question"], rests["operator"], rests["dtype"], given, {}, outputs)
    return question, inputs


def _read(kind: str, words: Sequence[str]) -> Any:
    if kind.endswith("s"):
        return [_READ[kind[:-1]](word) for word in words]
    [word] = words
    return _READ[kind](word)


@dataclass(frozen=True)
class Hello:
    """What a program says of itself: `name` and `version` are "" where it does not say them.

    `operators` and `dtypes` are what it answers; everything where there are none. `unusable` says why it
    cannot be asked, "" where it can; a package may have to be `installed`.
    """

    name: str = ""
    version: str = ""
    about: str = ""
    parallel: bool = False
    operators: frozenset[str] = frozenset()
    dtypes: frozenset[str] = frozenset()
    unusable: str = ""
    installed: bool = True

    def refuses(self, question: Question) -> str:
        """Say why the program need not be asked; "" if it must."""
        for asked, known in ((question.operator, self.operators), (question.dtype, self.dtypes)):
            if known and asked not in known:
                names = [shorten(name, 60) for name in sorted(known)[:MOST_NAMED]]
                more = f", and {len(known) - MOST_NAMED} more" * (len(known) > MOST_NAMED)
                return f"no {asked}: its hello names {', '.join(names)}{more}"
        return ""


def hello_of(lines: Sequence[str]) -> Hello:
    """Read the hello of a header's lines; ProtocolError where it is none."""
    pairs = parsed(lines)
    last = dict(pairs)
    if "unusable" in last:
        return Hello(unusable=last["unusable"], installed=last.get("installed") != "no")
    check_hello(pairs)
    return Hello(
        name=join_lines(last.get("name", "")),
        version=join_lines(last.get("version", "")),
        about=join_lines(last.get("about", "")),
        parallel=last.get("parallel") == "yes",
        operators=frozenset(rest for keyword, rest in pairs if keyword == "operator"),
        dtypes=frozenset(rest for keyword, rest in pairs if keyword == "dtype"),
    )


class AnswerHead(NamedTuple):
    """The header of an answer: why there are no outputs, or which ones follow."""

    status: AnswerStatus
    message: str
    outputs: list[Announced]
    malformed: bool = False
    traceback: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """How many bytes follow."""
        return sum(one.bytes for one in self.outputs)


def answer_head(lines: Sequence[str], question: Question) -> AnswerHead:
    """Read the header of an answer to `question`.

    Raises OtherQuestion where it names another, and ProtocolError where it is no answer, or announces an
    output twice or far too many bytes.
    """
    keyword, _, message = lines[0].partition(" ") if lines else ("", "", "")
    if keyword not in _STATUSES:
        first = lines[0][:80] if lines else ""
        raise ProtocolError(f"it wrote {first!r}; expected ok, unsupported or error")
    pairs = parsed(lines[1:])
    for word in (word for word, _ in pairs if word in _STATUSES):
        raise ProtocolError(f"it wrote {keyword} and {word} to one question; expected one of them")
    for other in (rest for word, rest in pairs if word == "question" and rest != question.id):
        raise OtherQuestion(f"it answered {other[:200]!r}; the question is {question.id!r}")
    if keyword != "ok":
        lines_of = last_frames(rest for word, rest in pairs if word == "traceback")
        malformed = ("fault", "malformed") in pairs
        return AnswerHead(
            _STATUSES[keyword], shorten(message, MOST_MESSAGE), [], malformed, lines_of
        )
    outputs = [announced(rest) for word, rest in pairs if word == "output"]
    names = [one.name for one in outputs]
    if len(set(names)) < len(names):
        raise ProtocolError(f"it announced an output twice: {', '.join(names)}")
    wanted = sum(one.nbytes for one in question.outputs.values())
    given = sum(one.bytes for one in outputs)
    if given > wanted + SPARE_BYTES:
        raise ProtocolError(f"it announced {given} bytes; expected {wanted}")
    return AnswerHead("ok", "", outputs)
