"""The protocol: questions cross it whole, and nothing that a program says breaks the judge or passes."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shipped import core_cases

from grucible import Question
from grucible.cases.dtypes import numpy_dtype
from grucible.cases.question import TensorType
from grucible.check.observed import isolated
from grucible.check.observed.isolated import IsolatedRuntime
from grucible.check.observed.source import Reply
from grucible.check.protocol.header import (
    END,
    Announced,
    OtherQuestion,
    ProtocolError,
    announced,
    answer_head,
    answer_parts,
    array_of,
    question_of,
    question_parts,
)

from .programs import PROGRAMS

HERE = Path(__file__).parent
HARMLESS = ("flood_of_complaints",)
"""They answer, whatever else they do."""


def core_questions() -> list[Question]:
    return [case.question for case in core_cases()]


def test_every_core_question_crosses_whole() -> None:
    """With its attributes' types, the sign of a zero, infinities, bfloat16 and lengths."""
    for question in core_questions():
        head, *data = question_parts(question)
        *lines, last = head.decode().removesuffix("\n").split("\n")
        assert last == END
        found, inputs = question_of(lines)
        assert (found.id, found.operator, found.dtype) == (
            question.id, question.operator, question.dtype,
        )  # fmt: skip
        assert {name: repr(value) for name, value in found.given.items()} == {
            name: repr(value)
            for name, value in question.given.items()  # 1 is not True, nor 1.0
        }
        assert found.outputs == question.outputs
        assert [one.name for one in inputs] == list(question.inputs)
        for one, part in zip(inputs, data, strict=True):
            array = array_of(one, part)
            wanted = question.inputs[one.name]
            assert (array.dtype, array.shape) == (wanted.dtype, wanted.shape)
            assert array.tobytes() == wanted.tobytes()
            assert array.flags.writeable


def test_an_answer_is_text_and_bytes() -> None:
    ho = np.arange(6, dtype=">f4").astype("f4").reshape(2, 3)
    assert b"".join(answer_parts("ok", {"Ho": ho})) == (
        b"ok\noutput Ho float32 2x3 24\nend\n" + ho.astype("<f4").tobytes()
    )
    assert answer_parts("unsupported", {}, "no float16") == [b"unsupported no float16\nend\n"]
    assert answer_parts("error", {}, "two\nlines") == [b"error two lines\nend\n"]
    assert len(answer_parts("error", {}, "é" * 100_000)[0]) < 8192


@pytest.mark.parametrize("second", ["ok", "unsupported too", "error"])
def test_an_answer_is_of_one_kind(second: str) -> None:
    question = core_cases()[0].question
    with pytest.raises(ProtocolError, match="to one question; expected one of them"):
        answer_head(["ok", "output Ho float32 1", second], question)


DTYPES = ("float16", "bfloat16", "float32", "float64", "int32", "int64")
BYTES = dict(zip(DTYPES, (2, 2, 4, 8, 4, 8), strict=True))


@given(st.sampled_from(DTYPES), st.lists(st.integers(0, 99), max_size=8))
def test_a_tensor_is_what_its_line_announces(dtype: str, shape: list[int]) -> None:
    size = math.prod(shape) * BYTES[dtype]
    line = f"Ho {dtype} {'x'.join(map(str, shape)) or 'scalar'} {size}"
    found = announced(line)
    assert found == Announced("Ho", TensorType(tuple(shape), numpy_dtype(dtype)), size)
    for other in (f"{line}0", f"{line} ", line.replace("Ho ", "Ho  "), line.replace("x", "x0")):
        if other != line:
            with pytest.raises(ProtocolError, match="expected NAME DTYPE SHAPE BYTES"):
                announced(other)


@given(st.text(max_size=40))
def test_a_line_announces_a_tensor_or_is_refused(line: str) -> None:
    for one in (line, f"Ho float32 {line} 16", f"Ho float32 2x2 {line}"):
        with contextlib.suppress(ProtocolError):
            name, (shape, dtype), size = announced(one)
            assert one == f"{name} {dtype} {'x'.join(map(str, shape)) or 'scalar'} {size}"
            assert size == math.prod(shape) * dtype.itemsize


@pytest.mark.parametrize("line", ["2_0 80", "²x2 16", "+2x3 24", "2e0x2 16", f"{'9' * 5000} 16",
                                  "02x3 24", "x 4", "2x 8", "1x1x1x1x1x1x1x1x1 4"])  # fmt: skip
def test_what_int_takes_for_a_number_is_none(line: str) -> None:
    with pytest.raises(ProtocolError, match="expected NAME DTYPE SHAPE BYTES"):
        announced(f"Ho float32 {line}")


def test_an_answer_to_another_question_is_refused() -> None:
    question = core_cases()[0].question
    with pytest.raises(OtherQuestion, match="it answered 'x'; the question is"):
        answer_head(["unsupported", "question x"], question)


def question_called(name: str) -> Question:
    shape = (2, 2)
    x = np.ones(shape, np.float32)
    return Question(
        f"openvino.GRUCell-3/made/float32/{name}", "openvino.GRUCell-3", "float32",
        {"hidden_size": 2},
        {"X": x, "initial_hidden_state": x, "W": np.ones((6, 2), np.float32),
         "R": np.ones((6, 2), np.float32), "B": np.zeros(6, np.float32)},
        {"Ho": TensorType(shape, np.dtype(np.float32))},
    )  # fmt: skip


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[IsolatedRuntime]:
    command = [sys.executable, "-S", str(HERE / "programs.py")]
    monkeypatch.setattr(isolated, "command_of", lambda _: command)
    made = IsolatedRuntime("program", 1.5)
    yield made
    made.close()


def good(reply: Reply) -> bool:
    return reply.status == "ok" and list(reply.outputs) == ["Ho"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_that_a_program_does_breaks_the_judge(
    name: str, program: IsolatedRuntime, capfd: pytest.CaptureFixture[str]
) -> None:
    """In time, in one printable line, and the next question is answered."""
    assert good(program.answer(question_called("first")))
    start = time.monotonic()
    bad = program.answer(question_called(f"bad-{name}"))
    assert time.monotonic() - start < 12
    assert good(program.answer(question_called("last")))
    if name in HARMLESS:
        assert good(bad)
    elif bad.status == "ok":  # what is announced well is held to what was asked for later
        assert {(n, a.dtype, a.shape) for n, a in bad.outputs.items()} != {
            ("Ho", np.dtype("f4"), (2, 2))
        }
    else:
        assert bad.status in ("error", "unsupported")
        assert bad.message == " ".join(bad.message.split())
        assert 0 < len(bad.message) < 5000
    assert len(capfd.readouterr().err) < 40_000


def test_what_it_did_is_named(program: IsolatedRuntime) -> None:
    def said(name: str) -> str:
        return program.answer(question_called(f"bad-{name}")).message

    assert said("prose") == (
        "the runtime broke the protocol: it wrote 'Hello, world'; expected ok, unsupported or error"
    )
    assert said("huge").endswith("announced 4000000000000000 bytes; expected 16")
    assert said("half_the_bytes_and_gone") == "the runtime ended its process (exit status 0)"
    assert said("half_the_bytes_and_asleep") == "no answer in 1.5 s; stopped"
    assert said("crash_after_fork") == "the runtime crashed (SIGABRT)"
    assert said("real_time_signal") == "the runtime crashed (signal 39)"
    assert said("close_and_sleep") == "the runtime closed its connection, and was stopped"
    assert "after its answer it wrote" in said("more_bytes")
    assert said("flood_of_empty_lines").endswith("a header is longer than 65536 bytes")
    assert "out of cheese" in said("shout_and_die")
