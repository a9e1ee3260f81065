"""`grucible probe`: talk to a program step by step, and show where it breaks the protocol."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from ..cases.console import find_page, format_command, say
from ..cases.dtypes import FLOAT_TYPES
from ..cases.errors import GrucibleError
from ..cases.operators import OPERATORS
from ..cases.question import Question
from ..vectors.vector_set import open_set
from .cli.options import Seconds
from .observed.child import END_SECONDS, Child
from .observed.isolated import EXEC, IsolatedRuntime
from .observed.source import check_reply
from .protocol.header import VERSION, Reply, answer_parts, question_parts
from .reports.text import wrap

MOST_TRIED = 8
"""Maximum cases of an operator and dtype that are tried until the program supports one."""
MOST_ROWS, MOST_SHOWN = 20, 100
"""Maximum rows of bytes that are shown, and characters of a row; mistakes are at a message's beginning."""
_HELLO = (f"grucible {VERSION}", "name my_gru", "operator …", "dtype …", "end")
_REMEDIES = {
    "hello names": f"operators are {', '.join(OPERATORS)}; dtypes are {', '.join(FLOAT_TYPES)}",
    "last answer": "where no further line can be read, end with status 0, and write nothing",
    "no answer|did not load":
        "flush standard output after each message (fflush(stdout), sys.stdout.flush()); end a header with "
        "the line `end`, and write as many bytes as it announces; read no more bytes than were announced, "
        "never to the end of input; if it is slow, raise --timeout",
    "ended its process|crashed|closed its":
        "say hello first; then answer in a loop, question after question, until standard input ends; take "
        "all sizes from the lines of the question; see its standard error",
    "after its answer":
        "after `end` write just the bytes that were announced, in binary mode (on Windows: _O_BINARY); "
        "print to standard error instead (fprintf(stderr, …))",
    "it wrote|hello begins":
        "begin with the first line that is expected. Standard output is for the protocol alone: print to "
        "standard error instead (fprintf(stderr, …))",
    "": "copy each output line of the question into the answer, then the line `end`; then write the bytes "
        "of each output in that order, little-endian",
}  # fmt: skip
"""What to change, by a pattern in the message; the first pattern that is found counts."""


class ProbeStep(NamedTuple):
    """A step: its name and a sentence about it.

    `question` is what was asked. Where the step is `wrong`, `seen` are the bytes that came, and
    `expected` the lines of the message that should have come.
    """

    name: str
    message: str
    question: Question | None = None
    wrong: bool = False
    seen: bytes = b""
    expected: Sequence[str] = ()

    @property
    def remedy(self) -> str:
        """What to change in the program."""
        return next(text for found, text in _REMEDIES.items() if re.search(found, self.message))


@click.command("probe")
@click.argument("words", metavar="'exec: COMMAND'", nargs=-1, required=True)
@click.option("--timeout", default=10.0, show_default=True, metavar="SECONDS",
              type=Seconds(min=0, min_open=True),
              help="How long the program may take for each step.")  # fmt: skip
def probe_command(words: tuple[str, ...], timeout: float) -> None:
    """Talk to a program step by step, and say what is wrong with its protocol.

    COMMAND is a program in any language that answers questions on its standard input and output.
    Each step is a line. The first wrong step also shows the bytes that
    came, what was expected, and what to change. `grucible check` judges the program's numbers.

    Exit status 0: the protocol is right; 1: something is wrong.
    """
    if len(words) > 1:
        raise click.UsageError(f"put the command in quotes, as one word: '{' '.join(words)}'")
    shown = False
    for step in probe(words[0], timeout):
        word = "WRONG" if step.wrong else "ok"
        for line in wrap(f"{word:8}{step.name}: {step.message}", 0, 10):
            say(line)
        if step.question and not shown:
            shown = True
            _say_rows(
                "sent", [*_dump(question_parts(step.question)[0]), "and the bytes of its inputs"]
            )
        if step.wrong:
            _say_rows("seen", [*_dump(step.seen)] or ["not a byte"])
            _say_rows("expected", step.expected)
            for line in wrap(f"remedy: {step.remedy}", 4, 14):
                say(line)
            say("")
            page = find_page("check/protocol/README.md")
            say(f"how it should be: {page}, with complete programs beside it")
            raise SystemExit(1)
    say("")
    say("the protocol is right. Judge the numbers with:")
    say(f"    {format_command('check', (), ['--runtime', words[0]])}")


def probe(runtime: str, timeout: float) -> Iterator[ProbeStep]:
    """Talk to the program `exec: COMMAND`, as `check` does; yield each step, the first wrong one as the last.

    A step may take `timeout` seconds. For each operator and dtype, the plainest and the largest question that
    the program supports are asked. Raises GrucibleError if `runtime` names no program, or a program that does
    not start.
    """
    if not runtime.startswith(EXEC):
        raise GrucibleError(
            f"a probe talks to a program, and {runtime!r} names none; expected 'exec: COMMAND', such as "
            "'exec: ./my_gru'"
        )
    with contextlib.closing(
        IsolatedRuntime(runtime, timeout, loading=timeout, gives_up=False)
    ) as program:
        for step in _take_steps(runtime, program):
            yield step
            if step.wrong:
                return


def _take_steps(runtime: str, program: IsolatedRuntime) -> Iterator[ProbeStep]:
    try:
        program.ready()
    except GrucibleError as error:
        why = str(error).removeprefix(f"runtime {runtime}: ").removesuffix(" while loading")
        yield ProbeStep("hello", why, None, True, program.came, _HELLO)
    hello = program.hello
    operators = [one for one in OPERATORS if not hello.operators or one in hello.operators]
    dtypes = [one for one in FLOAT_TYPES if not hello.dtypes or one in hello.dtypes]
    who = f"{program.name} {hello.version}".strip()
    known = f"{who}; operators: {', '.join(operators)}; dtypes: {', '.join(dtypes)}"
    if unknown := [*(hello.operators - {*OPERATORS}), *(hello.dtypes - {*FLOAT_TYPES})]:
        known = f"its hello names {', '.join(map(repr, unknown))}, which no question has; {known}"
    if hello.protocol != VERSION:
        spoken = f"version {hello.protocol} of the protocol, and grucible speaks {VERSION}"
        known = f"its hello names {spoken}; {known}"
    yield ProbeStep("hello", known, None, not (operators and dtypes), program.came, _HELLO)
    ok = False
    for operator in operators:
        for dtype in sorted(dtypes, key="float32".__ne__):
            plainest = _plainest_first(operator, dtype)
            for questions in (plainest, sorted(plainest, key=_size, reverse=True)):
                for question in questions[:MOST_TRIED]:
                    reply = program.answer(question)
                    if reply.status != "unsupported":
                        break
                if questions:
                    ok |= reply.status == "ok"
                    yield _judge(question, reply, program.came)
    if not ok:
        yield ProbeStep(
            "answers",
            "no question was answered with ok, although its hello names them all",
            None,
            True,
        )
    yield _end(program.ready())


def _plainest_first(operator: str, dtype: str) -> list[Question]:
    """List the core questions of an operator and dtype: those with few attributes first, then small ones."""
    slices = open_set(None, [f"{operator}/core/{dtype}/*"]).slices()
    asked = [case.question for rows in slices for case in rows.block.cases()]
    return sorted(asked, key=lambda question: (len(question.given), _size(question), question.id))


def _size(question: Question) -> int:
    return sum(array.nbytes for array in question.inputs.values())


def _judge(question: Question, reply: Reply, came: bytes) -> ProbeStep:
    """Make the step of a question that was asked; its outputs need only have the right shapes and dtypes."""
    name = f"{question.operator} {question.dtype}"
    found = check_reply(question.outputs, reply)
    if found.status == "ok":
        count = sum(array.nbytes for array in found.outputs.values())
        why = f"answered with the {count} bytes of {' and '.join(found.outputs)}"
    elif found.fault is None or found.fault.kind == "raised":
        why = f"it answered {found.status} {found.message}"
    else:
        header = answer_parts(Reply("ok", question.buffers()))[0].decode().splitlines()
        total = sum(wanted.nbytes for wanted in question.outputs.values())
        expected = [*header, f"then {total} bytes: {', '.join(question.outputs)}"]
        return ProbeStep(name, f"{found.message} ({question.id})", question, True, came, expected)
    return ProbeStep(name, f"{why} ({question.id})", question)


def _end(child: Child) -> ProbeStep:
    """Close the program's input, and check that the program ends without writing more."""
    child.end_input()
    if more := child.surplus(time.monotonic() + END_SECONDS):
        return ProbeStep(
            "end of input", "it wrote more after its last answer", None, True, more, ["nothing"]
        )
    how = "goes on, and was stopped" if child.alive() else child.how_it_ended
    why = f"after its last answer it {how}"
    return ProbeStep("end of input", why, None, "crashed" in how, b"", ["an end with status 0"])


def _dump(data: bytes) -> Iterator[str]:
    """Yield each line with its offset; if the line is no text, its first bytes in hexadecimal numbers."""
    at = 0
    for line in data.splitlines(keepends=True)[:MOST_ROWS]:
        text = line.decode("utf-8", "replace")
        binary = not text.rstrip("\r\n").isprintable() or "\ufffd" in text
        shown = line[:16].hex(" ") if binary else repr(text)[1:-1]
        more = " …" * (len(shown) > MOST_SHOWN or (binary and len(line) > 16))
        yield f"{at:6}  {shown[:MOST_SHOWN]}{more}"
        at += len(line)
    if at < len(data):
        yield f"{at:6}  … and {len(data) - at} bytes more"


def _say_rows(title: str, rows: Sequence[str]) -> None:
    say(f"    {title}:")
    for row in rows:
        say(f"    {'' if row[:6].strip().isdigit() else 8 * ' '}{row}")
