"""`grucible probe`: each mistake in the protocol is named, with the bytes that came and what to change."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

from grucible.cases.errors import GrucibleError
from grucible.check.probing import conversation
from grucible.check.probing.dump import differing, dumped
from grucible.check.probing.probe import MOST_WRONG, probe
from grucible.check.probing.questions import plainest_first
from grucible.check.probing.step import Probed, Step
from grucible.check.protocol.channel import MOST_RECORDED

from .conftest import HERE, Command, bad_usage
from .mistaken import PROGRAMS
from .test_exec import in_c

SHORT = "0.6"
EXAMPLES = HERE.parent.parent / "check/protocol/examples"


def mistaken(mistake: str) -> str:
    return f"exec: {sys.executable} -I -S {HERE / 'mistaken.py'} {mistake}"


def probed(mistake: str) -> Probed:
    return probe(mistaken(mistake), float(SHORT) if mistake in SLOW else 10.0)


def names(of: Probed) -> list[str]:
    return [step.name for step in of.steps]


SLOW = {
    "hello_no_end", "hello_json", "hello_unflushed", "hello_prose", "json", "no_end", "no_header",
    "upper_case_end", "end_without_line_feed", "never_flushed", "lines_flushed", "reads_to_the_end",
    "reads_too_much", "reads_nothing", "computes_on", "hangs", "short", "half", "one_byte_each",
    "hello_utf16", "interleaved",
}  # fmt: skip
"""Those that are waited for until the time is up."""
FIRST = "first question"
WRONG: dict[str, tuple[str, str, str, str]] = {
    # the step; what is said; a part of what was seen; a part of the remedy
    "hello_silent": ("hello", "(exit status 0), without a word", "not a byte", "say hello"),
    "hello_prose": ("hello", "begins with 'Hello, world'", r"0  Hello, world\n", "`grucible 1`"),
    "hello_version": ("hello", "version line of its hello is 'grucible 1.0'", r"grucible 1.0\n", "`grucible 1`"),
    "hello_other_version": ("hello", "begins with 'version 1'", r"version 1\n", "`grucible 1`"),
    "hello_no_end": ("hello", "no line `end`", r"11  name me\n", r"end\n"),
    "hello_json": ("hello", "JSON", '{"grucible": 1}', "not JSON"),
    "hello_answers": ("hello", "takes the judge's hello for a question", r"ok\n", "say hello first"),
    "hello_utf16": ("hello", "UTF-16", "ff fe 67 00 72 00 75 00", "UTF-8"),
    "hello_bom": ("hello", "byte order mark", "ef bb bf", "without a byte order mark"),
    "hello_unflushed": ("hello", "came only when its input had ended", "when its input had ended", "fflush(stdout)"),
    "hello_and_more": ("hello", r"printed 'ready.\n' to standard output after its hello", r"ready.\n", "stderr"),
    "hello_and_answer": ("hello", "though nothing was asked", "error no operator", "up to its `end`"),
    "hello_unknown_operator": ("hello", "did you mean openvino.GRUSequence-5?", "GRUSequence-5", "operators are"),
    "hello_unusable": ("hello", "cannot be used: no licence", "unusable no licence", ""),
    "hangs": ("hello", "none of the 15 bytes sent was read", "not a byte", "--timeout"),
    "prints_before": (FIRST, r"printed 'step 1 of 3\nstep 2' to standard output before", r"12  step 2\n", "stderr"),
    "prints_after": (FIRST, r"printed 'done in 3 ms\n' to standard output after", r"423  done in 3 ms\n", "stderr"),
    "json": (FIRST, "JSON", '{"Y": [0.25]', "not JSON"),
    "upper_case": (FIRST, "first line is 'OK'", r"0  OK\n", "lower case"),
    "no_ok": (FIRST, "`ok` is missing", "0  output Y", "`ok`"),
    "no_header": (FIRST, "the 360 bytes of its outputs without a header", "0  00 00 80 3e", "header first"),
    "no_end": (FIRST, "no line `end`", "59  00 00 80 3e", r"end\n"),
    "upper_case_end": (FIRST, "'END' instead of the line `end`", r"59  END\n", r"end\n"),
    "end_without_line_feed": (FIRST, "after `end` there is no line feed", "59  65 6e 64 00", r"end\n"),
    "interleaved": (FIRST, "bytes follow an output line at once", "32  00 00 80 3e", "then the bytes of all"),
    "text_mode": (FIRST, "450 bytes came, 360 were announced: standard output is in text mode", "0d 0a", "_O_BINARY"),
    "shape_with_commas": (FIRST, "'output Ho float32 3,1,6 72' should be 'output Ho float32 3x1x6 72'", "3,1,6", "copy"),
    "shape_in_brackets": (FIRST, "should be 'output Ho float32 3x1x6 72'", "[3, 1, 6]", "copy each output line"),
    "other_shape": (FIRST, "Ho is announced as 3x6; asked for was 3x1x6", "3x6 72", "copy each output line"),
    "exchanged_axes": (FIRST, "axes are exchanged", "1x3x6", "copy each output line"),
    "other_dtype_name": (FIRST, "should be 'output Y float32 3x1x4x6 288'", "Y f32", "copy each output line"),
    "double": (FIRST, "Y is announced as float64; asked for was float32", "float64", "copy each output line"),
    "no_count": (FIRST, "'output Ho float32 3x1x6' should be", r"3x1x6\n", "copy each output line"),
    "other_count": (FIRST, "should be 'output Ho float32 3x1x6 72'", "3x1x6 18", "copy each output line"),
    "other_name": (FIRST, "Ho was asked for and not announced; ho was announced", "output ho", "case and all"),
    "one_missing": (FIRST, "Ho was asked for and not announced", "output Y", "copy each output line"),
    "twice_the_same": (FIRST, "announced twice: Y, Ho, Y, Ho", "88  output Ho", "copy each output line"),
    "short": (FIRST, "352 of 360 announced bytes came: 8 are missing", "00 80 3e", "all of them"),
    "half": (FIRST, "180 are missing. That is half: 2 bytes a number instead of 4", "00 80 3e", "all of them"),
    "one_byte_each": (FIRST, "270 are missing. That is one byte for each of the 90", "00 00 00", "bytes of a number"),
    "long": (FIRST, "5 bytes more came than the 360 announced", "423  00 00 80 3e 00", "all of them"),
    "doubles_sent": (FIRST, "twice as many", "423  00 00 80 3e", "bytes of a number"),
    "line_feed_after": (FIRST, "a line end too many came after the bytes", r"423  \n", "nothing after"),
    "answers_twice": (FIRST, "answered twice", r"423  ok\n", "one answer for each"),
    "echo": (FIRST, "sends back the question", "0  question openvino", "compute"),
    "says_hello_again": (FIRST, "says hello again", "0  grucible 1", "once"),
    "all_unsupported": (FIRST, "none of 8 questions was answered with outputs", "unsupported not today", "hello"),
    "all_errors": (FIRST, "answered error: \x1b[2Jbroken", r"error \x1b[2Jbroken\n", "hello"),
    "never_flushed": (FIRST, "came only when its input had ended", "when its input had ended", "fflush(stdout)"),
    "lines_flushed": (FIRST, "360 of the 360 bytes came only when", "when its input had ended", "io::stdout().flush()"),
    "reads_to_the_end": (FIRST, "waited for more bytes than the 1747 that were sent, or for the end", "not a byte", "read just the bytes"),
    "reads_too_much": (FIRST, "last wrote: the input ended within a tensor", "not a byte", "read just the bytes"),
    "reads_nothing": (FIRST, "none of the 1747 bytes sent was read", "not a byte", "--timeout"),
    "computes_on": (FIRST, "though it has read all that was sent", "not a byte", "--timeout"),
    "crash": (FIRST, "crashed (SIGABRT); it last wrote: gru.c:40: assertion", "not a byte", "standard error"),
    "exit_3": (FIRST, "ended its process (exit status 3); it last wrote: ", "not a byte", "standard error"),
    "flood": (FIRST, "begins with 'xxxx", "0  xxxx", "`ok`"),
    "one_question": ("other sizes", "after one answer it ended its process (exit status 0)", "not a byte", "loop"),
    "fixed_sizes": ("other sizes", "Y is announced as 3x1x4x6; asked for was 3x1x4x33", "3x1x4x6 288", "take all sizes"),
    "unknown_lines_end_it": ("unknown lines", "it last wrote: what is seconds?", "not a byte", "pass over header lines"),
    "big_endian": (FIRST, "Y has the bytes of each number in the wrong order", "63  bf 08 65 e9", "little-endian"),
}  # fmt: skip
ENDS = {
    "writes_at_its_end": (r"after its last answer it wrote 'more\n'", r"0  more\n"),
    "writes_at_its_end_and_stays": (r"after its last answer it wrote 'more\n'", r"0  more\n"),
    "dies_at_its_end": ("when its input ended it crashed (SIGSEGV)", ""),
}
REMARKS: dict[str, tuple[str, str, str, str]] = {
    "hello_loading": ("hello", "printed 'loading weights…' to standard output before", "loading", "stderr"),
    "hello_crlf": ("hello", r"its lines end with \r\n", r"grucible 1\r\n", "_O_BINARY"),
    "hello_unknown_dtype": ("hello", "unknown: dtype 'f16' (did you mean float16?)", "f16", "dtypes are"),
    "line_ends": (FIRST, r"its lines end with \r\n", r"ok\r\n", "_O_BINARY"),
    "nan": (FIRST, "72 of 72 values of Y are NaN or infinite", "c0 7f", "initialised"),
    "zeros": (FIRST, "all values of Y are zero", "00 00 00 00", "copied into the answer"),
    "enormous": (FIRST, "Y has values as large as 1.0e+30", "ca f2 49 71", "little-endian"),
    "keeps_state": ("asked again", "has another answer now", "64  00 00 40", "keep nothing"),
    "stays": ("end of input", "still runs", "", "end with status 0"),
    "ends_with_7": ("end of input", "(exit status 7)", "", "end with status 0"),
}  # fmt: skip


def holds(step: Step, says: str, seen: str, remedy: str) -> None:
    assert says in step.said
    assert seen in "\n".join(step.seen)
    assert remedy in step.remedy


def test_every_mistake_is_looked_for() -> None:
    assert {*WRONG, *ENDS, *REMARKS, "right", "escapes"} == set(PROGRAMS)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "AFTER_SECONDS", 0.6)
    monkeypatch.setattr(conversation, "END_SECONDS", 0.2)
    monkeypatch.setattr(conversation, "ENDING_SECONDS", 0.6)


@pytest.fixture
def _answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right numbers of the first question, for the program that knows them."""
    outputs = plainest_first("openvino.GRUSequence-5", "float32")[0].answer.outputs
    (tmp_path / "answer").write_bytes(b"".join(array.tobytes() for array in outputs.values()))
    monkeypatch.setenv("ANSWER", str(tmp_path / "answer"))


@pytest.mark.rows(3)
@pytest.mark.usefixtures("_answer")
@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_is_named(mistake: str) -> None:
    name, says, seen, remedy = WRONG[mistake]
    found = probed(mistake)
    [wrong] = [step for step in found.steps if step.result == "wrong"]
    assert wrong.name == name
    holds(wrong, says, seen, remedy)
    assert not found.right
    begins, *_, last = wrong.expected
    if name == "hello":
        assert (begins, last) == ("grucible 1", "end")
    else:
        assert begins == "ok"
        assert last.startswith("then ")
    if name not in ("unknown lines", "end of input"):
        assert names(found)[-1] == name  # what comes next would tell nothing


@pytest.mark.parametrize("mistake", ENDS)
def test_a_mistake_at_the_end_is_named(mistake: str) -> None:
    found = probed(mistake)
    says, seen = ENDS[mistake]
    [wrong] = [step for step in found.steps if step.result == "wrong"]
    assert wrong == found.steps[-1]
    assert (wrong.name, wrong.expected) == ("end of input", ("nothing, and an end with status 0",))
    holds(wrong, says, seen, "end with status 0, and write nothing")
    assert not found.right


@pytest.mark.parametrize("mistake", REMARKS)
def test_what_is_odd_is_a_remark(mistake: str) -> None:
    name, says, seen, remedy = REMARKS[mistake]
    found = probed(mistake)
    first, *_ = [step for step in found.steps if step.result == "remark"]
    assert first.name == name
    holds(first, says, seen, remedy)
    assert found.right
    assert names(found)[-1] == "end of input"


def test_a_right_program(command: Command) -> None:
    ended = command("probe", mistaken("right"))
    assert (ended.status, ended.err) == (0, "")
    *_, last = ended.out.splitlines()
    assert last == "It asks 158 of the 1905 core cases."
    assert f"    grucible check --runtime '{mistaken('right')}'" in ended.out
    assert "WRONG" not in ended.out
    assert "remark" not in ended.out


def test_the_example_in_c(tmp_path: Path, command: Command) -> None:
    ended = command("probe", in_c(tmp_path))
    assert (ended.status, ended.err) == (0, "")
    assert "remark" not in ended.out
    assert (
        "ok      openvino.GRUSequence-5 float64: answered with the 720 bytes of Y and Ho"
        in ended.out
    )
    assert "It asks 287 of the 1905 core cases." in ended.out
    assert "        59  operator openvino.GRUSequence-5\\n\n" in ended.out  # what is sent


def test_a_wrong_one_has_status_1_and_says_where_to_read(command: Command) -> None:
    ended = command("probe", mistaken("no_ok"))
    assert ended.status == 1
    assert "WRONG   first question: the line `ok` is missing before the output lines\n" in ended.out
    assert "the protocol is not right: 1 step wrong\n" in ended.out
    assert "check/protocol/README.md" in ended.out
    assert "grucible check" not in ended.out


@pytest.mark.parametrize(
    "mistake", ["escapes", "exit_3", "all_errors", "flood", "text_mode", "one_question"]
)
def test_what_is_printed_is_short_and_harmless(mistake: str, command: Command) -> None:
    ended = command("probe", mistaken(mistake), "--timeout", SHORT)
    assert ended.status == 1
    assert len(ended.out.splitlines()) < 80
    for line in ended.out.splitlines():
        assert line.isprintable()
        assert len(line) <= 80 or line.lstrip().startswith("(openvino.")  # an id is not torn apart
    assert all(line.isprintable() for line in ended.err.splitlines())


def test_what_hangs_is_ended(tmp_path: Path, command: Command) -> None:
    """With what it started, though it ignores being asked to end."""
    program = tmp_path / "hangs.sh"
    program.write_text("#!/bin/sh\ntrap '' TERM\nexec python3 -c 'import time; time.sleep(1000)'\n")
    program.chmod(0o755)
    ended = command("probe", f"exec: {program}", "--timeout", SHORT)
    assert ended.status == 1
    assert f"no hello in {SHORT} s" in ended.out


def test_of_a_flood_the_beginning_is_kept() -> None:
    talk = conversation.Conversation(["yes", "x" * 60], "yes", 10.0)
    with contextlib.closing(talk):
        heard = talk.greet()
    assert (heard.how, heard.data[:3], len(heard.data)) == ("broken", b"xxx", MOST_RECORDED)


NOT_STARTED = {
    "missing": ("{}/none", "No such file or directory", "was it built"),
    "not on the path": ("no_such_program", "No such file or directory", "on the PATH"),
    "source": ("{}/gru.c", "it is a source", "build it: cc -O2 -o gru {}/gru.c -lm"),
    "script": ("{}/gru.mjs", "Permission denied", "exec: node {}/gru.mjs"),
    "not executable": ("{}/plain", "Permission denied", "chmod +x {}/plain"),
    "directory": ("{}", "it is a directory", "the program in it"),
    "no interpreter": ("{}/lost", "No such file or directory", "its interpreter or loader is not"),
    "other machine": ("{}/alien", "Exec format error", "another machine"),
}


@pytest.mark.parametrize("name", NOT_STARTED)
def test_what_does_not_start_says_why(name: str, tmp_path: Path) -> None:
    for file, mode in (("gru.c", 0o644), ("gru.mjs", 0o644), ("plain", 0o644), ("lost", 0o755), ("alien", 0o755)):  # fmt: skip
        (tmp_path / file).write_bytes(b"#!/no/such/thing\n" if file == "lost" else b"\x7fELF\n")
        (tmp_path / file).chmod(mode)
    program, says, remedy = (part.format(tmp_path) for part in NOT_STARTED[name])
    [step] = probe(f"exec: {program}").steps
    assert (step.name, step.result) == ("start", "wrong")
    holds(step, says, "", remedy)


def test_a_program_beside_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_gru").write_text("")
    monkeypatch.chdir(tmp_path)
    [step] = probe("exec: my_gru").steps
    assert step.remedy == "it is not on the PATH, but in this directory: exec: ./my_gru"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["openvino"], "'openvino' names none; expected 'exec: COMMAND'"),
        ([""], "expected 'exec: COMMAND'"),
        (["exec:"], "expected a program after exec:"),
        (["exec: 'unclosed"], "no closing quotation"),
        (["exec:", "./gru"], "in quotes, as one word: 'exec: ./gru'"),
        ([], "Missing argument"),
        (["exec: true", "--timeout", "0"], "--timeout"),
    ],
)
def test_bad_usage(words: list[str], says: str, command: Command) -> None:
    bad_usage(command("probe", *words), says)


def test_a_python_runtime_is_no_program() -> None:
    with pytest.raises(GrucibleError, match="a probe talks to a program"):
        probe("my_gru:run")


def test_steps_are_told_as_they_are_taken() -> None:
    told: list[Step] = []
    assert probe(mistaken("right"), tell=told.append).steps == tuple(told)
    assert [step.name for step in told] == [
        "start", "hello", FIRST, "other sizes", "asked again", "unknown lines", "end of input",
    ]  # fmt: skip


def test_each_operator_and_dtype_is_asked_until_three_are_wrong(tmp_path: Path) -> None:
    """It names no operator: every one is asked, and all but the first get no answer."""
    program = tmp_path / "float32_cell.py"
    source = (HERE / "mistaken.py").read_text()
    program.write_text(source.replace("operator openvino.GRUSequence-5\\ndtype float32\\n", "").replace(
        "def right(q: Question) -> None:\n",
        "def right(q: Question) -> None:\n"
        "    if 'operator openvino.GRUCell-3' not in q.lines or 'dtype float32' not in q.lines:\n"
        "        sys.exit(4)\n",
    ))  # fmt: skip
    found = probe(f"exec: {sys.executable} {program} right")
    wrong = [step for step in found.steps if step.result == "wrong"]
    assert [step.name for step in wrong] == [
        f"openvino.GRUCell-3 {dtype}" for dtype in ("float16", "bfloat16", "float64")
    ]
    assert len(wrong) == MOST_WRONG
    assert all("(exit status 4)" in step.said for step in wrong)


def test_rows_of_bytes() -> None:
    data = b"ok\r\n\x1b[2J\\\n" + bytes(range(20)) + b"late\n"
    assert dumped(data) == (
        r"     0  ok\r\n",
        r"     4  \x1b[2J\\n",
        "    10  00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f  ................",
        "    26  10 11 12 13                                      ....",
        r"    30  late\n",
    )
    many = dumped(b"line\n" * 100, 2, 1)
    assert many == (
        r"     0  line\n",
        r"     5  line\n",
        "     …  97 rows are not shown",
        r"   495  line\n",
    )
    assert differing(b"a" * 40, b"a" * 40 + b"\0") == (
        "before:",
        r"    32  aaaaaaaa",
        "now:",
        *dumped(b"a" * 8 + b"\0", at=32),
    )
