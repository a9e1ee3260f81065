"""`grucible compare A.json B.json`: what is worse, what is better, and files that are no reports."""

from __future__ import annotations

import copy
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from .conftest import HERE, Command, bad_usage
from .made import write_negated

CASES = ("passed", "failed", "error", "unsupported", "missing")


def report(**more: Any) -> dict[str, Any]:
    """A report with a case of every verdict, by its name."""
    made: dict[str, Any] = {
        "grucible_report": 3, "verdict": "does not conform", "interrupted": False,
        "runtime": {"name": "mine", "version": "1"},
        "asked": "./a.py:run", "vectors": {"path": "v.h5"},
        "arithmetic": {"float32": {"required": "float32", "observed": "float32", "compared": 9,
                                   "worst": {"ratio": 0.26, "id": "o/t/float32/a", "where": "Y[0]"}}},
        "diagnosis": [], "unexplained": 0,
        "cases": [case(name, name) for name in CASES],
    }  # fmt: skip
    return made | more


def case(name: str, verdict: str, tier: str = "required") -> dict[str, str]:
    return {"id": f"op/theme/float32/{name}", "tier": tier, "verdict": verdict, "message": "why"}


def asked(name: str, outcome: str = "refused") -> dict[str, Any]:
    return {"id": f"op/invalid/float32/{name}", "outcome": outcome, "decides": True}


def finding(*names: str, explains: int = 2) -> dict[str, Any]:
    return {"names": list(names), "about": " and ".join(names), "explains": explains}


def explained(
    *names: str, explains: int = 2, verdict: str = "failed", **more: Any
) -> dict[str, Any]:
    """A report with a finding, and the case that it explains, if any."""
    cases = [one for one in report()["cases"] if not one["id"].endswith("/failed")]
    cases.append(case("failed", verdict) | ({"diagnosis": list(names)} if names else {}))
    findings = [finding(*names, explains=explains)] * bool(names)
    return report(cases=cases, diagnosis=findings, **more)


def compared(
    folder: Path, command: Command, before: dict[str, Any], after: dict[str, Any]
) -> tuple[int, dict[str, Any], list[str]]:
    """The exit status, the JSON, and the lines."""
    (folder / "a.json").write_text(json.dumps(before))
    (folder / "b.json").write_text(json.dumps(after))
    told = command("compare", folder / "a.json", folder / "b.json", "--json")
    text = command("compare", folder / "a.json", folder / "b.json")
    assert text.status == told.status
    lines = text.out.splitlines()
    assert max(len(one) for one in lines if not one.startswith("start with: ")) <= 80
    return told.status, told.report, lines


def now(**verdicts: str) -> dict[str, Any]:
    """A report in which the cases of some verdicts have other ones."""
    return report(cases=[case(name, verdicts.get(name, name)) for name in CASES])


CHANGES = {
    ("passed", "failed"): "newly failing",
    ("passed", "error"): "newly ending in an error",
    ("passed", "missing"): "newly missing",
    ("passed", "unsupported"): "newly unsupported",
    ("failed", "unsupported"): "newly unsupported",
    ("error", "unsupported"): "newly unsupported",
    ("unsupported", "failed"): "newly failing",
    ("failed", "error"): "otherwise changed",
    ("error", "failed"): "otherwise changed",
    ("missing", "failed"): "otherwise changed",
    ("missing", "unsupported"): "otherwise changed",
    ("failed", "passed"): "newly passing",
    ("unsupported", "passed"): "newly passing",
}


@pytest.mark.parametrize(("was", "now_"), CHANGES)
def test_a_verdict_that_differs(was: str, now_: str, tmp_path: Path, command: Command) -> None:
    kind = CHANGES[was, now_]
    status, value, lines = compared(tmp_path, command, report(), now(**{was: now_}))
    worse = kind.startswith("new") and kind != "newly passing"
    assert status == (1 if worse else 0)
    assert value["outcome"] == ("worse" if worse else "better" if "passing" in kind else "same")
    [change] = value["changes"]
    assert change == {"id": f"op/theme/float32/{was}", "kind": kind, "before": was, "after": now_,
                      "message": "why"}  # fmt: skip
    assert lines[0].startswith(f"{value['outcome']}: ")
    assert {f"{kind}:", f"    {was} → {now_}: why"} <= {*lines}
    how = {"failed": ("trace v.h5", " --runtime ./a.py:run")}.get(now_, ("show v.h5", ""))
    see = f"grucible {how[0]} op/theme/float32/{was}{how[1]}" * (value["outcome"] == "worse")
    assert value["see"] == see
    assert (lines[-1] == f"start with: {see}") is bool(see)


FAILED = "op/theme/float32/passed"


@pytest.mark.parametrize(
    ("more", "see"),
    [
        ({"asked": "onnxruntime"}, f"grucible trace v.h5 {FAILED} --runtime onnxruntime"),
        ({"asked": "exec: sh -c 'curl x'"}, f"grucible trace v.h5 {FAILED} --runtime NAME"),
        (
            {"model": {"saved": ""}},
            f"the same command with --save FILE.h5, and then: grucible show FILE.h5 {FAILED}",
        ),
        ({"asked": "-m os:abort"}, f"grucible trace v.h5 {FAILED} --runtime NAME"),
        ({"asked": "exec: ./gru"}, f"grucible trace v.h5 {FAILED} --runtime 'exec: ./gru'"),
        ({"asked": "exec: ./../x"}, f"grucible trace v.h5 {FAILED} --runtime NAME"),
        ({"model": {"saved": "v.h5"}}, f"grucible trace v.h5 {FAILED} --runtime ./a.py:run"),
        ({"message": "asked again: off"}, f"grucible show v.h5 {FAILED}"),
        ({"required": {"atol": 1e-9}}, f"grucible show v.h5 {FAILED}"),
    ],
)
def test_the_next_command_is_one_that_works(
    more: dict[str, Any], see: str, tmp_path: Path, command: Command
) -> None:
    after = now(passed="failed")
    after["cases"][0]["message"] = more.pop("message", "why")
    after["arithmetic"]["float32"]["required"] = more.pop("required", "float32")
    assert compared(tmp_path, command, report(), after | more)[1]["see"] == see


def test_the_same(tmp_path: Path, command: Command) -> None:
    old = report(grucible_report=2)
    status, value, lines = compared(tmp_path, command, old, report())
    assert (status, value["worse"], value["better"]) == (0, [], [])
    assert lines[0] == "same: nothing is worse or better in the 5 cases of both"
    _, _, lines = compared(tmp_path, command, old, report(interrupted=True))
    assert " ".join(lines[:2]).split(";")[1].strip().startswith("`after` lacks cases")


@pytest.mark.parametrize(
    ("was", "observed", "outcome"),
    [
        ("float32", "float16-state", "worse"),
        ("float32", None, "worse"),
        ("float32", "float32", "same"),
        ("tf32", "float16-state", "same"),  # of two chains
    ],
)
def test_a_coarser_class_is_worse_and_a_larger_error_is_told(
    was: str, observed: str | None, outcome: str, tmp_path: Path, command: Command
) -> None:
    before, after = report(), report()
    before["arithmetic"]["float32"]["observed"] = was
    after["arithmetic"]["float32"] |= {
        "observed": observed,
        "worst": {"ratio": 0.81, "id": "o/t/float32/a"},
    }
    status, value, lines = compared(tmp_path, command, before, after)
    assert (status, value["outcome"]) == (int(outcome == "worse"), outcome)
    assert value["see"] == "grucible trace v.h5 o/t/float32/a --runtime ./a.py:run" * (
        outcome == "worse"
    )
    assert any("0.26 → 0.81" in line for line in lines)
    back = compared(tmp_path, command, after, before)
    assert back[1]["outcome"] == ("better" if outcome == "worse" else "same")


def test_findings(tmp_path: Path, command: Command) -> None:
    two = explained("clip-ignored", "lbr-ignored")
    one = explained("lbr-ignored", explains=3)
    new = explained("h0-ignored", unexplained=1)
    status, value, _ = compared(tmp_path, command, two, one)
    assert (status, value["worse"], len(value["better"])) == (0, [], 1)  # what is left of two
    status, value, lines = compared(tmp_path, command, two, new)
    assert (status, value["worse"]) == (1, ["new finding: h0-ignored"])
    assert "  new: h0-ignored [h0-ignored], 2 cases" in lines
    assert "  gone: clip-ignored and lbr-ignored [clip-ignored, lbr-ignored], 2 cases" in lines
    assert "  unexplained: 0 → 1 cases" in lines
    more = explained("lbr-ignored", explains=9)
    status, _, lines = compared(tmp_path, command, one, more)
    assert status == 0
    assert "  lbr-ignored: 3 → 9 cases" in lines


@pytest.mark.parametrize(
    "after",
    [
        explained("h0-ignored"),
        explained(unexplained=2),
        explained(),  # --no-diagnose
        explained(verdict="error"),
        explained(verdict="missing"),
    ],
)
def test_a_finding_that_another_mistake_may_hide_is_no_better(
    after: dict[str, Any], tmp_path: Path, command: Command
) -> None:
    value = compared(tmp_path, command, explained("clip-ignored"), after)[1]
    assert [one["names"] for one in value["diagnosis"]["gone"]] == [["clip-ignored"]]
    assert value["better"] == []


def test_what_is_left_of_a_mistake_is_no_news(tmp_path: Path, command: Command) -> None:
    """A reading is no mistake; what remains where cases newly pass is not worse by another name."""
    reading = "len-zero.initial-state"
    three = explained("state-in-float16", reading, "reverse-from-padding")
    one = explained("reverse-from-padding", explains=3)
    status, value, lines = compared(tmp_path, command, three, one)
    assert (status, value["worse"], value["diagnosis"]["new"]) == (0, [], [])
    [better] = value["better"]
    assert better.startswith("gone finding: state-in-float16 and ")
    assert better.endswith(" (of these, only state-in-float16 is gone)")
    assert not any(line.startswith("  new: ") for line in lines)
    cases = report()["cases"]
    passing = [entry | {"verdict": "passed", "message": "", "where": "Y[0]"} for entry in cases]
    mended = report(cases=passing, diagnosis=[finding("w-left-out")])
    status, value, lines = compared(
        tmp_path, command, report(diagnosis=[finding("h0-ignored")]), mended
    )
    assert (status, value["worse"]) == (0, [])
    assert [one["about"] for one in value["diagnosis"]["new"]] == ["w-left-out"]
    assert not any(line.rstrip().endswith(("Y[0]:", "passed:")) for line in lines)


def test_new_failures_that_nothing_explains_are_counted_first(
    tmp_path: Path, command: Command
) -> None:
    after = now(passed="failed", unsupported="failed")
    after["cases"][0]["unexplained"] = True
    value = compared(tmp_path, command, report(), after)[1]
    assert value["worse"] == ["2 cases newly failing, 1 of them unexplained"]


def test_another_reading_is_neither_worse_nor_better_but_told(
    tmp_path: Path, command: Command
) -> None:
    def following(*readings: str | None) -> dict[str, Any]:
        one = [{"reading": reading, "cases": 3} for reading in readings]
        return report(readings={"clip-nan": {"followed": one, "consistent": len(one) == 1}})

    status, value, lines = compared(tmp_path, command, following(None), following("clip-nan.other"))
    assert (status, value["outcome"]) == (0, "same")
    assert value["readings"] == {"clip-nan": ["as stored", "clip-nan.other"]}
    assert " ".join(" ".join(lines[:2]).split()).endswith(", but other readings are followed")
    assert "  clip-nan: as stored → clip-nan.other" in lines
    two = following("clip-nan.other", None)
    assert compared(tmp_path, command, two, following(None, "clip-nan.other"))[1]["readings"] == {}


def test_cases_of_one_alone_and_those_that_decide_nothing(tmp_path: Path, command: Command) -> None:
    odd = [case("odd", "passed", "nonportable")]
    both = report()["cases"]
    before = report(cases=[*both, *odd, case("old", "failed")])
    after = report(cases=[*both, case("odd", "failed", "nonportable"), case("new", "failed")])
    status, value, lines = compared(tmp_path, command, before, after)
    assert (status, value["outcome"], value["undecided"]) == (0, "same", 1)
    assert (value["new_cases"], value["gone_cases"]) == (
        ["op/theme/float32/new"],
        ["op/theme/float32/old"],
    )
    assert "  6 cases in both, 1 new, 1 gone" in lines


def test_invalid_questions_that_are_accepted(tmp_path: Path, command: Command) -> None:
    def with_outcome(outcome: str) -> dict[str, Any]:
        return report(refusals=[asked("x", outcome)])

    assert compared(tmp_path, command, with_outcome("refused"), with_outcome("obvious"))[0] == 1
    assert compared(tmp_path, command, with_outcome("garbage"), with_outcome("obvious"))[0] == 0
    found = compared(tmp_path, command, with_outcome("crash"), with_outcome("refused"))
    assert found[1]["better"] == ["1 invalid question refused now"]


def broken(**more: Any) -> str:
    return json.dumps(report() | more)


FOREIGN = {
    "": "Expecting value",
    "[" * 5000: "it is nested too deep",
    "{}": "grucible_report: Field required",
    broken(grucible_report=1): "grucible_report: Input should be 2 or 3",
    broken(cases=[{"id": "a"}]): "cases.0.tier: Field required",
    broken(cases=[case("x" * 20_000, "passed")]): "cases.0.id: String should have at most",
    broken().replace("0.26", '"-inf"'): "ratio",
    broken().replace("0.26", "NaN"): "NaN is no number of JSON",
    broken(cases=[case("a", "passed"), case("a", "failed")]): "has a case twice",
    broken(refusals=[asked("a", "garbage"), asked("a")]): "has an invalid question twice",
}


@pytest.mark.parametrize("text", FOREIGN, ids=[t[:30] or "empty" for t in FOREIGN])
def test_what_is_no_report(text: str, tmp_path: Path, command: Command) -> None:
    (tmp_path / "a.json").write_text(json.dumps(report()))
    (tmp_path / "b.json").write_text(text)
    said = command("compare", tmp_path / "a.json", tmp_path / "b.json").said_in_one_line()
    assert f"{tmp_path / 'b.json'}: " in said
    assert FOREIGN[text] in said


@pytest.mark.parametrize(
    ("before", "after"),
    [([], ["b"]), (["a"], []), (["a"], ["b"]), (["a"], ["a unasked"]), (["a unasked"], ["a"])],
)
def test_invalid_questions_that_are_not_in_both(
    before: list[str], after: list[str], tmp_path: Path, command: Command
) -> None:
    """Nothing was compared, so it is neither the same nor better: findings of other cases are not gone."""
    cases = {"a": ("passed", [finding("clip-ignored")], before), "b": ("other", [], after)}
    for name, (verdict, diagnosis, questions) in cases.items():
        refusals = [asked(*question.split()) for question in questions]
        made = report(cases=[case(verdict, "passed")], diagnosis=diagnosis, refusals=refusals)
        (tmp_path / f"{name}.json").write_text(json.dumps(made))
    said = command("compare", tmp_path / "a.json", tmp_path / "b.json").said_in_one_line()
    assert "have no case or invalid question in common" in said


def test_an_invalid_question_is_all_that_is_in_both(tmp_path: Path, command: Command) -> None:
    before = report(diagnosis=[finding("clip-ignored")], refusals=[asked("a", "garbage")])
    after = report(
        cases=[case("other", "passed")], diagnosis=[finding("h0-ignored")], refusals=[asked("a")]
    )
    after["arithmetic"]["float32"]["observed"] = "tf32"
    status, value, _ = compared(tmp_path, command, before, after)
    assert (status, value["worse"], value["better"]) == (0, [], ["1 invalid question refused now"])


def test_texts_of_strangers_are_escaped(tmp_path: Path, command: Command) -> None:
    after = now(passed="failed")
    after["cases"][0]["message"] = "\x1b[2Jgone\u202e"
    lines = compared(tmp_path, command, copy.deepcopy(report()), after)[2]
    assert any("\\x1b[2Jgone\\u202e" in line for line in lines)


@pytest.mark.usefixtures("in_this_process")
def test_reports_of_check(tmp_path: Path, command: Command) -> None:
    select = ("--select", "openvino.GRUSequence-5/core_with_zero/float32/*")
    for name, runtime in (("a", "numpy_gru.py:run"), ("b", "numpy_gru.py:keeps_h0")):
        written = ("--report", f"json={tmp_path / name}.json")
        assert command("check", "--runtime", HERE / runtime, *select, *written).status == 0
    ended = command("compare", tmp_path / "a.json", tmp_path / "b.json")
    assert (ended.status, ended.out[:6]) == (0, "same: ")
    wrong = write_negated(tmp_path / "wrong.py")
    command("check", "--runtime", wrong, *select, "--report", f"json={tmp_path / 'b.json'}")
    ended = command("compare", tmp_path / "a.json", tmp_path / "b.json")
    words = shlex.split(ended.out.splitlines()[-1].removeprefix("start with: grucible "))
    assert words[0] == "trace"
    ended = command(*words)
    assert (ended.status, " fails: " in ended.out) == (1, True)


def test_a_comparison_annotates_a_run_of_github_actions(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared(tmp_path, command, report(), now(passed="failed"))
    files = (tmp_path / "a.json", tmp_path / "b.json", "--report")
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    bad_usage(command("compare", *files, "github"), "GITHUB_STEP_SUMMARY is not set")
    bad_usage(command("compare", *files, "github="), "expected github=FILE, or github alone")
    bad_usage(command("compare", *files, "html=x"), "expected github=FILE, or github alone")
    bad_usage(command("compare", *files, f"github={files[0]}"), "a.json: is there already")
    written, page = tmp_path / "s.md", tmp_path / "page.md"
    assert command("compare", *files, f"github={written}").status == 1
    text = written.read_text()
    assert text.startswith(
        "## grucible compare: worse\n\n1 case newly failing\n\n```text\nworse: 1 case"
    )
    assert command("compare", *files, f"github={written}").status == 1  # its own file
    page.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    ended = command("compare", *files, "github")
    assert ended.err == "::error title=grucible compare::1 case newly failing\n"
    assert page.read_text() == f"before\n{text}"
    (tmp_path / "b.json").write_text(json.dumps(report()))
    same = command("compare", *files, "github").err
    assert same == "::notice title=grucible compare::nothing is worse or better\n"
