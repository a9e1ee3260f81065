"""What is made of an answer that is none: its first line, its header, and what it announces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...cases.dtypes import dtype_name
from ...cases.question import Question, TensorType
from ..protocol.header import (
    END,
    Announced,
    ProtocolError,
    announced,
    answer_parts,
)
from .conversation import Heard
from .dump import is_text
from .message import (
    Message,
    late_flush,
    no_end,
    other_writing,
    printed,
    quoted,
    taken_apart,
)
from .silence import silent
from .step import Cause
from .tensor_bytes import wrong_bytes

_WORDS = (b"ok", b"unsupported", b"error")
_BEGIN = "an answer begins with the line `ok`, or with `unsupported` or `error` and a reason"
_COPY = "copy each output line of the question into the answer: it is just what is expected"


def expected_lines(question: Question) -> tuple[str, ...]:
    """The answer that is expected, as lines."""
    header = answer_parts("ok", question.buffers())[0].decode()
    sizes = [f"{name} {wanted.nbytes}" for name, wanted in question.outputs.items()]
    total = sum(wanted.nbytes for wanted in question.outputs.values())
    return (*header.splitlines(), f"then {total} bytes: {', '.join(sizes)}")


def wrong_answer(question: Question, heard: Heard, timeout: float) -> Cause:
    """What is wrong with an answer, for which `timeout` seconds were given."""
    if not heard.data:
        return silent(heard, "answer", timeout)
    message = taken_apart(heard.data)
    found = (
        other_writing(heard.data)
        or _first_line(message, question, heard)
        or _header(message, heard)
        or _outputs(message, question)
        or wrong_bytes(message, question, heard)
        or Cause(heard.problem or "its answer is not whole", _BEGIN)
    )
    if heard.ended and heard.how == "closed":
        return Cause(f"{found.what}; then it {heard.ended}", found.remedy)
    return found


def _first_line(message: Message, question: Question, heard: Heard) -> Cause | None:
    first = message.lines[0] if message.lines else message.rest
    if _is_answer(first):
        return None
    for number, line in enumerate(message.lines):
        if _is_answer(line):
            return printed(b"\n".join(message.lines[:number]), "before its answer")
    word = first.split()[0] if first.split() else b""
    if word == b"question":
        return Cause(
            "it sends back the question that it was sent", f"compute an answer to it: {_BEGIN}"
        )
    if word == b"grucible":
        return Cause("it says hello again", "say hello once, when the program starts")
    if word == b"output":
        return Cause("the line `ok` is missing before the output lines", _BEGIN)
    if word.lower().rstrip(b":!.,") in _WORDS:
        return Cause(f"its first line is {quoted(first)}", f"{_BEGIN}, in lower case, nothing else")
    total = sum(wanted.nbytes for wanted in question.outputs.values())
    if len(heard.data) == total and not is_text(heard.data):
        return Cause(
            f"it sent the {total} bytes of its outputs without a header",
            "write the lines of the header first: see what is expected",
        )
    if is_text(first):
        return Cause(f"its answer begins with {quoted(first)}", f"{_BEGIN}. What it prints for "
                     "people belongs on standard error")  # fmt: skip
    return Cause("its answer begins with bytes that are no text", _BEGIN)


def _is_answer(line: bytes) -> bool:
    return line == b"ok" or line.split(b" ")[0] in _WORDS[1:] or line.startswith(b"ok ")


def _header(message: Message, heard: Heard) -> Cause | None:
    """The cause where a header has no end."""
    if not message.ended and heard.how == "late" and END.encode() in heard.afterwards:
        return late_flush("the end of its header")
    outputs = [n for n, line in enumerate(message.lines) if line.startswith(b"output ")]
    if outputs and any(not is_text(line) for line in message.lines[outputs[0] :]):
        return Cause(
            "bytes follow an output line at once, within the header",
            "write all lines first, then `end`, then the bytes of all outputs in the same order",
        )
    return no_end(message)


def _outputs(message: Message, question: Question) -> Cause | None:
    """The cause where other tensors are announced than were asked for."""
    if message.lines[0].split(b" ")[0] != b"ok":
        return None
    told: list[Announced] = []
    for line in message.lines:
        if line.startswith(b"output ") or line == b"output":
            try:
                told.append(announced(line.removeprefix(b"output ").decode("utf-8", "replace")))
            except ProtocolError as error:
                return Cause(_not_announced(line, question, error), _COPY)
        elif line.lower().startswith((b"output", b"\toutput", b" output")):
            return Cause(
                f"{quoted(line)} is taken for a line of a later version",
                "an output line is `output`, a space, name, dtype, shape, bytes, with a space between",
            )
    return _names(told, question.outputs)


def _not_announced(line: bytes, question: Question, error: ProtocolError) -> str:
    """What is wrong with an output line, by the line that was expected where it names the output."""
    name = line.removeprefix(b"output ").split(b" ")[0].decode("utf-8", "replace")
    for expected in expected_lines(question):
        if expected.startswith(f"output {name} "):
            return f"its line {quoted(line)} should be '{expected}'"
    return f"an output line is not right: {error}"


def _names(told: Sequence[Announced], wanted: Mapping[str, TensorType]) -> Cause | None:
    names = [one.name for one in told]
    if len(set(names)) < len(names):
        return Cause(f"an output is announced twice: {_listed(names)}", _COPY)
    if set(names) != set(wanted):
        missing = [name for name in wanted if name not in names]
        more = [name for name in names if name not in wanted]
        parts = [
            *([f"{_listed(missing)} was asked for and not announced"] if missing else []),
            *([f"{_listed(more)} was announced and not asked for"] if more else []),
        ]
        return Cause("; ".join(parts), f"{_COPY}. Names are those of the question, case and all")
    for one in told:
        if one.type != wanted[one.name]:
            return Cause(f"{_differing(one, wanted[one.name])}", _COPY)
    return None


def _differing(one: Announced, wanted: TensorType) -> str:
    seen, asked = one.type, wanted
    if seen.dtype != asked.dtype:
        return f"{one.name} is announced as {dtype_name(seen.dtype)}; asked for was {dtype_name(asked.dtype)}"
    shapes = ["x".join(map(str, shape)) or "scalar" for shape in (seen.shape, asked.shape)]
    if sorted(seen.shape) == sorted(asked.shape):
        return (
            f"{one.name} is announced as {shapes[0]}; asked for was {shapes[1]}: axes are exchanged"
        )
    return f"{one.name} is announced as {shapes[0]}; asked for was {shapes[1]}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(
        quoted(name.encode("utf-8", "backslashreplace")).strip("'") for name in names[:4]
    )
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
