"""Talk to a program step by step, and say what is wrong with how it speaks the protocol."""

from __future__ import annotations

import contextlib
import itertools
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array
from ...cases.errors import GrucibleError
from ...cases.operators import OPERATORS
from ...cases.question import Question
from ...vectors.case import Case
from ...vectors.vector_set import open_set
from ..observed.child import Child
from ..observed.isolated import EXEC, command_of
from ..observed.source import check_reply, make_reply
from ..protocol.channel import Closed, LateError
from ..protocol.header import (
    VERSION,
    ProtocolError,
    answer_head,
    answer_parts,
    array_of,
    hello_lines,
    hello_of,
    question_parts,
)

TIMEOUT = 10.0
"""Maximum time for each step, in seconds."""
QUIET_SECONDS = 0.05
"""How long to wait for bytes after a whole message, which nobody announced."""
AFTER_SECONDS = 2.0
"""How long to wait after the end of its input for what a late program had not flushed."""
ENDING_SECONDS = 5.0
"""Maximum time in which a program ends after the end of its input."""
MOST_WRONG = 3
"""Maximum wrong steps; after them no other is taken."""
MOST_TRIED = 8
"""Maximum cases of an operator and dtype that are tried until the program supports one."""

_STDERR = "standard output is for the protocol alone: print to standard error instead (fprintf(stderr, …))"
_FLUSH = (
    "flush standard output after each message (fflush(stdout), sys.stdout.flush()), and read no more bytes "
    "than were announced, never to the end of input; if it is slow, raise --timeout"
)
_BYTES = (
    "after `end` write the bytes of each output in the order of the output lines: elements × bytes of a "
    "number, little-endian, and nothing after them, in binary mode (on Windows: _O_BINARY)"
)
_COPY = "copy each output line of the question into the answer, then the line `end`"
_LOOP = (
    "answer in a loop, question after question, until standard input ends; see its standard error"
)
_SIZES = (
    "take all sizes from the lines of each question, and read just the bytes that they announce"
)
_NAME = "name in the hello only what is supported, or answer one of these"
_ENDING = "where no further line can be read, end with status 0, and write nothing"
_HELLO = (f"grucible {VERSION}", "name my_gru", "operator …", "dtype …", "end")


Cause = tuple[str, str]
"""What is wrong with a message, in a sentence, and what to change."""


@dataclass(frozen=True)
class Heard:
    """The bytes that followed one message to a program.

    `afterwards` are those that came only after the end of its input, where it was `late`. `ended` says how
    the process ended, "" where it runs.
    """

    data: bytes
    late: bool = False
    afterwards: bytes = b""
    ended: str = ""


class _Conversation:
    """A program that is talked to, with every byte that it writes kept; OSError where it does not start."""

    def __init__(self, command: Sequence[str]) -> None:
        self._child = Child(command, "standard error")
        self.close = self._child.close

    def ask(self, message: bytes, is_whole: Callable[[bytes], bool], timeout: float) -> Heard:
        """Send a message, and return what comes until `is_whole` holds, the program ends or time is up."""
        channel, deadline = self._child.channel, time.monotonic() + timeout
        try:
            with contextlib.suppress(Closed):  # what it wrote before it ended counts
                channel.send([message], deadline)
            channel.until(is_whole, deadline)
            return Heard(channel.rest(time.monotonic() + QUIET_SECONDS), ended=self._ended())
        except Closed:
            return Heard(channel.take(), ended=self._child.how_it_ended())
        except LateError:
            data, last = channel.take(), self.end(AFTER_SECONDS)
            return Heard(data, True, last.data, last.ended)

    def end(self, within: float) -> Heard:
        """End the program's input, and return what it still writes; late where it does not end."""
        until = time.monotonic() + within
        self._child.end_input()
        data = self._child.channel.rest(until)
        late = not self._child.ended(max(QUIET_SECONDS, until - time.monotonic()))
        return Heard(data, late, ended=self._ended())

    def _ended(self) -> str:
        return "" if self._child.alive() else self._child.how_it_ended()


@dataclass(frozen=True)
class ProbeStep:
    """A step: its name, how it went, and a sentence about it.

    `sent`, `seen` and `expected` are lines for a person to read: `seen` has the bytes that came, with their
    offsets. `remedy` says what to change where it is not ok.
    """

    name: str
    result: Literal["ok", "remark", "wrong"]
    message: str
    sent: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    remedy: str = ""


@dataclass(frozen=True)
class Probed:
    """The steps that were taken."""

    steps: tuple[ProbeStep, ...]

    @property
    def right(self) -> bool:
        """Whether no step is wrong."""
        return all(step.result != "wrong" for step in self.steps)


class _Stop(Exception):
    """Further steps would show nothing."""


def probe(
    runtime: str, timeout: float = TIMEOUT, report: Callable[[ProbeStep], None] = lambda _: None
) -> Probed:
    """Talk to the program `exec: COMMAND` step by step, and say what was found in each.

    A step may take `timeout` seconds; `report` gets each when it is done. Where one is wrong on which the
    others build, it is the last. Raises GrucibleError for a name that is no program's.
    """
    if not runtime.startswith(EXEC):
        raise GrucibleError(
            f"a probe talks to a program, and {runtime!r} names none; expected 'exec: COMMAND', such as "
            "'exec: ./my_gru'"
        )
    probing = _Probing(command_of(runtime), timeout, report)
    with contextlib.closing(probing), contextlib.suppress(_Stop):
        probing.run()
    return Probed(tuple(probing.steps))


class _Probing:
    """A probe under way: its steps so far, and the program, which is started anew where it was ended."""

    def __init__(
        self, command: Sequence[str], timeout: float, report: Callable[[ProbeStep], None]
    ) -> None:
        self.steps: list[ProbeStep] = []
        self.operators: tuple[str, ...] = ()
        self.dtypes: tuple[str, ...] = ()
        self._command, self._timeout, self._report = command, timeout, report
        self._program: _Conversation | None = None

    def close(self) -> None:
        """End the program."""
        if self._program is not None:
            self._program.close()
        self._program = None

    def run(self) -> None:
        """Take the steps. Raises _Stop where the others would show nothing."""
        self._start()
        pairs = list(itertools.product(self.operators, sorted(self.dtypes, key="float32".__ne__)))
        for operator, dtype in pairs:
            if not (cases := plainest_first(operator, dtype)):
                continue
            case, heard = self._supported(cases)
            if not heard.data.startswith(b"unsupported"):
                break
        first = self._answered("first question", case, heard)
        if not heard.data.startswith(b"ok") and first.result != "wrong":
            first = replace(
                first, result="wrong", expected=expected_lines(case.question), remedy=_NAME
            )
        self._add(replace(first, sent=sent_lines(case.question)), needed=True)
        others = [
            one for one in plainest_first(case.operator, case.dtype) if _size(one) != _size(case)
        ]
        other, now = self._supported(sorted(others, key=_size, reverse=True))
        step = self._answered("other sizes", other, now)
        hint = f"{_SIZES}; " * (step.result == "wrong" and not step.remedy.startswith(_LOOP))
        self._add(
            replace(step, message=f"{step.message} ({other.id})", remedy=hint + step.remedy),
            needed=True,
        )
        for operator, dtype in pairs:
            cases = plainest_first(operator, dtype)
            if cases and (operator, dtype) != (case.operator, case.dtype):
                one, now = self._supported(cases)
                self._add(self._answered(f"{operator} {dtype}", one, now))
        self._end(case)

    def _add(self, step: ProbeStep, *, needed: bool = False) -> None:
        """Keep and report a step; after a wrong one the program is ended, for nobody knows its state."""
        self.steps.append(step)
        self._report(step)
        if step.result == "wrong":
            self.close()
            if needed or sum(one.result == "wrong" for one in self.steps) >= MOST_WRONG:
                raise _Stop

    def _start(self) -> None:
        """Start the program, and take its hello."""
        try:
            self._program = _Conversation(self._command)
        except OSError as error:
            why, remedy = _explain_no_start(self._command[0], error)
            self._add(ProbeStep("start", "wrong", why, remedy=remedy), needed=True)
            raise
        self._add(ProbeStep("start", "ok", f"{self._command[0]} runs"))
        heard = self._program.ask(hello_lines(), _has_header, self._timeout)
        try:
            hello = hello_of(_header(heard)[0])
            if hello.unusable:
                raise ProtocolError(f"it says that it cannot be used: {hello.unusable}")
            unknown = [*(hello.operators - {*OPERATORS}), *(hello.dtypes - {*FLOAT_TYPES})]
            self.operators = tuple(
                o for o in OPERATORS if not hello.operators or o in hello.operators
            )
            self.dtypes = tuple(d for d in FLOAT_TYPES if not hello.dtypes or d in hello.dtypes)
            if not (self.operators and self.dtypes) or _header(heard)[1]:
                raise ProtocolError(f"unknown: {', '.join(map(repr, unknown))}")
        except ProtocolError as error:
            self._add(
                _wrong("hello", explain(heard, "hello", str(error), self._timeout), heard, _HELLO),
                needed=True,
            )
        who = f"{hello.name} {hello.version}".strip() or "it does not say its name"
        known = f"operators: {', '.join(self.operators)}; dtypes: {', '.join(self.dtypes)}"
        step = ProbeStep("hello", "ok", f"{who}; {known}", seen=dump_bytes(heard.data))
        if unknown:
            message = f"{step.message}; unknown: {', '.join(map(repr, unknown))}"
            remedy = f"operators are {', '.join(OPERATORS)}; dtypes are {', '.join(FLOAT_TYPES)}"
            step = replace(step, result="remark", message=message, remedy=remedy)
        self._add(step)

    def _ask(self, case: Case) -> Heard:
        """Ask a question, of a new process where the last was ended."""
        if self._program is None:
            self._program = _Conversation(self._command)
            self._program.ask(hello_lines(), _has_header, self._timeout)
        total = sum(wanted.nbytes for wanted in case.question.outputs.values())
        message = b"".join(question_parts(case.question))
        return self._program.ask(message, lambda data: _is_whole(data, total), self._timeout)

    def _supported(self, cases: Sequence[Case]) -> tuple[Case, Heard]:
        """Ask some cases until one is not answered `unsupported`."""
        for case in cases[:MOST_TRIED]:
            heard = self._ask(case)
            if not heard.data.startswith(b"unsupported"):
                break
        return case, heard

    def _answered(self, name: str, case: Case, heard: Heard) -> ProbeStep:
        """Return the step of a question that was asked."""
        question = case.question
        try:
            outputs = read_answer(heard, question)
        except ProtocolError as error:
            cause = explain(heard, "answer", str(error), self._timeout, question)
            step = _wrong(name, cause, heard, expected_lines(question))
            return replace(step, sent=sent_lines(question))
        result: Literal["ok", "remark", "wrong"]
        if not outputs:
            text = write_out(heard.data.partition(b"\n")[0], 200)
            result = "ok" if text.startswith("unsupported") else "remark"
            return ProbeStep(name, result, f"it answered {text}", seen=dump_bytes(heard.data))
        total = sum(array.nbytes for array in outputs.values())
        message = f"answered with the {total} bytes of {' and '.join(outputs)}"
        seen = dump_bytes(heard.data, 6, 1)
        if odd := _odd_values(outputs, case.answer.outputs):
            why, remedy = odd
            result = "wrong" if remedy == _BYTES else "remark"
            return ProbeStep(name, result, f"{message}; {why}", (), seen, (), remedy)
        return ProbeStep(name, "ok", f"{message}; all finite", seen=seen)

    def _end(self, case: Case) -> None:
        """Take the step of the end of its input."""
        if self._program is None:
            self._ask(case)
        assert self._program is not None
        heard = self._program.end(ENDING_SECONDS)
        name, text = "end of input", f"it {heard.ended}"
        result: Literal["ok", "remark", "wrong"] = "ok"
        if heard.data:
            result, text = "wrong", f"after its last answer it wrote '{write_out(heard.data)}'"
        elif heard.late:
            text = f"it still runs {ENDING_SECONDS:g} s after the end of its input, and was stopped"
            result = "remark"
        elif "(exit status 0)" not in heard.ended:
            text = f"when its input ended it {heard.ended}"
            result = "wrong" if "crashed" in heard.ended else "remark"
        if result == "ok":
            self._add(ProbeStep(name, "ok", text))
        else:
            expected = ("nothing, and an end with status 0",)
            self._add(ProbeStep(name, result, text, (), dump_bytes(heard.data), expected, _ENDING))


@cache
def plainest_first(operator: str, dtype: str) -> tuple[Case, ...]:
    """Return the core cases of an operator and dtype: the textbook's GRU first, the smallest first."""
    vectors = open_set(None, [f"{operator}/core/{dtype}/*"])
    cases = [case for rows in vectors.slices() for case in rows.block.cases()]
    return tuple(sorted(cases, key=lambda case: (len(case.given), _size(case), case.id)))


def _size(case: Case) -> int:
    return sum(array.nbytes for array in case.inputs.values())


def sent_lines(question: Question) -> tuple[str, ...]:
    """Return the question as it is sent, as lines: its header, and how many bytes follow."""
    header, *arrays = question_parts(question)
    sizes = ", ".join(f"{name} {array.nbytes}" for name, array in question.inputs.items())
    return (*dump_bytes(header, 20, 5), f"{len(header):6}  {sum(map(len, arrays))} bytes: {sizes}")


def expected_lines(question: Question) -> tuple[str, ...]:
    """Return the expected answer as lines."""
    header = answer_parts("ok", question.buffers())[0].decode()
    sizes = [f"{name} {wanted.nbytes}" for name, wanted in question.outputs.items()]
    total = sum(wanted.nbytes for wanted in question.outputs.values())
    return (*header.splitlines(), f"then {total} bytes: {', '.join(sizes)}")


_END = re.compile(rb"^end\r?\n", re.MULTILINE)


def _has_header(data: bytes) -> bool:
    return _END.search(data) is not None


def _is_whole(data: bytes, total: int) -> bool:
    """Whether an answer has its header, and of outputs `total` bytes."""
    end = _END.search(data)
    return end is not None and (not data.startswith(b"ok") or len(data) - end.end() >= total)


def _header(heard: Heard) -> tuple[list[str], bytes]:
    """Return the lines of a header and the bytes after it; ProtocolError where it has no end."""
    end = _END.search(heard.data)
    if end is None:
        raise ProtocolError("its header has no line `end`")
    text = heard.data[: end.start()].decode("utf-8", "backslashreplace")
    return [line.removesuffix("\r") for line in text.split("\n")[:-1]], heard.data[end.end() :]


def read_answer(heard: Heard, question: Question) -> dict[str, Array]:
    """Return the outputs of a whole answer, none where it says why; ProtocolError where it is not right."""
    lines, rest = _header(heard)
    head = answer_head(lines, question)
    if len(rest) != head.bytes:
        raise ProtocolError(f"{len(rest)} bytes came of the {head.bytes} announced")
    ends = itertools.accumulate(one.bytes for one in head.outputs)
    outputs = {
        one.name: array_of(one, rest[end - one.bytes : end])
        for one, end in zip(head.outputs, ends, strict=True)
    }
    checked = check_reply(question.outputs, make_reply(head, outputs))
    if head.status == "ok" and checked.status == "error":
        raise ProtocolError(checked.message)
    return outputs


def explain(
    heard: Heard, what: str, problem: str, timeout: float, question: Question | None = None
) -> Cause:
    """Return what is wrong with a hello or an answer; `problem` where no common cause is seen."""
    data, ended = heard.data, f"; then it {heard.ended}" if heard.ended else ""
    total = sum(wanted.nbytes for wanted in question.outputs.values()) if question else 0
    begins = "ok" if question else f"grucible {VERSION}"
    if heard.afterwards and (not data or _is_whole(data + heard.afterwards, total)):
        return (f"{len(heard.afterwards)} bytes came only when its input had ended", _FLUSH)
    if not data and heard.late:
        return (f"no {what} in {timeout:g} s{ended}", _FLUSH)
    if not data:
        first = "" if question else "say hello first; then "
        return (f"instead of its {what} it {heard.ended}", first + _LOOP)
    begun = re.search(rb"^" + begins.encode() + rb"\r?\n", data, re.MULTILINE)
    end = _END.search(data)
    rest = data[end.end() :] if end else b""
    for part, when in ((data[: begun.start() if begun else 0], "before"), (rest[total:], "after")):
        if part.endswith(b"\n") and is_text(part):
            text = write_out(part)
            return (f"it printed '{text}' to standard output {when} its {what}{ended}", _STDERR)
    if not begun:
        first = write_out(data.partition(b"\n")[0])
        why = f"its {what} begins with '{first}'{ended}"
        return (why, f"begin with the line `{begins}`. {_STDERR}")
    if not question:
        return (problem, "a hello is that line, others, and the line `end`")
    return (f"{problem}{ended}", _BYTES if " bytes came of the " in problem else _COPY)


def _explain_no_start(program: str, error: OSError) -> Cause:
    """Return why a command does not start, and what to do."""
    remedy = "was it built? A program in this directory is named ./PROGRAM"
    if Path(program).is_file():
        remedy = "make it executable (chmod +x), or name what runs it: exec: python3 PROGRAM"
    return (f"{program} cannot be started: {error.strerror or error}", remedy)


def _wrong(name: str, cause: Cause, heard: Heard, expected: tuple[str, ...]) -> ProbeStep:
    """Return the step of a message that is not right, with the bytes that came."""
    seen = dump_bytes(heard.data, 9, 4) or ("not a byte",)
    if heard.afterwards:
        seen += ("and when its input had ended:", *dump_bytes(heard.afterwards, 4, 2))
    return ProbeStep(name, "wrong", cause[0], (), seen, expected, cause[1])


def _odd_values(seen: Mapping[str, Array], expected: Mapping[str, Array]) -> Cause | None:
    """Return what is odd about values: they are not finite, all zero, or of the other byte order."""
    for name, array in seen.items():
        values, wanted = array.astype(np.float64), expected[name].astype(np.float64)
        with np.errstate(all="ignore"):
            swapped = array.byteswap().astype(np.float64)
        if not wanted.any():
            continue
        if np.allclose(swapped, wanted, rtol=1e-2, atol=0) and not np.array_equal(swapped, values):
            return (f"{name} has the bytes of each number in the wrong order", _BYTES)
        if not np.isfinite(values).all():
            return (f"{name} has values that are not finite", "is all memory initialised?")
        if not values.any():
            return (f"all values of {name} are zero", "is the result copied into the answer?")
    return None


def step_lines(step: ProbeStep) -> Iterator[str]:
    """Yield the lines of a step; its bytes where it is not ok, or where the question is shown, too."""
    word = "WRONG" if step.result == "wrong" else step.result
    yield f"{word:8}{step.name}: {step.message}"
    for title, lines in (("sent", step.sent), ("seen", step.seen), ("expected", step.expected)):
        if lines and (step.result != "ok" or step.sent):
            yield f"    {title}:"
            yield from (f"    {' ' * 8 * (title == 'expected')}{line}" for line in lines)
    if step.remedy:
        yield f"    remedy: {step.remedy}"


_ROW, _MOST_TEXT = 16, 64
_TEXT = re.compile(rb"[\t\x20-\x7e]{2,}\r?\n|[\t\x20-\x7e]{5,}\Z")
"""Text in the midst of other bytes: a line of it, or what is left."""


def dump_bytes(data: bytes, head: int = 7, tail: int = 3) -> tuple[str, ...]:
    """Return rows of offsets with lines of text or hexadecimal numbers; of many those at both ends."""
    rows = list(_rows(data))
    if len(rows) <= head + tail + 1:
        return tuple(rows)
    hidden = f"{'…':>6}  {len(rows) - head - tail} rows are not shown"
    return (*rows[:head], hidden, *rows[-tail:])


def _rows(data: bytes) -> Iterator[str]:
    at = 0
    while at < len(data):
        stop = data.find(b"\n", at) + 1 or len(data)
        if is_text(data[at:stop]):
            yield f"{at:6}  {write_out(data[at:stop])}"
        else:
            text = _TEXT.search(data, at + 1)
            stop = text.start() if text else len(data)
            for start in range(at, stop, _ROW):
                row = data[start : min(start + _ROW, stop)]
                shown = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
                yield f"{start:6}  {row.hex(' '):{3 * _ROW}} {shown}"
        at = stop


def write_out(data: bytes, most: int = _MOST_TEXT) -> str:
    r"""Return bytes as one line of text, shortened, with \n, \x1b and the like written out."""
    text = data[: 4 * most].decode("utf-8", "backslashreplace")
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= most else f"{text[:most]} …"


def is_text(data: bytes) -> bool:
    """Whether bytes are text, as a program prints it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(c.isprintable() or c in "\t\r\n\x1b" for c in text)
