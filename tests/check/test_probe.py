"""`grucible probe`: each mistake in the protocol is named, with the bytes that came and what to change."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from grucible.cases.errors import GrucibleError
from grucible.check.probing import probe as probing
from grucible.check.probing.probe import (
    MOST_WRONG,
    Probed,
    ProbeStep,
    dump_bytes,
    plainest_first,
    probe,
)

from .conftest import HERE, Command, bad_usage
from .test_exec import in_c

FIRST = "first question"


def mistaken(line: str) -> str:
    return f"exec: {sys.executable} -I -S {HERE / 'mistaken.py'} {shlex.quote(line)}"


def probed(line: str, timeout: float = 10.0) -> Probed:
    return probe(mistaken(line), timeout)


def answers(*parts: str) -> str:
    """A line that makes the program write these, of which `o` are the output lines and `d` the bytes."""
    return f"answer = lambda o, d: write({', '.join(parts)})"


WRONG = {
    # the step; a part of the message; of what was seen; of the remedy
    "sys.exit(0)": ("hello", "(exit status 0)", "not a byte", "say hello"),
    "HELLO = 'Hello, world\\n'": ("hello", "begins with 'Hello, world'", r"0  Hello, world\n", "`grucible 1`"),
    "HELLO = 'grucible 1.0\\nend\\n'": ("hello", "begins with 'grucible 1.0'", "1.0", "`grucible 1`"),
    "HELLO = 'ok\\nend\\n'": ("hello", "begins with 'ok'", r"ok\n", "`grucible 1`"),
    "HELLO += 'ready.\\n'": ("hello", r"printed 'ready.\n'", "ready.", "stderr"),
    "HELLO = HELLO.replace('vino.GRUS', 'S')": ("hello", "unknown: 'openS", "openS", "hello"),
    "HELLO = 'grucible 1\\nunusable no licence\\nend\\n'": ("hello", "no licence", "no licence", ""),
    "time.sleep(60)": ("hello", "no hello in 0.6 s", "not a byte", "--timeout"),
    "w = write; write = lambda *p: w(*p, flush=False)": (
        "hello", "only when its input had ended", "when its input had ended", "fflush(stdout)"),
    answers("o", "'end\\n'", "d"): (FIRST, "begins with 'output Y", "0  output Y", "`ok`"),
    answers("'{\"Y\": [0.25]}\\n'"): (FIRST, "begins with '{\"Y\"", '{"Y"', "`ok`"),
    answers("'step 1\\n'", "'ok\\n'", "o", "'end\\n'", "d"): (
        FIRST, r"printed 'step 1\n' to standard output before", r"0  step 1\n", "stderr"),
    answers("'ok\\n'", "o", "'end\\n'", "d", "'done\\n'"): (
        FIRST, r"printed 'done\n' to standard output after", r"done\n", "stderr"),
    answers("'ok\\n'", "o", "d"): (FIRST, "no line `end`", "59  00 00 80 3e", "`end`"),
    answers("'ok\\n'", "o.replace('3x1x6', '3,1,6')", "'end\\n'", "d"): (
        FIRST, "'Ho float32 3,1,6 72' announces no tensor", "3,1,6", "copy"),
    answers("'ok\\n'", "o.replace('3x1x4x6 288', '4x1x3x6 288')", "'end\\n'", "d"): (
        FIRST, "Y is float32 (4, 1, 3, 6); expected float32 (3, 1, 4, 6)", "4x1x3x6", "copy each"),
    answers("'ok\\n'", "o.splitlines()[0]", "'\\n'", "'end\\n'", "d"): (
        FIRST, "360 bytes came of the 288", "output Y", "bytes of each output"),
    answers("'ok\\n'", "o", "'end\\n'", "d[:-8]"): (
        FIRST, "352 bytes came of the 360 announced", "00 80 3e", "bytes of each output"),
    answers("'ok\\n'", "o", "'end\\n'", "d * 2"): (FIRST, "720 bytes came of the 360", "00 80 3e", "bytes of a number"),
    answers("'ok\\n'", "o", "'end\\n'", "(b'\\n' + d[1:]).replace(b'\\n', b'\\r\\n')"): (
        FIRST, "361 bytes came of the 360", r"63  \r\n", "_O_BINARY"),
    answers("'ok\\n'", "o", "'end\\n'", "d", "flush=False"): (
        FIRST, "only when its input had ended", "when its input had ended", "fflush(stdout)"),
    "answer = lambda o, d: (sys.stdin.read(), write('ok\\n', o, 'end\\n', d))": (
        FIRST, "only when its input had ended", "when its input had ended", "fflush(stdout)"),
    "answer = lambda o, d: os.kill(os.getpid(), signal.SIGABRT)": (
        FIRST, "crashed (SIGABRT)", "not a byte", "standard error"),
    answers("'unsupported not today\\nend\\n'"): (FIRST, "unsupported not today", "not today", "hello"),
    "a = answer; answer = lambda o, d: (a(o, d), sys.exit(0))": (
        "other sizes", "(exit status 0)", "not a byte", "loop"),
    "a = answer; answer = lambda o, d: a('output Y float32 3x1x4x6 288\\noutput Ho float32 3x1x6 72\\n', d[:360])": (
        "other sizes", "; expected float32", "3x1x4x6", "take all sizes"),
    "end = lambda: write('more\\n')": ("end of input", r"wrote 'more\n'", r"0  more\n", "write nothing"),
    "end = lambda: os.kill(os.getpid(), signal.SIGSEGV)": (
        "end of input", "crashed (SIGSEGV)", "", "end with status 0"),
}  # fmt: skip
SLOW = ("flush=False", "sleep", "read()", "d[:", "world", '"o", "d"', "'x' *", "'ok\\n', o, d)")
REMARKS = {
    "HELLO = HELLO.replace('end', 'dtype f16\\nend')": ("hello", "unknown: 'f16'", "f16", "dtypes are"),
    answers("'ok\\n'", "o", "'end\\n'", "bytes(len(d))"): (FIRST, "Y are zero", "00 00", "copied"),
    answers("'ok\\n'", "o", "'end\\n'", "b'\\0\\0\\xc0\\x7f' * (len(d) // 4)"): (
        FIRST, "Y has values that are not finite", "c0 7f", "initialised"),
    "end = lambda: sys.exit(7)": ("end of input", "(exit status 7)", "", "end with status 0"),
    "end = lambda: time.sleep(60)": ("end of input", "still runs", "", "end with status 0"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "AFTER_SECONDS", 0.6)
    monkeypatch.setattr(probing, "ENDING_SECONDS", 0.6)


def holds(step: ProbeStep, wanted: tuple[str, str, str, str]) -> None:
    name, says, seen, remedy = wanted
    assert step.name == name
    assert says in step.message
    assert seen in "\n".join(step.seen)
    assert remedy in step.remedy


@pytest.mark.parametrize("line", WRONG)
def test_a_mistake_is_named(line: str) -> None:
    found = probed(line, 0.6 if any(word in line for word in SLOW) else 10.0)
    [wrong] = [step for step in found.steps if step.result == "wrong"]
    holds(wrong, WRONG[line])
    assert not found.right
    if wrong.name != "end of input":
        assert found.steps[-1] == wrong  # further steps would show nothing
        assert wrong.expected[0] == ("grucible 1" if wrong.name == "hello" else "ok")


@pytest.mark.parametrize("line", REMARKS)
def test_what_is_odd_is_a_remark(line: str) -> None:
    found = probed(line)
    first, *_ = [step for step in found.steps if step.result == "remark"]
    holds(first, REMARKS[line])
    assert found.right
    assert found.steps[-1].name == "end of input"


def test_bytes_in_the_wrong_order_are_named(tmp_path: Path) -> None:
    case = plainest_first("openvino.GRUSequence-5", "float32")[0]
    swapped = b"".join(array.byteswap().tobytes() for array in case.answer.outputs.values())
    (tmp_path / "answer").write_bytes(swapped)
    line = f"answer = lambda o, d: write('ok\\n', o, 'end\\n', open({str(tmp_path / 'answer')!r}, 'rb').read())"
    step = probed(line).steps[-1]
    holds(step, (FIRST, "the bytes of each number in the wrong order", "", "little-endian"))


def test_a_right_program_in_c(tmp_path: Path, command: Command) -> None:
    ended = command("probe", in_c(tmp_path))
    assert (ended.status, ended.err) == (0, "")
    assert "remark" not in ended.out
    assert "ok      openvino.GRUSequence-5 float64: answered with the 720 bytes of Y" in ended.out
    assert "59  operator openvino.GRUSequence-5\\n\n" in ended.out  # what is sent
    assert "    grucible check --runtime 'exec: " in ended.out


def test_a_wrong_one_has_status_1_and_is_printed_harmlessly(command: Command) -> None:
    line = "sys.stderr.write('\\x1b[2J'); HELLO = '\\x1b]0;owned\\x07\\u202econforms\\nend\\n'"
    ended = command("probe", mistaken(line))
    assert ended.status == 1
    assert "\nWRONG   hello: " in ended.out
    assert "the protocol is not right: 1 step wrong\n" in ended.out
    assert "check/protocol/README.md" in ended.out
    for text in (ended.out, ended.err):
        assert text.replace("\n", "").isprintable()


def test_a_program_with_its_children_is_ended(tmp_path: Path, command: Command) -> None:
    program = tmp_path / "hangs.sh"
    program.write_text("#!/bin/sh\ntrap '' TERM\npython3 -c 'import time; time.sleep(1000)'\n")
    program.chmod(0o755)
    ended = command("probe", f"exec: {program}", "--timeout", "0.6")
    assert ended.status == 1
    assert "no hello in 0.6 s" in ended.out


def test_each_operator_and_dtype_is_asked_until_three_are_wrong() -> None:
    line = (
        "HELLO = 'grucible 1\\nend\\n'; a = answer\n"
        "answer = lambda o, d: a(o, d) if 'float32' in o and 'Y_h' not in o and 'Y' in o else sys.exit(4)"
    )
    found = probed(line)
    wrong = [step for step in found.steps if step.result == "wrong"]
    assert len(wrong) in (1, MOST_WRONG)
    assert all("(exit status 4)" in step.message for step in wrong)


@pytest.mark.parametrize(
    ("program", "says", "remedy"),
    [
        ("{}/none", "No such file or directory", "was it built"),
        ("no_such_program", "No such file or directory", "./PROGRAM"),
        ("{}/plain", "Permission denied", "chmod +x"),
        ("{}", "Permission denied", ""),
    ],
)
def test_what_does_not_start_says_why(program: str, says: str, remedy: str, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    [step] = probe(f"exec: {program.format(tmp_path)}").steps
    holds(step, ("start", says, "", remedy))
    assert step.result == "wrong"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["openvino"], "'openvino' names none; expected 'exec: COMMAND'"),
        (["exec:"], "expected a program after exec:"),
        (["exec: 'unclosed"], "no closing quotation"),
        (["exec:", "./gru"], "in quotes, as one word: 'exec: ./gru'"),
        ([], "Missing argument"),
        (["exec: true", "--timeout", "0"], "--timeout"),
    ],
)
def test_bad_usage(words: list[str], says: str, command: Command) -> None:
    bad_usage(command("probe", *words), says)
    with pytest.raises(GrucibleError, match="a probe talks to a program"):
        probe("my_gru:run")


def test_rows_of_bytes() -> None:
    data = b"ok\r\n\x1b[2J\\\n" + bytes(range(20)) + b"late\n"
    assert dump_bytes(data) == (
        r"     0  ok\r\n",
        r"     4  \x1b[2J\\n",
        "    10  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f  ................",
        "    26  10 11 12 13                                      ....",
        r"    30  late\n",
    )
    assert dump_bytes(b"line\n" * 100, 2, 1)[2] == "     …  97 rows are not shown"
