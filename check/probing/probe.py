"""The steps of a probe, in order: a program is started, greeted, and asked a few questions."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ...cases.errors import GrucibleError
from ...vectors.case import Case
from ..observed.isolated import EXEC, command_of
from .answering import expected_lines, wrong_answer
from .conversation import ENDING_SECONDS, Conversation, Heard
from .dump import differing, dumped, line_of_text
from .greeting import Hello, hello_step
from .message import carriage_returns, wrong_step
from .plausible import byte_order, remarkable
from .questions import of_other_sizes, plainest_first, sent_lines
from .silence import LOOK
from .starting import not_started
from .step import Probed, Step

TIMEOUT = 10.0
"""How long a program may take for each step, in seconds."""
MOST_WRONG = 3
"""After so many wrong steps no other is taken."""
MOST_TRIED = 8
"""So many cases of an operator and dtype are tried until the program supports one."""
STDERR = "standard error"
"""What stands before the lines that the program writes there."""
UNKNOWN_LINES = b"seconds 0.5\ncomment a later version may say more\n"
"""Lines of a header that no version has so far."""
HEADER_ROWS = 6
"""So many rows are shown of an answer that is right."""
_SIZES = (
    "take all sizes from the lines of each question, and read just the bytes that they announce"
)
_NAME = (
    "name in the hello only what is supported, or answer one of these: without outputs, `grucible check` "
    "is incomplete"
)
_STATE = "keep nothing from one question to the next (the last state?), and initialise all memory"
_ENDING = (
    "where no further line can be read (fgets gives NULL), end with status 0, and write nothing"
)
_NOTHING = ("nothing, and an end with status 0",)
_UNKNOWN = tuple(UNKNOWN_LINES.decode().splitlines())
_PASS_OVER = "pass over header lines whose keyword you do not know: a later version may say more"

Tell = Callable[[Step], None]


class _Stop(Exception):
    """What comes next would tell nothing."""


def probe(runtime: str, timeout: float = TIMEOUT, tell: Tell = lambda _: None) -> Probed:
    """Talk to the program `exec: COMMAND` step by step, and say of each what was found.

    A step may take `timeout` seconds; `tell` gets each when it is done. Where one is wrong on which the
    others build, it is the last. Raises GrucibleError for a name that is no program's.
    """
    if not runtime.startswith(EXEC):
        raise GrucibleError(
            f"a probe talks to a program, and {runtime!r} names none; expected 'exec: COMMAND', such as "
            "'exec: ./my_gru'"
        )
    probing = _Probing(command_of(runtime), timeout, tell)
    with contextlib.closing(probing), contextlib.suppress(_Stop):
        probing.run()
    return Probed(tuple(probing.steps), probing.operators, probing.dtypes)


class _Probing:
    """A probe under way: its steps so far, and the program, which is started anew where it was ended."""

    def __init__(self, command: Sequence[str], timeout: float, tell: Tell) -> None:
        self.steps: list[Step] = []
        self.operators: tuple[str, ...] = ()
        self.dtypes: tuple[str, ...] = ()
        self._command, self._timeout, self._tell = command, timeout, tell
        self._program: Conversation | None = None

    def close(self) -> None:
        """End the program."""
        if self._program is not None:
            self._program.close()
        self._program = None

    def run(self) -> None:
        """Take the steps. Raises _Stop where those that are left would tell nothing."""
        hello = self._start()
        self.operators, self.dtypes = hello.operators, hello.dtypes
        case, heard = self._first(hello)
        self._other_sizes(case)
        same = self._again(case, heard)
        self._unknown_lines(case, heard if same else None)
        for operator, dtype in _pairs(hello):
            if (operator, dtype) != (case.operator, case.dtype):
                self._one_of(operator, dtype)
        self._end(case)

    def _add(self, step: Step) -> None:
        """A step that is done. After a wrong one the program is ended: what would it say next?"""
        if step.result == "remark" and any(step.remedy == one.remedy for one in self.steps):
            step = replace(step, seen=(), remedy="")  # it was said
        self.steps.append(step)
        self._tell(step)
        if step.result == "wrong":
            self.close()
            if sum(one.result == "wrong" for one in self.steps) >= MOST_WRONG:
                raise _Stop

    def _start(self) -> Hello:
        """The steps of starting the program and of its hello."""
        self.close()
        try:
            self._program = Conversation(self._command, STDERR, self._timeout)
        except OSError as error:
            cause = not_started(self._command, error)
            self._add(Step("start", "wrong", cause.what, remedy=cause.remedy))
            raise _Stop from None
        self._add(Step("start", "ok", f"{self._command[0]} runs"))
        step, hello = hello_step(self._program.greet(), self._timeout)
        self._add(step)
        if hello is None:
            raise _Stop
        return hello

    def _ask(self, case: Case, more: bytes = b"") -> Heard:
        """Ask the program, of which a new process starts where the last was ended."""
        if self._program is None:
            self._program = Conversation(self._command, STDERR, self._timeout)
            heard = self._program.greet()
            if heard.hello is None:
                step, _ = hello_step(heard, self._timeout)
                self._add(replace(step, name="hello again"))
                raise _Stop
        return self._program.ask(case.question, more)

    def _supported(self, cases: Sequence[Case]) -> tuple[Case, Heard, int]:
        """The first of some cases that is answered with outputs, or that breaks the protocol, or else the
        last; and how many were asked."""
        for number, case in enumerate(cases[:MOST_TRIED], start=1):  # noqa: B007
            heard = self._ask(case)
            if heard.reply is None or heard.reply.status == "ok":
                break
        return case, heard, number

    def _answered(self, name: str, case: Case, heard: Heard, hint: str = "") -> Step:
        """The step of a question that was asked; `hint` is a remedy more where it is wrong."""
        expected = expected_lines(case.question)
        total = sum(wanted.nbytes for wanted in case.question.outputs.values())
        if heard.reply is None:
            cause = wrong_answer(case.question, heard, self._timeout)
            step = wrong_step(name, cause, heard, expected, total)
            remedy = "; ".join(filter(None, [hint, step.remedy]))
            return replace(step, sent=sent_lines(case.question), remedy=remedy)
        if heard.reply.status != "ok":
            said = f"it answered {heard.reply.status}: {heard.reply.message or 'without a reason'}"
            return Step(name, "ok" if heard.reply.status == "unsupported" else "remark", said)
        if swapped := byte_order(heard.reply.outputs, case.answer.outputs):
            return wrong_step(name, swapped, heard, expected, total)
        said = f"answered with the {total} bytes of {' and '.join(heard.reply.outputs)}"
        seen = dumped(heard.data, HEADER_ROWS, 1)
        if found := remarkable(heard.reply.outputs, case.answer.outputs) or carriage_returns(
            heard.data
        ):
            return Step(name, "remark", f"{said}; {found.what}", (), seen, (), found.remedy)
        return Step(name, "ok", f"{said}; all finite", (), seen)

    def _first(self, hello: Hello) -> tuple[Case, Heard]:
        """The step of the first question that it supports."""
        tried = 0
        for operator, dtype in _pairs(hello):
            if not (cases := plainest_first(operator, dtype)):
                continue
            case, heard, count = self._supported(cases)
            tried += count
            if heard.reply is None or heard.reply.status == "ok":
                step = self._answered("first question", case, heard)
                self._add(replace(step, sent=sent_lines(case.question)))
                if step.result == "wrong":
                    raise _Stop
                return case, heard
        assert heard.reply is not None
        said = (
            f"none of {tried} questions was answered with outputs; the last one was answered "
            f"{heard.reply.status}: {heard.reply.message or 'without a reason'}"
        )
        self._add(Step("first question", "wrong", said, sent_lines(case.question), dumped(heard.data),
                       expected_lines(case.question), _NAME))  # fmt: skip
        raise _Stop

    def _other_sizes(self, first: Case) -> None:
        """The step of a question whose inputs have other byte counts."""
        case, heard, _ = self._supported(
            of_other_sizes(first, plainest_first(first.operator, first.dtype))
        )
        hint = "" if "(exit status 0)" in heard.ended else _SIZES
        step = self._answered("other sizes", case, heard, hint)
        self._add(replace(step, said=f"{step.said} ({case.id})"))
        if step.result == "wrong":
            raise _Stop

    def _again(self, case: Case, before: Heard) -> bool:
        """The step of the first question once more; whether the answer is the same."""
        heard = self._ask(case)
        step = self._answered("asked again", case, heard)
        same = heard.data == before.data
        if step.result == "wrong":
            self._add(step)
            raise _Stop
        if same:
            self._add(
                Step("asked again", "ok", "the first question has the same answer, byte for byte")
            )
        else:
            self._add(Step("asked again", "remark", "the first question has another answer now", (),
                           differing(before.data, heard.data), (), _STATE))  # fmt: skip
        return same

    def _unknown_lines(self, case: Case, before: Heard | None) -> None:
        """The step of lines that no version has; the answer is that of `before`, if that is known."""
        heard = self._ask(case, UNKNOWN_LINES)
        step = self._answered("unknown lines", case, heard, _PASS_OVER)
        if step.result == "wrong":
            self._add(replace(step, sent=(*_UNKNOWN, "among the lines of the first question")))
        elif before is not None and heard.data != before.data:
            self._add(Step("unknown lines", "wrong", "header lines that no version has changed its answer",
                           _UNKNOWN, differing(before.data, heard.data), (), _PASS_OVER))  # fmt: skip
        else:
            self._add(
                Step("unknown lines", "ok", "header lines of a later version are passed over")
            )

    def _one_of(self, operator: str, dtype: str) -> None:
        """The step of a question of an operator and dtype, where the core has one."""
        if cases := plainest_first(operator, dtype):
            case, heard, _ = self._supported(cases)
            self._add(self._answered(f"{operator} {dtype}", case, heard))

    def _end(self, case: Case) -> None:
        """The step of the end of its input."""
        if self._program is None:
            self._ask(case)
        assert self._program is not None
        heard = self._program.end()
        if heard.data:
            said = f"after its last answer it wrote '{line_of_text(heard.data)}'"
            self._add(
                Step("end of input", "wrong", said, (), dumped(heard.data), _NOTHING, _ENDING)
            )
        elif heard.ended.startswith("crashed"):
            said = f"when its input ended it {heard.ended}"
            self._add(Step("end of input", "wrong", said, (), (), _NOTHING, f"{_ENDING}; {LOOK}"))
        elif heard.how == "late":
            said = f"it still runs {ENDING_SECONDS:g} s after the end of its input, and was stopped"
            self._add(Step("end of input", "remark", said, remedy=_ENDING))
        elif "(exit status 0)" not in heard.ended:
            said = f"when its input ended it {heard.ended}"
            self._add(Step("end of input", "remark", said, remedy=_ENDING))
        else:
            self._add(Step("end of input", "ok", f"it {heard.ended}"))


def _pairs(hello: Hello) -> Iterator[tuple[str, str]]:
    """What it is to be asked; first float32, which most programs know best."""
    dtypes = sorted(hello.dtypes, key=lambda dtype: dtype != "float32")
    return itertools.product(hello.operators, dtypes)
