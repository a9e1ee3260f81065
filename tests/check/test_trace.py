"""`grucible trace`, and where observed states leave the exact ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from diagnosis.kernel import Direction, Kernel, Task
from shipped import core_cases

import grucible
from grucible import Case, GrucibleError, Question
from grucible.check.reports.trace import sentences, verdict, wrong_steps
from grucible.check.trace import Deviation, StepPlace, WrongStep

from .conftest import HERE, Command, bad_usage, strict_json

Array = npt.NDArray[Any]
BOTH = "openvino.GRUSequence-5/plain/float32/bidirectional"
RAGGED = "openvino.GRUSequence-5/plain/float32/ragged"
QUANTITIES = {"a_z", "a_r", "a_h", "z", "r", "t", "u", "state"}


@cache
def case_of(case_id: str) -> Case:
    return next(case for case in core_cases() if case.id == case_id)


class Spoiled(Kernel):
    """A kernel in whose numbered steps a unit of a row is off by a quarter: what follows is right from that.

    `at` are (direction, row, step, unit).
    """

    def __init__(self, *at: tuple[int, int, int, int]) -> None:
        self.at, self.number = at, 0

    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        self.number = -1
        return super().direction(task, p)

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        self.number += 1
        state = super().step(x, h, p).copy()
        for direction, row, number, unit in self.at:
            if (direction, number) == (p.number, self.number):
                state[row, unit] += 0.25
        return state


def against(case_id: str, run: Callable[[Question], Mapping[str, Array]]) -> Deviation:
    case = case_of(case_id)
    return grucible.trace(case).against(run(case.question))


def changed(case_id: str, change: Callable[[dict[str, Array]], None]) -> Deviation:
    """The deviation of the right outputs but for a change."""
    outputs = {name: array.copy() for name, array in case_of(case_id).answer.outputs.items()}
    change(outputs)
    return grucible.trace(case_of(case_id)).against(outputs)


def said(found: Deviation) -> str:
    return " | ".join(sentences(found))


@pytest.mark.parametrize("operator", ["openvino.GRUSequence-5", "onnx.GRU-14"])
@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_one_wrong_step_is_named_and_the_rest_is_its_consequence(
    operator: str, direction: int, dtype: str
) -> None:
    found = against(f"{operator}/plain/{dtype}/bidirectional", Spoiled((direction, 1, 2, 3)))
    word, time = (("forward", 2), ("reverse", 1))[direction]
    place = StepPlace(word, row=1, step=2, time=time)
    assert (found.every, found.wrong) == (True, (WrongStep(place, (3,)),))
    [first] = found.leaving
    assert (first.place, first.unit, first.others) == (place, 3, 0)
    assert abs(first.observed - first.expected - 0.25) < 0.01
    assert math.isclose(first.off, 0.25, abs_tol=0.01)
    assert 0 < first.tolerance < 0.05
    text = said(found)
    assert f"leaves the exact states first at {word}, row 1, step 2 (time {time}), unit 3: " in text
    assert "alone is wrong by itself; no other step clearly is, given the state before it" in text
    exact = grucible.trace(case_of(f"{operator}/plain/{dtype}/bidirectional")).directions[direction]
    assert found.states is not None
    off = np.abs(found.states[direction, 1] - exact.state[1].astype(np.float64)).max(axis=-1)
    assert off[3] > 0.01 > off[1]  # the state after it is off too, and is not called wrong


def test_the_first_is_that_of_the_first_step_whatever_its_row() -> None:
    found = against(BOTH, Spoiled((0, 0, 3, 1), (0, 2, 1, 5), (0, 2, 1, 4), (1, 0, 0, 2)))
    assert [(one.place.direction, one.place.row, one.place.step, one.unit, one.others)
            for one in found.leaving] == [("forward", 2, 1, 4, 1), ("reverse", 0, 0, 2, 0)]  # fmt: skip
    assert [(one.place.row, one.place.step, one.units) for one in found.wrong] == [
        (0, 3, (1,)), (2, 1, (4, 5)), (0, 0, (2,)),
    ]  # fmt: skip
    assert "3 of 24 steps are wrong by themselves" in said(found)
    assert list(wrong_steps(found, 6)) == [
        "forward, row 0: step 3, unit 1",
        "forward, row 2: step 1, units 4-5",
        "reverse, row 0: step 0, unit 2",
    ]


def test_steps_are_counted_by_the_rows_own_lengths() -> None:
    """Rows of 3, 1 and 2 steps: the one of row 2 is its last."""
    found = against(RAGGED, Spoiled((0, 2, 1, 0)))
    assert found.steps == 6
    assert [one.place for one in found.wrong] == [StepPlace("forward", 2, 1, 1)]
    assert found.states is not None
    assert np.isnan(found.states[0, :, :, 0]).tolist() == [
        [False, False, False], [False, True, True], [False, False, True],
    ]  # fmt: skip


def test_a_step_of_a_shorter_row_in_reverse_has_the_time_of_its_input() -> None:
    backwards = next(
        case for case in core_cases()
        if case.id.startswith("onnx.GRU-14/core/float32/reverse-") and case.id.endswith("-ragged")
        and case.tier == "required" and "Y" in case.answer.outputs
    )  # fmt: skip
    lengths = grucible.trace(backwards).directions[0].lengths
    row = int(np.argmax((lengths > 1) & (lengths < lengths.max())))
    found = grucible.trace(backwards).against(Spoiled((0, row, 1, 0))(backwards.question))
    place = StepPlace("reverse", row, 1, int(lengths[row]) - 2)
    assert [one.place for one in found.wrong] == [place]


class Kept(Kernel):
    def blend(self, z: Array, new: Array, h: Array) -> Array:
        return super().blend(1 - z, new, h)


class NoState(Kernel):
    def start(self, task: Task, p: Direction) -> Array:
        return np.zeros_like(super().start(task, p))


def slightly_off(outputs: dict[str, Array]) -> None:
    for array in outputs.values():
        array *= np.float32(1 + 3e-6)


def past(outputs: dict[str, Array]) -> None:
    outputs["Y"][1, 0, 2, 4] = 0.5


def last(outputs: dict[str, Array]) -> None:
    outputs["Ho"][2, 0, 3] += np.float32(0.5)


def swapped(outputs: dict[str, Array]) -> None:
    outputs["Y"][:] = outputs["Y"][:, ::-1]


@pytest.mark.parametrize(
    ("found", "leaves", "wrong", "sentences", "lines"),
    [
        (lambda: against(BOTH, Kept()), True, 24,
         ["every step is wrong by itself, from the observed state before it: all 24"], []),
        (lambda: against(BOTH, NoState()), True, 6, ["6 of 24 steps are wrong by themselves"],
         ["forward, rows 0-2: step 0, every unit", "reverse, rows 0-2: step 0, every unit"]),
        (lambda: changed(BOTH, slightly_off), True, 0,
         ["by itself no step is off by much: coarse arithmetic",
          "it is off by no more than float16-state arithmetic may be"], []),
        (lambda: changed(RAGGED, past), False, 0,
         ["no state is off by more than its tolerance",
          "Y past the row's length at time 2, forward, row 1, unit 4: expected 0.0, got 0.5"], []),
        (lambda: changed(RAGGED, last), False, 0,
         ["Ho is not the state after the row's last step, forward, row 2, unit 3"], []),
        (lambda: changed(BOTH, swapped), True, None,
         ["the steps are right, and Y holds other states"], []),
    ],
)  # fmt: skip
def test_each_kind_of_deviation_has_its_sentences(
    found: Callable[[], Deviation],
    leaves: bool,
    wrong: int | None,
    sentences: list[str],
    lines: list[str],
) -> None:
    seen = found()
    assert bool(seen.leaving) == leaves
    assert wrong is None or len(seen.wrong) == wrong
    for sentence in sentences:
        assert sentence in said(seen)
    assert ("wrong by itself" in said(seen)) == (wrong == 24)
    assert list(wrong_steps(seen, 6)) == lines


class XOneTooLate(Kernel):
    """Reads x of the time after, in reverse; at the last time that of the last."""

    def step(self, x: Array, h: Array, p: Direction) -> Array:
        later = np.minimum(self.task.lengths - self.now, len(self.task.x) - 1)
        return super().step(self.task.x[later, np.arange(len(h))] if p.backwards else x, h, p)


def test_a_step_that_is_wrong_by_less_than_all_steps_may_be_is_named() -> None:
    case_id = (
        "openvino.GRUSequence-5/core_magnitudes/float16/"
        "bidirectional-lbr0-noact-t2-initial_hidden_statex16-Rx4-Bx2"
    )
    found = against(case_id, XOneTooLate())
    assert (found.leaving, found.beside) == ((), ())
    assert [one.place for one in found.wrong] == [StepPlace("reverse", 1, 1, 0)]
    assert said(found) == (
        "no state is off by more than what rounding over all steps may change | "
        "reverse, row 1, step 1 (time 0) alone is wrong by itself; no other step clearly is, given the state before it"
    )


def test_of_last_states_alone_no_step_is_told() -> None:
    case_id = "onnx.GRU-14/core/float32/bidirectional-noact-noY"
    found = against(case_id, Spoiled((1, 0, 1, 2)))
    assert not found.every
    assert not found.wrong
    steps = int(grucible.trace(case_of(case_id)).directions[1].lengths[0])
    assert [one.place for one in found.leaving] == [StepPlace("reverse", 0, steps - 1, 0)]
    assert "its last states leave the exact ones first at reverse, row 0" in said(found)
    assert "is unknown: the other states are not handed out" in said(found)
    assert found.states is not None
    assert np.isnan(found.states[:, :, :-1]).all()
    assert not np.isnan(found.states[:, :, -1]).any()


def test_a_case_is_held_against_the_reading_that_it_is_nearest_to() -> None:
    names = ("reset-false.before",)
    case = next(
        case for case in core_cases()
        if case.dtype == "float32" and set(case.answers) == {(), names}
        and "output" in case.answer.outputs and len(case.inputs["x"]) > 2
        and case.question.outputs["output"].shape[0] > 1
    )  # fmt: skip
    right = case.answers[names].outputs
    found = grucible.trace(case).against(right)
    assert found.passed
    assert "passes, under the reading reset-false.before: " in verdict("mine", found)
    outputs = {name: array.copy() for name, array in right.items()}
    outputs["output"][2, 0, 1] += np.float32(0.25)
    found = grucible.trace(case).against(outputs)
    assert found.reading == names
    assert [one.place.step for one in found.leaving] == [2]
    assert {one.place.step for one in found.wrong} <= {2, 3}
    assert said(found).startswith("compared with the nearest reading, reset-false.before: ")


# the command


def numbers_of(text: str, name: str) -> list[float]:
    """The numbers of the first array of a name in a text."""
    return [float(n) for n in text.split(f"    {name} ")[1].split("]")[0].strip(" [").split()]


def test_the_command_shows_a_step(command: Command) -> None:
    ended = command("trace", BOTH, "--direction", "reverse", "--row", "1", "--step", "2")
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == BOTH
    assert lines[1].endswith("vectors/openvino/gru_sequence/plain.h5")
    assert "forward" not in lines
    assert [line for line in lines if line.startswith("  step")] == ["  step 2, time 1"]
    one = grucible.trace(case_of(BOTH)).directions[1]
    assert numbers_of(ended.out, "before") == pytest.approx(one.state[1, 1], rel=1e-6)
    for name in QUANTITIES:
        seen = numbers_of(ended.out, f"{name:8}".rstrip() + " " * (8 - len(name)))
        assert np.array(seen, np.float32).tolist() == getattr(one, name)[1, 2].tolist()
    assert "  a_z      Xt*(Wz^T) + Ht-1*(Rz^T) + Wbz + Rbz" in lines
    assert "  state    Ht = (1 - zt) (.) ht + zt (.) Ht-1" in lines


@pytest.mark.usefixtures("in_this_process")
def test_the_command_against_a_runtime(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    numpy_gru = f"import sys\nsys.path.insert(0, {str(HERE)!r})\nfrom numpy_gru import run"
    Path("right_gru.py").write_text(f"{numpy_gru}\n")
    Path("spoiled_gru.py").write_text(
        f"{numpy_gru} as right\ndef run(question):\n    outputs = right(question)\n"
        "    outputs['Y'][0, 1, 3, 2] += 1\n    return outputs\n"
    )
    spoiled = ("--runtime", "./spoiled_gru.py:run")
    ended = command("trace", BOTH, *spoiled)
    assert ended.status == 1
    text = " ".join(ended.out.split())
    assert "fails: Y[0, 1, 3, 2]: expected " in text
    assert "first at reverse, row 0, step 0 (time 3), unit 2: expected" in text
    assert "\nforward" not in ended.out
    assert "    observed [" in ended.out
    ended = command("trace", BOTH, *spoiled, "--row", "2", "--step", "1")
    steps = [line for line in ended.out.splitlines() if line.startswith("  step ")]
    assert steps == ["  step 1, time 1", "  step 1, time 2"]
    assert ended.out.count("    observed [") == 2
    value = strict_json(command("trace", BOTH, "--json", *spoiled).out)
    assert (value["against"]["verdict"], value["against"]["every_state"]) == ("failed", True)
    assert value["against"]["leaving"][0]["unit"] == 2
    assert "observed" in value["directions"][0]["rows"][0]["steps"][0]
    right = command("trace", BOTH, "--runtime", "./right_gru.py:run")
    assert right.status == 0
    assert "\n./right_gru.py:run passes: the largest error is " in right.out
    assert "; if check failed it, " in " ".join(right.out.split())
    assert "  step" not in right.out
    refused = command("trace", "onnx.GRU-14/plain/float32/lbr1", *spoiled)
    assert refused.status == 1
    assert "\n./spoiled_gru.py:run: unsupported: OpenVINO's operators alone\n" in refused.out


def test_the_command_against_outputs(
    command: Command, some_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = command("run", some_vectors, "--runtime", f"{HERE / 'numpy_gru.py'}:run", "-o", "outputs")
    assert ran.status == 0
    for case_id in ("*/a-good", "*/d-bfloat16", "*/s-zero"):
        assert command("trace", some_vectors, case_id, "--against", "outputs").status == 0
    Path("outputs/cell.h5").unlink()
    ended = command("trace", some_vectors, "*/a-good", "--against", "outputs")
    assert ended.status == 1
    assert "\noutputs: missing: " in ended.out


def test_json_has_the_numbers(command: Command) -> None:
    case_id = "onnx.GRU-14/plain/bfloat16/ragged"
    value = strict_json(command("trace", case_id, "--json").out)
    assert (value["grucible_trace"], value["id"], value["against"]) == (1, case_id, None)
    [one] = grucible.trace(case_of(case_id)).directions
    [direction] = value["directions"]
    assert [row["length"] for row in direction["rows"]] == one.lengths.tolist()
    for row in direction["rows"]:
        assert len(row["steps"]) == row["length"]
        assert row["h0"] == one.h0[row["row"]].astype(float).tolist()
        for step in row["steps"]:
            assert set(step) == {"step", "time", *QUANTITIES}
            for name in QUANTITIES:
                exact = getattr(one, name)[row["row"], step["step"]]
                assert step[name] == exact.astype(float).tolist()
    part = strict_json(command("trace", case_id, "--json", "--step", "1").out)
    assert [row["row"] for row in part["directions"][0]["rows"]] == [0, 2]  # row 1 has one step
    part = strict_json(command("trace", case_id, "--json", "--row", "1", "--step", "0").out)
    assert [len(row["steps"]) for row in part["directions"][0]["rows"]] == [1]
    assert part["directions"][0]["rows"][0]["row"] == 1


def test_npz_has_every_array(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "trace.npz"
    for _ in range(2):  # an earlier one is replaced
        ended = command(
            "trace", "openvino.GRUSequence-5/plain/bfloat16/bidirectional", "--npz", file
        )
        assert (ended.status, ended.err) == (0, "")
        assert f"{file}: written" in ended.out
        assert "  step" not in ended.out
    arrays = dict(np.load(file))
    trace = grucible.trace(case_of("openvino.GRUSequence-5/plain/bfloat16/bidirectional"))
    assert set(arrays) == {"grucible_trace", "lengths", *trace.arrays}
    assert arrays["grucible_trace"] == 1
    for name, array in trace.arrays.items():
        assert arrays[name].tobytes() == array.tobytes()
    assert arrays["reverse/z"].shape == (3, 4, 6)
    assert arrays["reverse/z"].dtype == np.uint16
    other = tmp_path / "notes.npz"
    np.savez(other, notes=np.zeros(3))
    bad_usage(command("trace", BOTH, "--npz", other), "name another place")
    assert set(np.load(other)) == {"notes"}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ([BOTH, "--row", "3"], "no such step: the case has forward and reverse, and rows of 4, 4, 4"),
        ([RAGGED, "--direction", "reverse"], "no such step: the case has forward, and rows of 3, 1, 2"),
        ([RAGGED, "--row", "1", "--step", "1"], "no such step"),
        ([BOTH, "--runtime", "a", "--against", "b"], "give one of --runtime NAME and --against"),
    ],
)  # fmt: skip
def test_bad_usage(asked: list[str], says: str, command: Command) -> None:
    bad_usage(command("trace", *asked), says)


@pytest.mark.parametrize(("reading", "named"), [("x", r"\('x',\)"), (["a", "b"], r"\('a', 'b'\)")])
def test_a_case_is_traced_under_the_readings_that_it_has_answers_under(
    reading: Any, named: str
) -> None:
    case = case_of(BOTH)
    with pytest.raises(GrucibleError, match=f"has no answer under {named}; expected one of \\(\\)"):
        grucible.trace(case, reading)
    for accepted in case.answers:
        assert grucible.trace(case, accepted).reading == accepted
