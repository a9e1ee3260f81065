"""`grucible ask` and the answers to it: the protocol where no pipe leads to the program."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from grucible import load_vectors
from grucible.check.protocol.header import hello_lines, question_parts

from .conftest import Command
from .made import make_block, name_of, write_vectors
from .test_exec import built

HELLO = b"grucible 1\nname kernel\nversion 3\nend\n"
ORDER = ["d-bfloat16", "a-good", "b-bad", "c-good", "n-bad"]
"""The cases of the cell file of `some_vectors`, in the order of the file."""
Change = Callable[[list[bytes]], object]


@pytest.fixture
def asked(some_vectors: Path, tmp_path: Path, command: Command) -> Path:
    """The questions of `some_vectors`, in a directory."""
    assert command("ask", some_vectors, "-o", tmp_path / "q").status == 0
    return tmp_path / "q"


@pytest.fixture
def answered(some_vectors: Path, asked: Path) -> Path:
    """The same with the right answers."""
    for questions in asked.rglob("*.questions"):
        answers_of(questions).write_bytes(b"".join(right(questions, some_vectors)))
    return asked


def answers_of(questions: Path) -> Path:
    return questions.with_suffix(".answers")


def right(questions: Path, vectors: Path) -> list[bytes]:
    """A hello, and the right answer to each question; written as the page says, by nothing of ours."""
    expected = {case.id: case.answer.outputs for case in load_vectors(vectors)}
    said, left = [HELLO], questions.read_bytes().partition(b"end\n")[2]
    while left:
        head, _, left = left.partition(b"\nend\n")
        lines = head.decode().split("\n")
        for line in lines:
            if line.startswith("input "):
                left = left[int(line.split()[-1]) :]
        outputs = [line for line in lines if line.startswith("output ")]
        data = [expected[lines[0].split()[1]][line.split()[1]].tobytes() for line in outputs]
        said.append("\n".join(["ok", *outputs, "end", ""]).encode() + b"".join(data))
    return said


def change(answered: Path, vectors: Path, how: Change) -> None:
    """Change the messages of the answers to the cell file."""
    messages = right(answered / "cell.questions", vectors)
    how(messages)
    (answered / "cell.answers").write_bytes(b"".join(messages))


def found(command: Command, vectors: Path, answered: Path) -> dict[str, tuple[str, str]]:
    """The verdict and the message of each case of the cell file."""
    ended = command("check", vectors, "--outputs", answered, "--json")
    assert ended.err == ""
    cases = [case for case in ended.report["cases"] if "GRUCell" in case["id"]]
    assert [name_of(case["id"]) for case in cases] == ORDER
    return {name_of(case["id"]): (case["verdict"], case["message"]) for case in cases}


@pytest.mark.parametrize(
    ("name", "select"),
    [("gru.mjs", "openvino.GRU*/core/float??/*"), ("gru.c", "openvino.GRUSequence-5/*")],
)
def test_a_program_that_reads_files_is_judged_as_through_pipes(
    name: str, select: str, tmp_path: Path, command: Command
) -> None:
    """An example that is compiled and one that is not, as they are; the report is the same in every figure."""
    runtime = built(name, tmp_path, quickly=True)
    out = tmp_path / "q"
    selected = ["--select", select]
    assert command("ask", "-o", out, *selected).status == 0
    for questions in sorted(out.rglob("*.questions")):
        with questions.open("rb") as asked, answers_of(questions).open("wb") as answers:
            words = shlex.split(runtime.removeprefix("exec:"))
            subprocess.run(words, stdin=asked, stdout=answers, check=True)
    judged = command("check", "--outputs", out, "--json", *selected)
    through_pipes = command("check", "--runtime", runtime, "--json", *selected)
    right = 484 if name == "gru.c" else 160  # of gru.c all that are float32 or float64
    assert judged.report["summary"]["passed"] == right
    assert through_pipes.report["asked_again"] > 0
    assert judged == through_pipes.asked_once()


def test_the_lines_that_are_printed_ask_a_program(
    some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    """Also one under a debugger, for which the name of a program stands, too."""
    said = command("ask", some_vectors / "cell.h5", "-o", tmp_path / "my q").out
    questions, answers = tmp_path / "my q" / "cell.questions", tmp_path / "my q" / "cell.answers"
    [ask] = re.findall(r"^  (PROGRAM < .*\\\n.*)", said, re.M)
    subprocess.run(ask.replace("PROGRAM", "cat"), shell=True, check=True)
    assert answers.read_bytes() == questions.read_bytes()
    [line] = re.findall("^  (gdb .*)", said, re.M)
    program, *run = shlex.split(line)[1:]
    assert (program, run) == ("PROGRAM", ["-ex", f"run < {shlex.quote(str(questions))}"])


def test_what_is_written_is_the_judge_s_side_of_the_protocol(
    some_vectors: Path, asked: Path
) -> None:
    assert sorted(str(p.relative_to(asked)) for p in asked.rglob("*") if p.is_file()) == [
        "cell.questions", "deep/seq.questions",
    ]  # fmt: skip
    for name in ("cell", "deep/seq"):
        sent = [hello_lines()]
        for case in load_vectors(some_vectors / f"{name}.h5"):
            sent += question_parts(case.question)
        assert (asked / f"{name}.questions").read_bytes() == b"".join(sent)


def test_a_wrong_answer_is_one_case_s_and_diagnosed(
    some_vectors: Path, answered: Path, command: Command
) -> None:
    change(answered, some_vectors, lambda said: said.__setitem__(3, said[3][:-4] + b"\0\0\0\x40"))
    verdicts = {
        name: verdict for name, (verdict, _) in found(command, some_vectors, answered).items()
    }
    assert verdicts == {name: "failed" if name == "b-bad" else "passed" for name in ORDER}
    assert "diagnosis of 1 failure" in command("check", some_vectors, "--outputs", answered).out


def test_answers_other_than_ok(some_vectors: Path, answered: Path, command: Command) -> None:
    def other(said: list[bytes]) -> None:
        said[1] = b"unsupported no bfloat16 on this board\nend\n"
        said[3] = b"error no\x1b[2J memory\nmood bad\nend\n"
        said[4] = b"ok\nquestion openvino.GRUCell-3/made/float32/c-good\n" + said[4][3:]

    change(answered, some_vectors, other)
    assert found(command, some_vectors, answered) == {
        "d-bfloat16": ("unsupported", "no bfloat16 on this board"),
        "a-good": ("passed", ""),
        "b-bad": ("error", "no\x1b[2J memory"),
        "c-good": ("passed", ""),
        "n-bad": ("passed", ""),
    }


def test_what_its_hello_does_not_name_is_unsupported(
    some_vectors: Path, answered: Path, command: Command
) -> None:
    named = HELLO.replace(b"end", b"dtype float64\nend")
    change(answered, some_vectors, lambda said: said.__setitem__(0, named))
    assert set(found(command, some_vectors, answered).values()) == {
        ("unsupported", f"no {dtype}: its hello names float64") for dtype in ("bfloat16", "float32")
    }


CUT = "the file ends in the middle of a message"
MALFORMED: dict[str, tuple[bytes, str]] = {
    "cut in the bytes": (b"ok\noutput Ho float32 2x2 16\nend\n123456789012345", CUT),
    "control characters": (b"\x1b[2J\nend\n", "it wrote '\\x1b[2J'; expected ok, unsupported or error"),
    "an endless line": (b"x" * (1 << 20), "a line is longer than 8192 bytes"),
    "huge": (
        b"ok\noutput Ho float32 1000000000000000 4000000000000000\nend\n",
        "it announced 4000000000000000 bytes; expected 16",
    ),
    "twice": (
        b"ok\noutput Ho float32 1 4\noutput Ho float32 1 4\nend\n12345678",
        "it announced an output twice: Ho, Ho",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", MALFORMED)
def test_answers_that_cannot_be_followed(
    what: str, some_vectors: Path, answered: Path, command: Command
) -> None:
    """It is the finding of the case at hand; those before count, those after are missing."""
    data, says = MALFORMED[what]
    change(answered, some_vectors, lambda said: said.__setitem__(slice(3, None), [data]))
    error = ("error", f"the answers break the protocol: {says} (number 3 in cell.answers)")
    place = f"{answered / 'cell.answers'} cannot be followed after 2 answers"
    missing = ("missing", f"{place}: see openvino.GRUCell-3/made/float32/b-bad")
    assert found(command, some_vectors, answered) == {
        "d-bfloat16": ("passed", ""),
        "a-good": ("passed", ""),
        "b-bad": error,
        "c-good": missing,
        "n-bad": missing,
    }


ANEW = "; write the questions again with grucible ask, and have them answered anew\n"
REFUSED: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "one answer more": ("answers", lambda b: b + b"error x\nend\n", "more stands after the answers to all 5 questions; were they made for others?\n"),
    "an answer to another": ("answers", lambda b: b.replace(b"ok\n", b"ok\nquestion x/y\n", 1), "is not made for these questions: it answered 'x/y'; the question is 'openvino.GRUCell-3/made/bfloat16/d-bfloat16' (number 1 in cell.answers)\n"),
    "nothing": ("answers", lambda _: b"", "the file ends in the middle of a message\n"),
    "unusable": ("answers", lambda _: b"unusable no\x1b licence\nend\n", "no\\x1b licence\n"),
    "an input changed": ("questions", lambda b: b[:-1] + b"\x11", f"n-bad is not asked as the vectors ask it{ANEW}"),
    "an attribute changed": ("questions", lambda b: b.replace(b"float 0.5", b"float 0.7", 1), f"d-bfloat16 is not asked as the vectors ask it{ANEW}"),
    "cut short": ("questions", lambda b: b[:-1], f"n-bad is not asked as the vectors ask it{ANEW}"),
    "another case": ("questions", lambda b: b.replace(b"/c-good", b"/c-evil"), f"asks what the vectors do not ask{ANEW}"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_belong_together_is_refused(
    what: str, some_vectors: Path, answered: Path, command: Command
) -> None:
    kind, changed, says = REFUSED[what]
    path = answered / f"cell.{kind}"
    before = path.read_bytes()
    path.write_bytes(changed(before))
    assert path.read_bytes() != before
    said = command("check", some_vectors, "--outputs", answered).said_in_one_line()
    assert said.startswith(f"grucible: {path}: ")
    assert says in said


def test_answers_to_other_numbers_are_not_taken(tmp_path: Path, command: Command) -> None:
    """Vectors that were drawn anew, of the same names and shapes."""
    old, new, out = (tmp_path / name for name in ("old.h5", "new.h5", "q"))
    write_vectors(old, make_block(["a"]))
    key, block = make_block(["a", "b"])
    write_vectors(new, (key, block.rows(np.array([True, False]))))
    assert (old.read_bytes()) != new.read_bytes()
    command("ask", old, "-o", out)
    answers_of(out / "old.questions").write_bytes(b"".join(right(out / "old.questions", old)))
    for file in out.iterdir():
        file.rename(out / f"new{file.suffix}")
    said = command("check", new, "--outputs", out).said_in_one_line()
    assert "made/float32/a is not asked as the vectors ask it" in said


def test_new_questions_do_not_get_old_answers(
    some_vectors: Path, answered: Path, command: Command
) -> None:
    """Those that are the same may be written again."""
    questions = answered / "cell.questions"
    before = questions.read_bytes(), answers_of(questions).read_bytes()
    assert command("ask", some_vectors, "-o", answered).status == 0
    said = command("ask", some_vectors, "-o", answered, "--select", "*/[ab]-*").said_in_one_line()
    assert f"{answers_of(questions)}: is there already, and answers other questions" in said
    assert (questions.read_bytes(), answers_of(questions).read_bytes()) == before
