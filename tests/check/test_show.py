"""`grucible show`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from grucible import load_vectors

from .conftest import HERE, Command, bad_usage
from .made import CELL, SEQUENCE, make_block, write_vectors

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
WRONG = f"{HERE / 'misbehaving.py'}:nan"
pytestmark = pytest.mark.usefixtures("in_this_process")


def test_show_by_id(some_vectors: Path, command: Command) -> None:
    ended = command("show", some_vectors, "*/s-zero")
    lines = ended.out.splitlines()
    assert ended.status == 0
    assert lines[0] == f"{SEQUENCE}/made/float32/s-zero"
    assert lines[1] == f"  in {some_vectors / 'deep' / 'seq.h5'}"
    assert lines[2] == "  openvino.GRUSequence-5, float32, tier ambiguous"
    text = " ".join(ended.out.split())
    for part in (
        "zt = sigmoid(clip[-0.5, 0.5]", "reverse: zt = ", "clip 0.5", "X: float32 (2, 3, 4)",
        "linear_before_reset absent (default false)", "sequence_lengths: int64 (2,)",
        "also accepted, reading len-zero.initial-state: ",
    ):  # fmt: skip
        assert part in text


def test_show_the_other_way_round(some_vectors: Path, command: Command) -> None:
    assert command("show", "*/d-*", some_vectors) == command("show", some_vectors, "*/d-*")


@pytest.mark.parametrize(
    ("asked", "new_gate"),
    [
        ("after", "r[t, ...] * (matmul(W_hn, h[t-1, ...]) + b_hn) + b_in"),
        ("after0", "r[t, ...] * matmul(W_hn, h[t-1, ...]) + b_hn + b_in"),
    ],
)
def test_bnnsgraph_is_shown_in_the_words_of_its_page(
    asked: str, new_gate: str, command: Command
) -> None:
    """Gates r, n, z; W_in, b_hn: as the page has them, and no name of ONNX's or OpenVINO's beside them."""
    text = command("show", f"bnnsgraph.gru/core/float32/forward-{asked}-sigmoid-tanh-sequence").out
    said = [line.strip() for line in text.split("asks for\n")[1].split("\n\n")[0].splitlines()]
    equations = {line.partition(" = ")[0]: line.partition(" = ")[2] for line in said[:4]}
    for gate in "zr":
        terms = {f"matmul(W_i{gate}, x[t, ...])", f"matmul(W_h{gate}, h[t-1, ...])"}
        terms |= {f"b_i{gate}", f"b_h{gate}"}
        found = equations[f"{gate}[t, ...]"].removeprefix("sigmoid(").removesuffix(")")
        assert set(found.split(" + ")) == terms
    assert equations["n[t, ...]"] == f"tanh(matmul(W_in, x[t, ...]) + {new_gate})"
    assert equations["h[t, ...]"] == "(1 - z[t, ...]) * n[t, ...] + z[t, ...] * h[t-1, ...]"
    stacked = "gates are stacked r, n, z; biases b_hr, b_hn, b_hz, b_ir, b_in, b_iz"
    assert said[4:] == [stacked]


def test_an_id_that_is_a_glob_of_others_is_an_id(tmp_path: Path, command: Command) -> None:
    write_vectors(tmp_path / "cell.h5", make_block(["a", "ab", "a*"]))
    asked = f"{CELL}/made/float32/a*"
    assert command("show", tmp_path / "cell.h5", asked).out.startswith(f"{asked}\n")


def test_show_shows_every_number_when_asked(tmp_path: Path, command: Command) -> None:
    write_vectors(tmp_path / "cell.h5", make_block(["a"]))
    case = next(iter(load_vectors(tmp_path / "cell.h5")))
    text = command("show", tmp_path / "cell.h5", "*/a", "--full").out
    numbers = {np.float32(n) for n in re.findall(r"-?\d+\.\d+(?:e[-+]\d+)?", text)}
    for array in (*case.inputs.values(), *case.answer.outputs.values()):
        assert set(array.ravel().tolist()) <= {float(number) for number in numbers}


@pytest.mark.parametrize("wanted", ["*/x-*", "*/a-goo", "*/A-GOOD", "a-good"])
def test_show_nothing(wanted: str, some_vectors: Path, command: Command) -> None:
    said = command("show", some_vectors, wanted).said_in_one_line()
    assert f"vectors is called {wanted!r}" in said


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("onnx.GRU14/plain/float32/default", "onnx.GRU-14/plain/float32/default"),
        ("onnx.GRU-14/plan/float32/default", "onnx.GRU-14/plain/float32/default"),
        ("onnx.GRU-14/plain/float32/defualt", "onnx.GRU-14/plain/float32/default"),
        ("onnx.GRU-14/plain/float32/clip", "onnx.GRU-14/plain/float32/clip0.5"),
        ("onnx.GRU-14/plain/fp32/default", "onnx.GRU-14/plain/float32/default"),
        ("onnx.GRU-14/plan/fp32/defualt", "onnx.GRU-14/plain/float32/default"),
    ],
)
def test_a_mistaken_id_is_answered_with_the_nearest(
    wanted: str, meant: str, command: Command
) -> None:
    said = command("show", wanted).said_in_one_line().rstrip()
    assert said.endswith(f"is called {wanted!r} (did you mean {meant!r}?)")


@pytest.mark.parametrize("words", [("show",), ("trace",), ("shrink", "--runtime", "x:y")])
def test_a_word_that_is_no_id_is_answered_in_a_line(words: Sequence[str], command: Command) -> None:
    said = command(*words, "nosuch").said_in_one_line()
    assert said == (
        "grucible: no case of grucible's case specs is called 'nosuch'; an id has four parts, as "
        "onnx.GRU-14/plain/float32/default has\n"
    )


def test_a_shrunk_case_is_looked_for_in_its_file(command: Command) -> None:
    said = command("show", "onnx.GRU-14/shrunk/float32/fuzz.0-6346").said_in_one_line()
    assert said.endswith("; shrunk cases are in the file that was written: name it before the id\n")


@pytest.mark.parametrize("words", [("show",), ("trace",), ("shrink", "--runtime", "x:y")])
def test_a_function_and_a_missing_file_are_no_cases(words: Sequence[str], command: Command) -> None:
    said = command(*words, "mine:run", "onnx.GRU-14/plain/float32/lbr1").said_in_one_line()
    assert said.startswith("grucible: mine:run: is a function; to judge it: --runtime mine:run; ")
    said = command(*words, "nosuch.h5").said_in_one_line()
    assert said.startswith("grucible: nosuch.h5: no such file or directory; make vectors with: ")


def test_an_id_is_no_place_of_vectors(command: Command) -> None:
    one, other = "onnx.GRU-14/plain/float32/lbr1", "onnx.GRU-14/plain/float32/default"
    for words in (["show"], ["trace"], ["shrink", "--runtime", "x:y"]):
        said = command(*words, one, other).said_in_one_line()
        assert said.startswith(
            f"grucible: {one}: names cases, where vectors are expected; give one CASE"
        )
    said = command("check", one, "--runtime", "onnx-reference").said_in_one_line()
    assert "or --select GLOB" in said


@pytest.mark.parametrize("number", ["fuzz/float32/0-x", "fuz/float32/0-1"])
def test_no_id_that_is_not_there_is_suggested(number: str, command: Command) -> None:
    said = command("show", f"{SEQUENCE}/{number}").said_in_one_line()
    assert said.endswith(f"; ids of a random space are as {SEQUENCE}/fuzz/DTYPE/SEED-NUMBER\n")


def test_vectors_alone_stand_for_their_only_case(some_vectors: Path, command: Command) -> None:
    said = command("show", some_vectors).said_in_one_line()
    assert said.startswith("grucible: 6 cases match '*'; name one, such as ")
    file = next(one for one in some_vectors.rglob("*.h5") if len([*load_vectors(one)]) == 1)
    [only] = load_vectors(file)
    assert command("show", file).out.splitlines()[0] == only.id
    assert command("trace", file).out.startswith(only.id)


def test_show_several(some_vectors: Path, command: Command) -> None:
    ended = command("show", some_vectors, "*good")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("grucible: 2 cases match '*good'")
    assert "a-good, " in ended.err
    many = command("show", "*GRUSequence*").err
    assert many.startswith("grucible: 861 cases match '*GRUSequence*'")
    assert len(re.findall("openvino.GRUSequence-5/", many)) == 5


def test_show_of_an_invalid_question(command: Command) -> None:
    ended = command("show", f"{CELL}/invalid/float32/clip-nan")
    lines = ended.out.splitlines()
    assert lines[:2] == [f"{CELL}/invalid/float32/clip-nan", f"  {CELL}, float32, tier invalid"]
    assert "must be refused: clip is nan; expected a positive number" in lines
    assert "  (see: grucible explain ledger clip-default)" in lines
    assert "  clip                 nan" in lines
    ended = command("show", f"{CELL}/invalid/bfloat16/W-missing")
    assert "  W: absent" in ended.out.splitlines()
    assert "  R: bfloat16 (15, 5)" in ended.out.splitlines()
    ended = command("show", f"{SEQUENCE}/invalid/float32/*-negative-*")
    bad_usage(ended, "no invalid question is called .*: grucible cases --invalid")
    bad_usage(command("show", f"{SEQUENCE}/invalid/*/hidden_size-zero"), "4 cases match")
    ended = command("show", f"{SEQUENCE}/invalid/float32/sequence_lengths-beyond")
    assert "may be refused; the text leaves it open: sequence_lengths holds 4" in ended.out
