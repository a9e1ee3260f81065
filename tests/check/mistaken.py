"""A program with one mistake in how it speaks the protocol: `python mistaken.py MISTAKE`.

Nothing of grucible is imported: this is what somebody's first attempt may do. Its numbers are not right,
which is not the protocol's business: all are 0.25.
"""

from __future__ import annotations

import atexit
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

OUT = open(1, "wb", 1 << 16)  # noqa: SIM115 - buffered, whatever the environment says
atexit.register(OUT.flush)
QUARTER = {
    "float16": struct.pack("<e", 0.25),
    "bfloat16": struct.pack("<f", 0.25)[2:],
    "float32": struct.pack("<f", 0.25),
    "float64": struct.pack("<d", 0.25),
}
GREETING = (
    "grucible 1\nname mistaken\nversion 1\noperator openvino.GRUSequence-5\ndtype float32\nend\n"
)


class Question(NamedTuple):
    lines: list[str]
    outputs: list[list[str]]

    @property
    def header(self) -> str:
        return "".join(f"output {' '.join(words)}\n" for words in self.outputs)

    @property
    def data(self) -> bytes:
        return b"".join(
            QUARTER[dtype] * (int(size) // len(QUARTER[dtype]))
            for _, dtype, _, size in self.outputs
        )


def header() -> list[str]:
    lines: list[str] = []
    for line in sys.stdin.buffer:
        if line == b"end\n":
            return lines
        lines.append(line.decode().rstrip("\n"))
    sys.exit(0)


def question() -> Question:
    lines = header()
    for line in lines:
        if line.startswith("input "):
            sys.stdin.buffer.read(int(line.split()[-1]))
    return Question(lines, [line.split()[1:] for line in lines if line.startswith("output ")])


def questions() -> Iterator[Question]:
    while True:
        yield question()


def write(*parts: str | bytes, flush: bool = True) -> None:
    for part in parts:
        OUT.write(part.encode() if isinstance(part, str) else part)
    if flush:
        OUT.flush()


def greet() -> None:
    write(GREETING)
    header()


def right(q: Question) -> None:
    write("ok\n", q.header, "end\n", q.data)


def greeting(*parts: str | bytes, flush: bool = True) -> Callable[[], None]:
    """A program that says these instead of its hello, and then reads on."""

    def run() -> None:
        write(*parts, flush=flush)
        header()
        for q in questions():
            right(q)

    return run


def answering(answer: Callable[[Question], object], hello: str = GREETING) -> Callable[[], None]:
    def run() -> None:
        write(hello)
        header()
        for q in questions():
            answer(q)

    return run


def saying(*parts: str | bytes) -> Callable[[], None]:
    """A program that answers with these, in which HEADER and DATA stand for those that are right."""

    def answer(q: Question) -> None:
        stands = {"HEADER": q.header.encode(), "DATA": q.data}
        for part in parts:
            data = part.encode() if isinstance(part, str) else part
            for name, value in stands.items():
                data = data.replace(name.encode(), value)
            write(data, flush=False)
        write()

    return answering(answer)


def header_reworded(old: str, new: str) -> Callable[[], None]:
    return answering(lambda q: write("ok\n", q.header.replace(old, new), "end\n", q.data))


def one_question() -> None:
    greet()
    right(question())


def crash() -> None:
    greet()
    question()
    print("gru.c:40: assertion `t < time` failed", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGABRT)


def exit_3() -> None:
    greet()
    question()
    print("\x1b[2Jno weights", file=sys.stderr, flush=True)
    sys.exit(3)


def never_flushed() -> None:
    write(GREETING)
    header()
    for q in questions():
        write("ok\n", q.header, "end\n", q.data, flush=False)


def lines_flushed() -> None:
    """As Rust's standard output does: what follows the last line feed stays in the buffer."""
    write(GREETING)
    header()
    for q in questions():
        write("ok\n", q.header, "end\n")
        write(q.data, flush=False)


def reads_to_the_end() -> None:
    write(GREETING)
    sys.stdin.buffer.read()


def reads_too_much() -> None:
    greet()
    lines = header()
    count = sum(int(line.split()[-1]) for line in lines if line.startswith("input "))
    if len(sys.stdin.buffer.read(count + 4)) < count + 4:
        sys.exit("the input ended within a tensor")


def reads_nothing() -> None:
    write(GREETING)
    time.sleep(60)


def computes_on() -> None:
    greet()
    question()
    while True:
        time.sleep(60)


def hangs() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(60)


def interleaved(q: Question) -> None:
    write("ok\n")
    for words in q.outputs:
        of_one = Question([], [words])
        write(of_one.header, of_one.data)
    write("end\n")


def fixed_sizes() -> None:
    greet()
    first: Question | None = None
    for q in questions():
        first = first or q
        right(first)


def keeps_state() -> None:
    greet()
    for number, q in enumerate(questions()):
        write("ok\n", q.header, "end\n", struct.pack("<f", number) + q.data[4:])


def unknown_lines_end_it() -> None:
    greet()
    known = ("question", "operator", "dtype", "attribute", "input", "output")
    for q in questions():
        for line in q.lines:
            if line.split()[0] not in known:
                sys.exit(f"what is {line.split()[0]}?")
        right(q)


def right_and_then(*ends: Callable[[], object]) -> Callable[[], None]:
    def talk() -> None:
        try:
            greet()
            for q in questions():
                right(q)
        except SystemExit:
            for do in ends:
                do()

    return talk


def flood() -> None:
    greet()
    question()
    while True:
        write("x" * 4096)


def big_endian(q: Question) -> None:
    """The right numbers: a test writes them to the file that the variable ANSWER names."""
    numbers = Path(os.environ["ANSWER"]).read_bytes()
    swapped = b"".join(numbers[at : at + 4][::-1] for at in range(0, len(numbers), 4))
    write("ok\n", q.header, "end\n", swapped)


def filled(value: float) -> Callable[[], None]:
    return answering(
        lambda q: write("ok\n", q.header, "end\n", struct.pack("<f", value) * (len(q.data) // 4))
    )


PROGRAMS: dict[str, Callable[[], None]] = {
    f.__name__: f
    for f in (
        one_question, crash, exit_3, never_flushed, lines_flushed, reads_to_the_end, reads_too_much,
        reads_nothing, computes_on, hangs, fixed_sizes, keeps_state, unknown_lines_end_it, flood,
    )
} | {
    "right": answering(right),
    # ends
    "stays": right_and_then(lambda: time.sleep(60)),
    "ends_with_7": right_and_then(lambda: sys.exit(7)),
    "writes_at_its_end": right_and_then(lambda: write("more\n")),
    "writes_at_its_end_and_stays": right_and_then(lambda: write("more\n"), lambda: time.sleep(60)),
    "dies_at_its_end": right_and_then(lambda: os.kill(os.getpid(), signal.SIGSEGV)),
    # hellos
    "hello_prose": greeting("Hello, world\n"),
    "hello_silent": lambda: sys.exit(0),
    "hello_loading": greeting("loading weights…\n", GREETING),
    "hello_version": greeting("grucible 1.0\nend\n"),
    "hello_other_version": greeting("version 1\nend\n"),
    "hello_no_end": greeting("grucible 1\nname me\n"),
    "hello_json": greeting('{"grucible": 1}\n'),
    "hello_answers": greeting("ok\nend\n"),
    "hello_utf16": greeting(GREETING.encode("utf-16")),
    "hello_bom": greeting(b"\xef\xbb\xbf" + GREETING.encode()),
    "hello_unflushed": greeting(GREETING, flush=False),
    "hello_and_more": greeting(GREETING, "ready.\n"),
    "hello_and_answer": greeting(GREETING, "error no operator\nend\n"),
    "hello_crlf": answering(right, GREETING.replace("\n", "\r\n")),
    "hello_unknown_operator": greeting(GREETING.replace("openvino.GRUSequence-5", "GRUSequence-5")),
    "hello_unknown_dtype": answering(right, GREETING.replace("end", "dtype f16\nend")),
    "hello_unusable": greeting("grucible 1\nunusable no licence\nend\n"),
    "escapes": greeting("\x1b[2J\x1b]0;owned\x07\u202econforms\nend\n"),
    # answers
    "prints_before": saying("step 1 of 3\nstep 2\n", "ok\nHEADERend\nDATA"),
    "prints_after": saying("ok\nHEADERend\nDATA", "done in 3 ms\n"),
    "json": saying('{"Y": [0.25], "Ho": [0.25]}\n'),
    "upper_case": saying("OK\nHEADERend\nDATA"),
    "no_ok": saying("HEADERend\nDATA"),
    "no_header": saying("DATA"),
    "no_end": saying("ok\nHEADER", "DATA"),
    "upper_case_end": saying("ok\nHEADEREND\nDATA"),
    "end_without_line_feed": saying("ok\nHEADERend", "DATA"),
    "interleaved": answering(interleaved),
    "line_ends": saying("ok\r\nHEADERend\r\nDATA"),
    "text_mode": answering(
        lambda q: write(
            f"ok\n{q.header}end\n".replace("\n", "\r\n"),
            struct.pack("<f", 2.3509887e-38) * 0,
            (b"\n\x00\x80\x3e" * (len(q.data) // 4)).replace(b"\n", b"\r\n"),
        )
    ),
    "shape_with_commas": header_reworded("3x1x6", "3,1,6"),
    "shape_in_brackets": header_reworded("3x1x6", "[3, 1, 6]"),
    "other_shape": header_reworded("3x1x6 72", "3x6 72"),
    "exchanged_axes": header_reworded("3x1x6", "1x3x6"),
    "other_dtype_name": header_reworded("float32", "f32"),
    "double": answering(
        lambda q: write(
            "ok\noutput Y float64 3x1x4x6 576\noutput Ho float64 3x1x6 144\nend\n",
            struct.pack("<d", 0.25) * (len(q.data) // 4),
        )
    ),
    "no_count": header_reworded(" 72\n", "\n"),
    "other_count": header_reworded(" 72\n", " 18\n"),
    "other_name": header_reworded("Ho", "ho"),
    "one_missing": answering(
        lambda q: write("ok\n", Question([], q.outputs[:1]).header, "end\n", q.data[:288])
    ),
    "twice_the_same": answering(lambda q: write("ok\n", q.header, q.header, "end\n", q.data, q.data)),
    "short": answering(lambda q: write("ok\n", q.header, "end\n", q.data[:-8])),
    "half": answering(lambda q: write("ok\n", q.header, "end\n", q.data[: len(q.data) // 2])),
    "one_byte_each": answering(lambda q: write("ok\n", q.header, "end\n", q.data[::4])),
    "long": answering(lambda q: write("ok\n", q.header, "end\n", q.data, q.data[:5])),
    "doubles_sent": answering(lambda q: write("ok\n", q.header, "end\n", q.data * 2)),
    "line_feed_after": saying("ok\nHEADERend\nDATA\n"),
    "answers_twice": saying("ok\nHEADERend\nDATA" * 2),
    "echo": answering(lambda q: write("\n".join([*q.lines, "end\n"]))),
    "says_hello_again": saying(GREETING),
    "all_unsupported": saying("unsupported not today\nend\n"),
    "all_errors": saying("error \x1b[2Jbroken\nend\n"),
    "nan": filled(float("nan")),
    "zeros": filled(0.0),
    "enormous": filled(1e30),
    "big_endian": answering(big_endian),
}  # fmt: skip

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
