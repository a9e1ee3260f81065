"""Smaller questions that fail the same way: what may be left out, and what must stay."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shipped import core_cases

from grucible import GrucibleError, Question, Unsupported, load_vectors
from grucible.cases import console
from grucible.cases.dtypes import Arrays
from grucible.cases.question import sizes_of
from grucible.check.judging.case_result import AGAIN
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.observed.source import FromRuntime
from grucible.check.reports.findings import leading_command
from grucible.check.runtimes.runtime import describe_runtime
from grucible.check.shrink import Shrunk, reductions, shrink, shrunk_id
from grucible.gen.posed import answered_block

from .conftest import Command, bad_usage
from .made import write_negated
from .numpy_gru import run

HERE = Path(__file__).parent
SEQUENCE = "openvino.GRUSequence-5/core/float32/bidirectional-lbr-relu_sigmoid-clip0.5-longest-last"


def case(case_id: str) -> Question:
    return next(one.question for one in core_cases() if one.id == case_id)


ROWS = ("X", "initial_hidden_state", "sequence_lengths")
"""Inputs of GRUSequence-5 whose first axis is the batch."""


def shrunk(question: Question, kernel: Callable[[Question], Arrays]) -> Shrunk:
    source = FromRuntime(describe_runtime("kernel", kernel))
    return shrink(answered_block(question), source, chosen_criteria())


def small(question: Question) -> int:
    return sum(array.size for array in question.inputs.values())


@pytest.mark.parametrize(
    "case_id",
    [SEQUENCE, "onnx.GRU-14/plain/float32/layout1", "openvino.GRUCell-3/plain/float32/lbr",
     "bnnsgraph.gru/plain/float32/default"],
)  # fmt: skip
def test_every_reduction_is_a_question_that_asks_less_or_rounder_numbers(case_id: str) -> None:
    question = case(case_id)
    seen = list(reductions(question))
    assert len(seen) > 10
    for _, less in seen:
        before = question.inputs
        kept = {name for name, a in less.inputs.items() if a.shape == before[name].shape}
        changed = any((less.inputs[name] != before[name]).any() for name in kept)
        fewer = small(less) < small(question)
        assert fewer or changed or len(less.given) < len(question.given) or len(less.outputs) == 1
        assert set(sizes_of(less)) == set(sizes_of(question))


def test_rows_and_steps_are_left_out_of_every_input_that_has_them() -> None:
    question = case(SEQUENCE)
    [one] = [less for about, less in reductions(question) if about == "batch_size 1"][:1]
    for name in ("X", "initial_hidden_state", "sequence_lengths"):
        np.testing.assert_array_equal(one.inputs[name], question.inputs[name][:1])
    np.testing.assert_array_equal(one.inputs["W"], question.inputs["W"])
    [one] = [less for about, less in reductions(question) if about == "hidden_size 1"][:1]
    hidden = question.attributes["hidden_size"]
    np.testing.assert_array_equal(one.inputs["W"], question.inputs["W"][:, ::hidden])
    np.testing.assert_array_equal(one.inputs["R"], question.inputs["R"][:, ::hidden, :1])


def test_what_is_left_has_the_tier_of_the_case() -> None:
    """Shorter rows would touch what the text leaves open: rows of length 0."""

    def kernel(question: Question) -> Arrays:
        ragged = len({*question.inputs.get("sequence_lengths", ())}) > 1
        wrong = ragged and question.inputs.get("initial_hidden_state", np.zeros(1)).all()
        return {name: array + (wrong and name == "Ho") for name, array in run(question).items()}

    found = shrunk(case(SEQUENCE), kernel)
    assert [found.result.tier, answered_block(found.question).tier] == ["required"] * 2
    assert sorted(found.question.inputs["sequence_lengths"]) == [1, 2]


def test_what_is_left_has_numbers_that_a_person_would_write() -> None:
    """Here one must not be zero, and be less than 0.3 in size."""

    def kernel(question: Question) -> Arrays:
        wrong = 0 < abs(question.inputs["X"]).max() < 0.3
        return {name: array + wrong for name, array in run(question).items()}

    question = case("openvino.GRUCell-3/plain/float32/default")
    x = np.copysign(0.123046875, question.inputs["X"])
    found = shrunk(replace(question, inputs={**question.inputs, "X": x}), kernel).question
    assert abs(found.inputs["X"]).max() == 0.25


def test_a_row_is_shorter_by_the_steps_that_go() -> None:
    question = case(SEQUENCE)
    x, lengths = question.inputs["X"], question.inputs["sequence_lengths"]
    seen = [less for about, less in reductions(question) if about.startswith("seq_length")]
    assert len(seen) >= 4
    for less in seen:
        columns = less.inputs["X"].swapaxes(0, 1)
        kept = [t for t in range(x.shape[1]) if any((x[:, t] == one).all() for one in columns)]
        left = [sum(t < length for t in kept) for length in lengths]
        assert less.inputs["sequence_lengths"].tolist() == left


def test_a_second_direction_keeps_its_own_functions_and_weights() -> None:
    question = case("onnx.GRU-14/plain/float32/bidirectional-Sigmoid_Tanh_Tanh_Relu")
    one = next(less for about, less in reductions(question) if about == "reverse alone")
    assert one.given["direction"] == "reverse"
    assert one.attributes["activations"] == question.attributes["activations"][2:]
    np.testing.assert_array_equal(one.inputs["R"], question.inputs["R"][1:])


def bias_of_the_second_direction(question: Question) -> Arrays:
    """Right, but for the sign of the update gate's bias in reverse."""
    if question.attributes["direction"] != "bidirectional":
        return run(question)
    bias = question.inputs["B"].copy()
    bias[1, : question.attributes["hidden_size"]] *= -1
    return run(replace(question, inputs={**question.inputs, "B": bias}))


def test_what_the_failure_needs_stays() -> None:
    found = shrunk(case(SEQUENCE), bias_of_the_second_direction)
    question = found.question
    assert question.attributes["direction"] == "bidirectional"
    assert sizes_of(question) == {
        "batch_size": 1, "seq_length": 1, "input_size": 1, "hidden_size": 1, "num_directions": 2,
    }  # fmt: skip
    assert 1 <= np.count_nonzero(question.inputs["B"]) <= 2
    assert found.result.verdict == "failed"
    assert found.result.id == question.id == shrunk_id(SEQUENCE)
    assert found.first.result.id == SEQUENCE


def test_what_is_found_is_the_same_misreading() -> None:
    """Both mistakes make the first case fail; the one that explains it is the one that stays."""
    found = shrunk(case(SEQUENCE), lambda q: run(q, "linear_before_reset inverted"))
    assert [variant.name for variant in found.first.variants] == ["lbr-ignored"]
    assert found.question.attributes["linear_before_reset"] is True
    assert small(found.question) <= 13


def test_another_misreading_of_what_is_left_is_not_the_same() -> None:
    """Without clip the kernel is wrong in another way, which is clearly off, too."""

    def either(question: Question) -> Arrays:
        clipped = question.attributes["clip"] < 100
        return run(question, "clip ignored" if clipped else "gates z and r exchanged")

    found = shrunk(case(SEQUENCE), either)
    assert [variant.name for variant in found.first.variants] == ["clip-ignored"]
    assert "clip" in found.question.given


def refuses_clip(question: Question) -> Arrays:
    if question.attributes["clip"] < 100:
        raise ValueError(f"clip {question.attributes['clip']} of {question.inputs['X'].shape}")
    raise ValueError("nothing works here")


def test_an_error_stays_the_same_error() -> None:
    found = shrunk(case(SEQUENCE), refuses_clip)
    assert found.result.verdict == "error"
    assert "clip" in found.question.given
    assert "activations" not in found.question.given
    assert small(found.question) <= 12


def test_what_fails_with_fewer_rows_is_shrunk_from_these(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that asks again says so of a case that passes by itself."""

    def refuses_one_row(question: Question) -> Arrays:
        if len(question.inputs["X"]) == 1:
            raise ValueError("one row")
        return run(question)

    found = shrunk(case(SEQUENCE), refuses_one_row)
    assert found.rows == " with the last half of the batch"
    assert (len(found.question.inputs["X"]), found.result.verdict) == (1, "error")
    again = replace(found.result, message=f"{AGAIN}{found.rows}: ValueError")
    leads = f"grucible shrink {again.id} --runtime 'exec: ./gru'"
    assert leading_command(again, "", "float32", "exec: ./gru") == leads
    asked_instead(monkeypatch, refuses_one_row)
    printed = command("shrink", SEQUENCE, "--runtime", "wrong", "-o", tmp_path / "small.h5").out
    assert printed.startswith(f"{SEQUENCE} with the last half of the batch\n")
    assert "made smaller: with" not in printed


def test_nothing_is_shrunk_of_a_case_that_passes() -> None:
    with pytest.raises(GrucibleError, match=r"does not fail; if check failed it, "):
        shrunk(case(SEQUENCE), run)

    def unsupported(_: Question) -> Arrays:
        raise Unsupported("nothing")

    with pytest.raises(GrucibleError, match="does not fail"):
        shrunk(case(SEQUENCE), unsupported)


def test_what_cannot_be_smaller_has_the_id_of_a_shrunk_case() -> None:
    asked = case("openvino.GRUCell-3/plain/float32/default")

    def wrong_of_all_alone(question: Question) -> Arrays:
        same = all(
            name in question.inputs and np.array_equal(question.inputs[name], array)
            for name, array in asked.inputs.items()
        )
        whole = same and (question.given, [*question.outputs]) == (asked.given, [*asked.outputs])
        return run(question, "gates z and r exchanged" if whole else "")

    found = shrunk(asked, wrong_of_all_alone)
    assert found.left_out == ()
    assert found.result.id == found.question.id
    assert found.question.id == "openvino.GRUCell-3/shrunk/float32/plain.default"


def asked_instead(monkeypatch: pytest.MonkeyPatch, kernel: Callable[[Question], Arrays]) -> None:
    """Commands ask a kernel, in this process."""

    def source(*_: object, **__: object) -> FromRuntime:
        made = FromRuntime(describe_runtime("kernel", kernel))
        made.close = lambda: None  # type: ignore[method-assign]
        made.restart = lambda: None  # type: ignore[attr-defined]
        return made

    monkeypatch.setattr("grucible.check.observed.pool.RuntimePool", source)


@pytest.mark.parametrize("wrong", [{1}, {1, 3, 5, 7}, {1, 2}, {1, 2, 3}])
def test_nothing_is_shrunk_of_a_case_that_passes_when_it_is_asked_again(
    wrong: set[int], tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its number, the runtime is wrong on a question: at once, or of what is left of it in the end."""
    asked = 0

    def kernel(question: Question) -> Arrays:
        nonlocal asked
        asked += 1
        return run(question, "linear_before_reset inverted" if asked in wrong else "")

    asked_instead(monkeypatch, kernel)
    file = tmp_path / "small.h5"
    ended = command("shrink", SEQUENCE, "--runtime", "wrong", "--seconds", 5, "-o", file)
    said = r"failed once, and passed when it was asked again: the answer depends on more than the question"
    bad_usage(ended, said)
    assert not file.exists()


def test_the_command_writes_vectors_that_fail_too(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "wrong.py").write_text(
        f"import sys\nsys.path.insert(0, {str(HERE)!r})\nfrom numpy_gru import run as right\n"
        "def run(question):\n    return right(question, 'linear_before_reset inverted')\n"
    )
    file, runtime = tmp_path / "small.h5", f"{tmp_path / 'wrong.py'}:run"
    ended = command("shrink", SEQUENCE, "--runtime", runtime, "-o", file)
    assert ended.status == 0, ended.err
    lines = ended.out.splitlines()[:-2]
    assert lines[0] == SEQUENCE
    assert max(len(line) for line in lines if " " in line.strip()) <= 80
    [small_case] = load_vectors(file)
    assert small_case.id == shrunk_id(SEQUENCE)
    assert "sequence_lengths (1,)" in ended.out
    assert "; sequence_lengths is [1]" in " ".join(ended.out.split())
    assert "its only step is wrong\n" in command("trace", file, "--runtime", runtime).out
    assert command("check", file, "--runtime", runtime, "--recompute", "1").status == 1
    assert command("check", file, "--runtime", f"{HERE / 'numpy_gru.py'}:run").status == 0
    again = command("shrink", file, "*", "--runtime", f"{HERE / 'numpy_gru.py'}:run", "-o", file)
    assert "does not fail; if check failed it" in again.said_in_one_line()


def test_what_a_kernel_keeps_is_not_shrunk_away(tmp_path: Path, command: Command) -> None:
    """A row without steps hands out the state of the row before, in this question or the last."""
    (tmp_path / "keeps.py").write_text(
        f"import sys\nsys.path.insert(0, {str(HERE)!r})\nfrom numpy_gru import run as right\nkept = {{}}\n"
        "def run(question):\n    out = right(question)\n"
        "    for row, length in enumerate(question.inputs['sequence_lengths']):\n"
        "        if not length and 'ho' in kept:\n            out['Ho'][row] = kept['ho'].flat[0]\n"
        "        elif length:\n            kept['ho'] = out['Ho'][row].copy()\n    return out\n"
    )
    file, runtime = tmp_path / "small.h5", f"{tmp_path / 'keeps.py'}:run"
    case_id = f"{SEQUENCE.split('/')[0]}/plain/float32/with-zero"
    assert command("shrink", case_id, "--runtime", runtime, "-o", file).status == 0
    [small_case] = load_vectors(file)
    assert len(small_case.inputs["X"]) == 2
    assert command("check", file, "--runtime", runtime).status == 1
    told = command(
        "check", "--runtime", runtime, "--select", f"{SEQUENCE.split('/')[0]}/*zero*"
    ).out
    assert told.splitlines()[-1].startswith("start with: grucible ")


def test_what_every_question_spoils_is_shrunk_in_new_processes() -> None:
    """A row goes on from the last row that there was: in a new process, from one of this question."""
    kept: list[Arrays] = []

    def stale(question: Question) -> Arrays:
        parts: list[Arrays] = []
        for row in range(len(question.inputs["X"])):
            own = {name: question.inputs[name][[row]] for name in ROWS}
            if kept and kept[-1]["Ho"].shape == own["initial_hidden_state"].shape:
                own["initial_hidden_state"] = kept[-1]["Ho"]
            kept.append(run(replace(question, inputs={**question.inputs, **own})))
            parts.append(kept[-1])
        return {name: np.concatenate([one[name] for one in parts]) for name in question.outputs}

    source = FromRuntime(describe_runtime("kernel", stale))
    asked = case(f"{SEQUENCE.split('/')[0]}/plain/float32/default")
    found = shrink(answered_block(asked), source, chosen_criteria(), restart=kept.clear)
    assert len(found.question.inputs["X"]) == 2
    assert small(found.question) <= 24


def test_vectors_of_other_cases_are_not_replaced(
    some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    file = Path(shutil.copy(some_vectors / "cell.h5", tmp_path))
    before = file.read_bytes()
    words = ["shrink", some_vectors, "*/b-bad", "--runtime", f"{HERE / 'misbehaving.py'}:nan",
             "--seconds", "0.1", "-o", file]  # fmt: skip
    assert "holds vectors that were not shrunk" in command(*words).said_in_one_line()
    assert file.read_bytes() == before
    for more in (["--force"], []):
        assert command(*words, *more).status == 0


def test_what_is_found_before_ctrl_c_is_written(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing, where nothing was left out by then."""
    asked = 0

    def interrupted(question: Question) -> Arrays:
        nonlocal asked
        asked += 1
        if asked > most:
            raise KeyboardInterrupt
        return run(question, "linear_before_reset inverted")

    asked_instead(monkeypatch, interrupted)
    file = tmp_path / "small.h5"
    for most in (1, 5):
        asked = 0
        ended = command("shrink", SEQUENCE, "--runtime", "wrong", "-o", file)
        assert ended.status == 130
        assert file.exists() == (most > 1)
    assert "; interrupted before it was as small as can be; written to " in " ".join(
        ended.out.split()
    )
    [small_case] = load_vectors(file)
    assert small(small_case.question) < small(case(SEQUENCE))


def test_a_runtime_that_never_answers_is_asked_until_nothing_can_be_left_out(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile lines say how far it is, and what is waited for; those of `trace` do so, too."""
    for name in ("FIRST_SECONDS", "LOG_SECONDS", "WAIT_SECONDS"):
        monkeypatch.setattr(console, name, 1e-3)
    hangs = tmp_path / "hangs.sh"
    hangs.write_text("printf 'grucible 1\\nend\\n'; exec sleep 600\n")
    ended = command("shrink", "openvino.GRUCell-3/plain/float32/lbr", "--runtime", f"exec: sh {hangs}",
                    "--timeout", "0.1", "-o", tmp_path / "small.h5")  # fmt: skip
    assert ended.status == 0, ended.err
    assert "without linear_before_reset" in " ".join(ended.out.split())
    assert "X (1, 1), initial_hidden_state (1, 1), W (3, 1), R (3, 1)" in ended.out
    waits = "waiting 0 s for openvino.GRUCell-3/shrunk/float32/plain.lbr\n"
    lines = ended.err.splitlines(keepends=True)
    assert any(one.startswith("grucible: shrinking ") and one.endswith(waits) for one in lines)
    ended = command("trace", "openvino.GRUCell-3/plain/float32/lbr", "--runtime", f"exec: sh {hangs}",
                    "--timeout", "1")  # fmt: skip
    assert (
        "grucible: tracing: nothing done yet, and waiting 0 s for openvino.GRUCell-3/" in ended.err
    )


def test_the_last_line_judges_by_what_is_written(tmp_path: Path, command: Command) -> None:
    out = tmp_path / "a b.h5"
    wrong = write_negated(tmp_path / "wr ong.py")
    ended = command("shrink", SEQUENCE, "--runtime", wrong, "-o", out, "--rtol", "1e-3",
                    "--memory", "8G")  # fmt: skip
    line = ended.out.splitlines()[-1]
    assert line.endswith(" --rtol 0.001 --memory 8G")
    ended = command(*shlex.split(line.removeprefix("judge by it: grucible ")))
    assert (ended.status, "0 of 1 cases passed" in ended.out) == (1, True)
