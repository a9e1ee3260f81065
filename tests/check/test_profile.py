"""Feature by feature: what is right, refused, wrong, crashed and malformed are never mixed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grucible import GrucibleError, Question, Unsupported
from grucible.check.observed.source import FromRuntime
from grucible.check.profile import AGAIN, Profile, Row, profile
from grucible.check.reports.profile import TITLE, page_lines, profile_lines, profiles_json
from grucible.check.runtimes.runtime import describe_runtime

from .conftest import Command
from .numpy_gru import MISTAKES, run

PLAIN = ("openvino.GRUSequence-5/plain/float32/*",)
Outputs = dict[str, np.ndarray[Any, Any]]


def of(
    runtime: Callable[[Question], Any], select: tuple[str, ...] = PLAIN, name: str = "mine"
) -> Profile:
    return profile(FromRuntime(describe_runtime(name, runtime)), None, select)


def rows(found: Profile) -> dict[str, Row]:
    assert len({(row.operator, row.feature, row.dtype) for row in found.rows}) == len(found.rows)
    return {row.feature: row for row in found.rows}


def test_a_right_one_is_right_everywhere() -> None:
    found = rows(of(run))
    assert {row.status for row in found.values()} == {"right"}
    assert [*found][:: len(found) - 1] == ["default", AGAIN]
    assert found["default"].cases == ("openvino.GRUSequence-5/plain/float32/default",)


def test_each_status_is_its_own() -> None:
    def partial(question: Question) -> Any:
        what = question.id.rpartition("/")[2]
        if "bidirectional" in what:
            raise Unsupported("one direction")
        if what == "reverse":
            raise ValueError("negative stride")
        if what == "t1":
            return {name: array.astype(np.float64) for name, array in run(question).items()}
        if "clip0.5" in what:
            return run(_without(question, "clip"))
        return run(question)

    found = rows(of(partial))
    by_status = {
        status: {name for name, row in found.items() if row.status == status}
        for status in ("refused", "malformed", "wrong")
    }
    assert by_status == {
        "refused": {name for name in found if "bidirectional" in name} | {"reverse"},
        "malformed": {"t1"},
        "wrong": {"clip0.5", "lbr-clip0.5", "clip0.5-ragged"},
    }
    assert {found[name].misreading for name in by_status["wrong"]} == {"clip ignored"}
    assert found["bidirectional"].message == "one direction"
    assert found["reverse"].message.startswith("ValueError: negative stride (test_profile.py:")
    assert not any(found[name].misreading for name in by_status["refused"] | {"t1"})


def test_a_mistake_is_told_though_float64_is_computed_in_float32() -> None:
    """As in the other dtypes, and what is refused altogether has no table."""

    def both(question: Question) -> Any:
        if question.operator != "openvino.GRUSequence-5":
            raise Unsupported("sequences alone")
        outputs = run(_without(question, "clip"))
        return {n: a.astype(np.float32).astype(a.dtype) for n, a in outputs.items()}

    found = of(both, ("openvino.*/plain/float64/*",))
    wrong = {row.feature: row.misreading for row in found.rows if row.status == "wrong"}
    assert wrong == dict.fromkeys(["clip0.5", "lbr-clip0.5", "clip0.5-ragged"], "clip ignored")
    lines = list(profile_lines(found))
    cells = sum("Cell" in row.operator for row in found.rows)
    assert [one for one in lines if "Cell" in one] == [f"  openvino.GRUCell-3: {cells} refused"]
    assert lines[-1] == "what is asked: grucible show openvino.GRUSequence-5/plain/float64/clip0.5"


def test_a_crash_is_no_refusal(command: Command) -> None:
    runtime = f"{Path(__file__).parent / 'misbehaving.py'}:segfaults_on_clip"
    select = ["--select", "openvino.GRUCell-3/plain/float32/[cdl]*"]
    ended = command("profile", "--runtime", runtime, *select, "--json")
    assert ended.status == 0
    [one] = ended.report["profiles"]
    status = {row["feature"]: row["status"] for row in one["rows"]}
    assert {name for name, it in status.items() if it == "crashed"} == {
        "clip0.5", "clipinf", "lbr-clip0.5",
    }  # fmt: skip
    assert status["default"] == "right"
    assert set(one["rows"][0]) == {
        "operator", "feature", "dtype", "status", "cases", "arithmetic", "misreading", "message",
    }  # fmt: skip


def test_who_waits_for_ever_on_what_must_be_refused_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """As a program does that waits for the bytes of a shape it took for granted."""
    monkeypatch.setattr("grucible.check.profile.REFUSING_SECONDS", 0.2)
    runtime = f"{Path(__file__).parent / 'misbehaving.py'}:waits_for_more_rows"
    select = ["--select", "openvino.GRUCell-3/plain/float32/default"]
    [found] = command("profile", "--runtime", runtime, *select, "--json").report["profiles"]
    [one] = [one for one in found["refusals"] if one["defect"] == "X-batch_size-more"]
    assert (one["outcome"], one["message"]) == ("crash", "no answer in 0.2 s; stopped")
    assert {row["status"] for row in found["rows"]} == {"right"}


class _Stateful:
    """Right when it is asked a question for the first time; `change` is what becomes of the next time."""

    def __init__(self, change: Callable[[_Stateful, Question], Outputs]) -> None:
        self.change, self.seen, self.last = change, set[str](), Outputs()
        self.__name__ = "stateful"

    def __call__(self, question: Question) -> Outputs:
        outputs = self.change(self, question) if question.id in self.seen else run(question)
        self.seen.add(question.id)
        self.last = outputs
        return outputs


def test_what_is_kept_from_one_question_to_the_next_shows() -> None:
    def from_its_own_state(runtime: _Stateful, question: Question) -> Outputs:
        kept = runtime.last["Ho"]
        if kept.shape != question.inputs["initial_hidden_state"].shape:
            return run(question)
        return run(_with_inputs(question, initial_hidden_state=kept))

    found = rows(of(_Stateful(from_its_own_state)))
    again = found.pop(AGAIN)
    said = "wrong with other rows of the batch, or in another order"
    assert (again.status, again.misreading) == ("wrong", said)
    assert {row.status for row in found.values()} == {"right"}


def test_what_was_right_is_not_asked_on_where_it_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor what must be refused: a runtime that hangs on every second question is waited for each time."""
    asked: list[str] = []

    def crashes(_: _Stateful, question: Question) -> Outputs:
        asked.append(question.id)
        raise SystemExit("the end")

    found = of(_Stateful(crashes))
    again = rows(found)[AGAIN]
    assert (again.status, len(asked)) == ("crashed", 3)
    assert (
        again.message
        == "asked again with the last half of the batch: SystemExit: the end; nothing more is asked, for 3 of what had been right crashed"
    )
    assert found.refusals == []
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, profile_lines(found))) <= 80


def test_the_table_fits_and_says_what_is_wrong_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    def ignores(question: Question) -> Any:
        return run(_without(question, "clip"))

    lines = list(profile_lines(of(ignores)))
    assert max(map(len, lines)) <= 80
    assert lines[0] == "mine"
    assert lines[1].startswith("  openvino.GRUSequence-5: ")
    assert "3 wrong" in lines[1]
    assert lines[2].startswith(
        "  openvino.GRUSequence-5: silently wrong: clip ignored: clip0.5, lbr-"
    )
    [row] = [line for line in lines if line.startswith("  lbr-clip0.5")]
    assert row.split() == ["lbr-clip0.5", "wrong"]


def test_an_arithmetic_that_is_coarser_is_named() -> None:
    def single(question: Question) -> Any:
        inputs = {n: a.astype(np.float32).astype(a.dtype) if a.dtype.kind == "f" else a
                  for n, a in question.inputs.items()}  # fmt: skip
        return run(_with_inputs(question, **inputs))

    found = of(single, ("openvino.GRUCell-3/plain/float64/[dl]*",))
    assert {row.arithmetic for row in found.rows if row.feature != AGAIN} == {"float32"}
    text = " ".join(" ".join(profile_lines(found)).split())
    assert "right, in coarser arithmetic: float64 computed in float32: default, lbr, " in text
    told = json.loads(profiles_json([found]))
    assert told["profiles"][0]["rows"][0]["arithmetic"] == "float32"


def _without(question: Question, attribute: str) -> Question:
    given = {name: value for name, value in question.given.items() if name != attribute}
    return replace(question, given=given)


def _with_inputs(question: Question, **inputs: Any) -> Question:
    return replace(question, inputs={**question.inputs, **inputs})


# profiles side by side

SIDE_BY_SIDE = ("openvino.GRUSequence-5/plain/float*/[bcdr]*",)


def test_two_side_by_side() -> None:
    both = [of(run, SIDE_BY_SIDE, "right"), of(MISTAKES["clip ignored"], SIDE_BY_SIDE, "clipless")]
    page = list(page_lines(both, "grucible profile"))
    assert (page[0], "## openvino.GRUSequence-5" in page) == (TITLE, True)
    cells = {row[0]: row[1:] for row in (line.strip("| ").split(" | ") for line in page)}
    assert cells["clip0.5"] == ["right", "wrong"]
    assert cells["default"] == cells[AGAIN] == ["right", "right"]
    assert any(
        line.startswith("- clipless: silently wrong: clip ignored: clip0.5") for line in page
    )
    right = sum(row.dtype == "float64" for row in both[0].rows)
    wrong = sum((row.dtype, row.status) == ("float64", "wrong") for row in both[1].rows)
    some = f"{right - wrong} right (float64), {wrong} wrong"
    assert cells["in float64"] == [f"{right} right (float64)", some]


def test_a_text_that_is_no_page_is_kept(tmp_path: Path, command: Command) -> None:
    mine = tmp_path / "notes.md"
    mine.write_text("# My notes\n")
    ended = command("profile", "--runtime", "no:such", "--page", mine)
    assert "notes.md" in ended.said_in_one_line()
    assert mine.read_text() == "# My notes\n"


@pytest.mark.parametrize(("ends", "status"), [(GrucibleError("no"), 2), (KeyboardInterrupt(), 130)])
def test_what_was_found_before_another_runtime_did_not_load_is_written(
    ends: BaseException,
    status: int,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def profile_of(name: str, *_: object) -> Profile:
        if name == "none":
            raise ends
        return of(run, SIDE_BY_SIDE, name)

    monkeypatch.setattr("grucible.check.cli.asking.profile_of", profile_of)
    page = tmp_path / "profiles.md"
    both = ("profile", "--runtime", "right", "--runtime", "none")
    assert command(*both, "--page", page).status == status
    assert "--runtime right --page" in page.read_text()
    [profile] = json.loads(command(*both, "--json").out)["profiles"]
    assert profile["runtime"]["name"] == "right"
