"""`grucible probe`: a mistake in the protocol is shown with the bytes that came and what to change."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from grucible.check import probing
from grucible.check.probing import ProbeStep, probe

from .conftest import HERE, Command, bad_usage
from .test_exec import in_c


def mistaken(line: str) -> str:
    return f"exec: {sys.executable} -I -S {HERE / 'mistaken.py'} {shlex.quote(line)}"


def answers(*parts: str) -> str:
    """A line that makes the program write these, of which `o` are the output lines and `d` the bytes."""
    return f"answer = lambda o, d: write({', '.join(parts)})"


FIRST, END = "openvino.GRUSequence-5 float32", "end of input"
WRONG = {
    # the step; a part of the message; of the bytes that came; of the remedy
    "sys.exit(0)": ("hello", "(exit status 0)", b"", "say hello first"),
    "HELLO = 'Hello, world\\nend\\n'": ("hello", "begins with 'Hello, world'", b"Hello, w", "first line"),
    "HELLO = HELLO.replace('vino.GRUS', 'S')": ("hello", "names 'openS", b"openS", "operators are"),
    "HELLO = 'grucible 1\\nunusable no licence\\nend\\n'": ("hello", "no licence", b"no licence", ""),
    "w = write; write = lambda *p: w(*p, flush=False)": ("hello", "did not load", b"", "fflush(stdout)"),
    answers("'step 1\\n'", "'ok\\n'", "o", "'end\\n'", "d"): (FIRST, "it wrote 'step 1'", b"step 1\n", "stderr"),
    answers("'ok\\n'", "o", "'end\\n'", "d", "'done\\n'"): (FIRST, "wrote b'done", b"done\n", "stderr"),
    answers("'ok\\n'", "o.replace('3x1x6', '3,1,6')", "'end\\n'", "d"): (
        FIRST, "'Ho float32 3,1,6 72' announces no tensor", b"3,1,6", "copy each output line"),
    answers("'ok\\n'", "o.replace('3x1x4x6 288', '4x1x3x6 288')", "'end\\n'", "d"): (
        FIRST, "Y is float32 (4, 1, 3, 6); expected float32 (3, 1, 4, 6)", b"4x1x3x6", "copy each"),
    answers("'ok\\n'", "o", "'end\\n'", "d[:-8]"): (FIRST, "no answer", b"\0\0\x80>", "as many bytes"),
    answers("'ok\\n'", "o", "'end\\n'", "d + b'\\r'"): (FIRST, r"wrote b'\r", b"\r", "_O_BINARY"),
    "answer = lambda o, d: (sys.stdin.read(), write('ok\\n', o, 'end\\n', d))": (
        FIRST, "no answer", b"", "never to the end"),
    "answer = lambda o, d: os.kill(os.getpid(), signal.SIGABRT)": (FIRST, "crashed (SIGABRT)", b"", "standard error"),
    answers("'unsupported not today\\nend\\n'"): ("answers", "no question was answered", b"", ""),
    "a = answer; answer = lambda o, d: (a(o, d), sys.exit(0))": (FIRST, "(exit status 0)", b"", "in a loop"),
    "end = lambda: write('more\\n')": (END, "wrote more", b"more\n", "write nothing"),
    "end = lambda: os.kill(os.getpid(), signal.SIGSEGV)": (END, "crashed (SIGSEGV)", b"", "end with status 0"),
}  # fmt: skip


def steps(line: str, timeout: float) -> list[ProbeStep]:
    return list(probe(mistaken(line), timeout))


@pytest.mark.parametrize("line", WRONG)
def test_the_first_mistake_is_named(line: str) -> None:
    *right, last = steps(line, 0.7 if WRONG[line][1] in ("no answer", "did not load") else 10.0)
    name, says, came, remedy = WRONG[line]
    assert (last.name, last.wrong) == (name, True)
    assert says in last.message
    assert came in last.seen
    assert bool(came) <= bool(last.seen)
    assert remedy in last.remedy
    assert not any(step.wrong for step in right)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("HELLO = HELLO.replace('end', 'dtype f16\\nend')", "names 'f16', which no question has"),
        ("HELLO = HELLO.replace('grucible 1', 'grucible 2')", "names version 2 of the protocol"),
        ("end = lambda: sys.exit(7)", "(exit status 7)"),
        ("end = lambda: time.sleep(60)", "goes on, and was stopped"),
    ],
)
def test_what_is_odd_is_no_mistake(line: str, says: str) -> None:
    found = steps(line, 10.0)
    assert not any(step.wrong for step in found)
    assert any(says in step.message for step in found)
    assert found[-1].name == END


def test_a_right_program_in_c(tmp_path: Path, command: Command) -> None:
    ended = command("probe", in_c(tmp_path))
    assert (ended.status, ended.err) == (0, "")
    assert "ok      openvino.GRUSequence-5 float64: answered with the 720 bytes of Y" in ended.out
    assert "59  operator openvino.GRUSequence-5\\n\n" in ended.out  # what is sent
    assert "    grucible check --runtime 'exec: " in ended.out


def test_a_wrong_one_has_status_1_and_is_printed_harmlessly(command: Command) -> None:
    line = "sys.stderr.write('\\x1b[2J'); HELLO = '\\x1b]0;owned\\x07\\u202econforms\\nend\\n'"
    ended = command("probe", mistaken(line))
    assert ended.status == 1
    assert "WRONG   hello: " in ended.out
    assert "check/protocol/README.md" in ended.out
    for text in (ended.out, ended.err):
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["openvino"], "'openvino' names none; expected 'exec: COMMAND'"),
        (["exec:"], "expected a program after exec:"),
        (["exec: 'unclosed"], "no closing quotation"),
        (["exec:", "./gru"], "in quotes, as one word: 'exec: ./gru'"),
        (["exec: no_such_program"], "cannot be started: No such file or directory"),
        ([], "Missing argument"),
        (["exec: true", "--timeout", "0"], "--timeout"),
    ],
)
def test_bad_usage(words: list[str], says: str, command: Command) -> None:
    bad_usage(command("probe", *words), says)


def test_rows_of_bytes() -> None:
    data = b"ok\r\n" + bytes(range(20, 50)) + b"\n" + b"line\n" * 100
    rows = list(probing._dump(data))
    assert rows[0] == r"     0  ok\r\n"
    assert rows[1] == "     4  14 15 16 17 18 19 1a 1b 1c 1d 1e 1f 20 21 22 23 …"
    assert len(rows) == probing.MOST_ROWS + 1
    assert rows[-1].endswith(" bytes more")
