"""The protocol: questions cross it whole, and nothing that a program says breaks the judge or passes."""

from __future__ import annotations

import contextlib
import io
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shipped import core_cases

from grucible import Question
from grucible.cases.dtypes import FLOAT_TYPES, INTEGER_TYPES, numpy_dtype
from grucible.cases.question import TensorType
from grucible.check.observed import isolated
from grucible.check.observed.isolated import IsolatedRuntime
from grucible.check.protocol.header import (
    Announced,
    Fault,
    ProtocolError,
    Reply,
    announced,
    answer_head,
    answer_parts,
    header_lines,
    question_parts,
    read_answer,
    read_question,
)

from .programs import PROGRAMS

HERE = Path(__file__).parent


def taken(messages: bytes) -> tuple[list[str], Callable[[int], bytes]]:
    """The lines of a header, and what reads the bytes after it."""
    file = io.BytesIO(messages)
    return header_lines(lambda: file.readline()[:-1]), file.read


def test_every_core_question_crosses_whole() -> None:
    """With its attributes' types, the sign of a zero, infinities, bfloat16 and lengths."""
    for asked in (case.question for case in core_cases()):
        found = read_question(*taken(b"".join(question_parts(asked))))
        for name in ("id", "operator", "dtype", "outputs"):
            assert getattr(found, name) == getattr(asked, name)
        assert sorted(map(repr, found.given.items())) == sorted(map(repr, asked.given.items()))
        assert list(found.inputs) == list(asked.inputs)
        for name, array in found.inputs.items():
            wanted = asked.inputs[name]
            assert (array.dtype, array.shape) == (wanted.dtype, wanted.shape)
            assert array.tobytes() == wanted.tobytes()
            assert array.flags.writeable


def test_an_answer_is_text_and_bytes() -> None:
    ho = np.arange(6, dtype="f4").reshape(2, 3)
    sent = b"".join(answer_parts(Reply("ok", {"Ho": ho})))
    assert sent == b"ok\noutput Ho float32 2x3 24\nend\n" + ho.astype("<f4").tobytes()
    question = core_cases()[0].question
    assert (
        read_answer(*taken(sent)[:1], question, taken(sent)[1]).outputs["Ho"].tolist()
        == ho.tolist()
    )
    fault = Fault("malformed", ("line 1", "line 2"))
    changed = tuple(question.inputs)[:2]
    for reply in (
        Reply("unsupported", {}, "no float16"),
        Reply("error", {}, "why", fault, changed),
    ):
        lines, read = taken(b"".join(answer_parts(reply)))
        assert read_answer(lines, question, read) == reply
    assert answer_parts(Reply("error", {}, "two\nlines")) == [b"error two lines\nend\n"]
    assert len(answer_parts(Reply("error", {}, "é" * 100_000))[0]) < 8192


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ("ok", "to one question"),
        ("error", "to one question"),
        ("question x", "it answered 'x'; the"),
    ],
)
def test_an_answer_is_one_and_to_this_question(second: str, says: str) -> None:
    with pytest.raises(ProtocolError, match=says):
        answer_head(["unsupported", second], core_cases()[0].question)


@given(
    st.sampled_from([*FLOAT_TYPES, *INTEGER_TYPES]),
    st.lists(st.integers(0, 99), max_size=8),
    st.text(max_size=40),
)
def test_a_line_announces_a_tensor_or_is_refused(dtype: str, shape: list[int], text: str) -> None:
    wanted = TensorType(tuple(shape), numpy_dtype(dtype))
    line = f"Ho {dtype} {'x'.join(map(str, shape)) or 'scalar'} {wanted.nbytes}"
    assert announced(line) == Announced("Ho", wanted, wanted.nbytes)
    others = (f"{line}0", f"{line} ", line.replace("Ho ", "Ho  "), line.replace("x", "x0"))
    for one in (*others, text, f"Ho float32 {text} 16", f"Ho float32 2x2 {text}"):
        with contextlib.suppress(ProtocolError):
            name, (axes, kind), size = announced(one)
            assert one == f"{name} {kind} {'x'.join(map(str, axes)) or 'scalar'} {size}"
            assert size == math.prod(axes) * kind.itemsize


@pytest.mark.parametrize("line", ["2_0 80", "²x2 16", "+2x3 24", f"{'9' * 5000} 16", "02x3 24", "x 4",
                                  "2x 8", "1x1x1x1x1x1x1x1x1 4"])  # fmt: skip
def test_what_int_takes_for_a_number_is_none(line: str) -> None:
    with pytest.raises(ProtocolError, match="expected NAME DTYPE SHAPE BYTES"):
        announced(f"Ho float32 {line}")


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


SAYS = {
    "prose": "the protocol: it wrote 'Hello, world'; expected ok, unsupported or error",
    "huge": "announced 4000000000000000 bytes; expected 16",
    "half_the_bytes_and_gone": "the runtime ended its process (exit status 0)",
    "half_the_bytes_and_asleep": "no answer in 1.5 s; stopped",
    "crash_after_fork": "the runtime crashed (SIGABRT)",
    "real_time_signal": "the runtime crashed (signal 39)",
    "close_and_sleep": "the runtime closed its connection, and was stopped",
    "more_bytes": "after its answer it wrote",
    "flood_of_empty_lines": "a header is longer than 65536 bytes",
    "shout_and_die": "out of cheese",
}


def good(reply: Reply) -> bool:
    return reply.status == "ok" and list(reply.outputs) == ["Ho"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_that_a_program_does_breaks_the_judge(
    name: str, program: IsolatedRuntime, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is a finding in one printable line, and the next question is answered."""
    assert good(program.answer(question_called("first")))
    bad = program.answer(question_called(f"bad-{name}"))
    assert good(program.answer(question_called("last")))
    if name == "flood_of_complaints":  # it answers, too
        assert good(bad)
    elif bad.status == "ok":  # what is announced well is compared with what was asked for later
        found = {(n, a.dtype, a.shape) for n, a in bad.outputs.items()}
        assert found != {("Ho", np.dtype("f4"), (2, 2))}
    else:
        assert bad.status in ("error", "unsupported")
        assert bad.message == " ".join(bad.message.split())
        assert 0 < len(bad.message) < 5000
        assert SAYS.get(name, "") in bad.message
    assert len(capfd.readouterr().err) < 40_000
