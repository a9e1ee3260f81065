"""Expectations: what they say of failures, which are stale or too broad, and lists that say it wrongly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grucible import GrucibleError, Question, Report, Unsupported, verify
from grucible.cases.selection import matches
from grucible.check.diagnosis.failing import FailingBlock
from grucible.check.diagnosis.finding import Diagnosis, Finding
from grucible.check.examples.my_gru import run as right
from grucible.check.expecting import apply_expectation, find_explaining, load_expectations
from grucible.check.grouping import Findings
from grucible.check.judging.case_result import CaseResult
from grucible.check.judging.expectations import Expectation, Expectations, find_globs
from grucible.check.listing import group_failures
from grucible.check.reports.terminal import headline, quiet_lines, report_lines

from .conftest import HERE, Command
from .made import CELL
from .numpy_gru import in_float32, run

PLAIN = "openvino.GRUCell-3/plain/float32/*"
CLIPPED = "openvino.GRUCell-3/plain/float32/*clip0.5*"
CELL_64 = "openvino.GRUCell-3/core/float64/*sigmoid_tanh*"
clip_ignored = partial(run, mistake="clip ignored")
CELLS = HERE.parents[1] / "vectors" / "openvino" / "gru_cell" / "plain.h5"
KNOWN = HERE.parents[1] / "check" / "known"
NUMPY = f"{HERE / 'numpy_gru.py'}:run"
WRONG = f"{HERE / 'misbehaving.py'}:nan"
pytestmark = pytest.mark.usefixtures("in_this_process")


def judged(runtime: Any, *expectations: Expectation, select: str = PLAIN, **more: Any) -> Report:
    """The report on cases of the core, or on all of the plain cells."""
    vectors, globs = (CELLS, []) if select == "*" else (None, [select])
    return verify(vectors, runtime=runtime, select=globs, expectations=expectations, **more)


def fails(question: Question) -> Mapping[str, Any]:
    if question.id.endswith("clip0.5"):
        raise ValueError(f"the clip of {question.dtype} in line 7")
    return run(question)


def how(**said: str) -> Expectation:
    fields: dict[str, Any] = {name: (value,) for name, value in said.items()}
    return Expectation(CLIPPED, "known", **fields)


@pytest.mark.parametrize(
    ("runtime", "expected", "seen"),
    [
        (clip_ignored, how(diagnosis="clip-ignored"), ""),
        (clip_ignored, how(diagnosis="lbr-ignored"), "diagnosis clip-ignored"),
        (clip_ignored, how(observed="bfloat16-gemm"), "diagnosis clip-ignored"),
        (clip_ignored, how(message="expected"), "diagnosis clip-ignored"),
        (clip_ignored, how(diagnosis="unexplained"), ""),
        (fails, how(message="the  clip of"), ""),
        (fails, how(message="the reset gate"), 'an error, "ValueError: the clip of float32 in line 7'),
        (fails, how(diagnosis="unexplained"), 'an error, "ValueError: the clip'),
        (fails, how(), ""),
    ],
)  # fmt: skip
def test_what_fails_otherwise_is_unexpected(runtime: Any, expected: Expectation, seen: str) -> None:
    report = judged(runtime, expected)
    assert bool(report.unexpected) is bool(seen)
    assert report.exit_status == (1 if seen else 0)
    for one in report.unexpected:
        assert one.expected is None
        assert one.instead is not None
        assert one.instead.seen.startswith(seen)
        assert one.instead.expectation is expected
    text = " ".join(" ".join(report_lines(report)).split())
    assert ("wrong in another way than expected" in text) is bool(seen)
    if seen:
        quiet = f"; 2 wrong in another way: {report.unexpected[0].id}; mend"
        assert quiet in next(quiet_lines(report))
        assert f"expected {expected.in_words}; seen instead: {seen[:20]}" in text


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (("clip-ignored",), True),
        (("clip-ignored", "h0-ignored"), True),
        (("lbr-ignored",), False),
        (("clip-ignored", "lbr-ignored"), False),
        (("reverse-ignored",), True),
        (("len-zero.initial-state", "clip-ignored"), True),
        (("len-zero.initial-state", "lbr-ignored"), False),
        (("len-zero.initial-state",), False),
        ((), False),
    ],
)
def test_names_of_a_finding_are_compared_with_those_expected(
    found: tuple[str, ...], expected: bool
) -> None:
    """All of its names, or of an alternative, are among the expected ones; no name is unexplained."""
    result = CaseResult("a", CELL, "required", "float32", "failed", message="expected 1, got 2")
    other = ("h0-ignored",) if found == ("reverse-ignored",) else ("lbr-ignored", "h0-ignored")
    finding = Finding(found, "misreading", "about", 1, 1, alternatives=(other,))
    diagnosis = Diagnosis([finding], by_case={"a": finding} if found else {})
    one = Expectation("a", "known", diagnosis=("clip-ignored", "h0-ignored"))
    assert (apply_expectation(result, one, diagnosis).expected is one) is expected
    assert apply_expectation(result, one, None).expected is one, "nobody looked for an explanation"


def test_a_misreading_counts_though_another_is_named() -> None:
    """One explanation is named for all that failed together; outputs of a case may be those of others."""
    report = judged(clip_ignored)
    one = next(r for r in report.results if r.verdict == "failed")
    finding = replace(report.diagnosis.by_case[one.id], names=("h0-ignored",), alternatives=())
    named = Diagnosis([finding], by_case={one.id: finding})
    part = next(part for part in report.failing if one.id in part.block.ids)
    failing = part, list(part.block.ids).index(one.id)
    expected = Expectation(one.id, "known", diagnosis=("lbr-ignored", "clip-ignored"))
    assert apply_expectation(one, expected, named, failing).expected is expected
    assert apply_expectation(one, expected, named).expected is None
    other = Expectation(one.id, "known", diagnosis=("lbr-ignored",))
    assert apply_expectation(one, other, named, failing).expected is None


def next_lengths(question: Question) -> Any:
    """Take the length of the next row; a row of length 0 hands its initial state out, as one may read it."""
    lengths = np.roll(question.inputs["sequence_lengths"], -1)
    given = {**question.inputs, "sequence_lengths": lengths}
    outputs = right(replace(question, inputs=given))
    outputs["Ho"][lengths == 0] = given["initial_hidden_state"][lengths == 0]
    return outputs


def test_an_accepted_reading_beside_a_mistake_is_none() -> None:
    """Nor is it a mistake that excuses another reading than in other cases."""
    known = Expectation("*", "known", diagnosis=("lengths-of-next-row",))
    report = judged(next_lengths, known, select="openvino.GRUSequence-5/core_with_zero/float32/*")
    assert (report.counts["failed"], report.unexpected) == (12, [])
    result, part, reading = report.expected_failures[0], report.failing[0], "len-zero.initial-state"
    names = (*known.diagnosis, reading)
    finding = Finding(names, "misreading", "next row", 1, 1, operator=result.operator)
    [(written, _)] = group_failures([result], Diagnosis([finding], by_case={result.id: finding}))
    assert written.diagnosis == known.diagnosis
    two = [replace(known, diagnosis=(name,)) for name in ("clip-ignored", *known.diagnosis)]
    both, bare = replace(finding, names=("clip-ignored", *names)), replace(result, expected=None)
    for some, one in (([known], finding), (two, both)):
        found = Findings(some).expectation(bare, one, None)
        assert found is not None
        assert found.diagnosis == one.names[:-1]
    assert find_explaining(known.diagnosis, part, 0) == known.diagnosis
    follows = FailingBlock(part.block, part.block.answers[reading,].outputs, part.criterion)
    assert find_explaining(["clip-ignored"], follows, 0) == (), "no clip is asked for"
    assert find_explaining([reading], follows, 0) == (reading,)


@pytest.mark.parametrize(("observed", "status"), [("float32", 0), ("float64", 1), ("tf32", 1)])
def test_a_class_of_arithmetic_that_still_applies(observed: str, status: int) -> None:
    glob = Expectation("*/float64/*", "in float32", observed=(observed,))
    report = judged(in_float32, glob, select=CELL_64, diagnosis=False)
    assert report.counts["failed"] > 0
    assert report.exit_status == status


def test_without_a_diagnosis_none_is_expected() -> None:
    named = Expectation(CLIPPED, "known", diagnosis=("clip-ignored",), place="k.yaml:3")
    said = r"k\.yaml:3: expects diagnosis clip-ignored .*--no-diag"
    with pytest.raises(GrucibleError, match=said):
        judged(clip_ignored, named, diagnosis=False)


def stale(report: Report) -> dict[str, str]:
    return {use.expectation.cases: use.stale for use in report.uses if use.stale}


def test_what_is_of_no_use_any_more_is_stale() -> None:
    expectations = (
        Expectation(CLIPPED, "passes"),
        Expectation("*/float32/default", "passes"),
        Expectation("*/plain/float32/clip0.5", "the first of other vectors, which were not judged"),
        Expectation("*/plain/flaot32/*", "a slip"),
    )
    report = judged(run, *expectations, select="*")
    assert stale(report) == {
        CLIPPED: "every case of it passes",
        "*/float32/default": "its only case passes",
        "*/plain/flaot32/*": "names no case",
    }
    assert report.verdict == "conforms"
    assert report.exit_status == 1
    assert headline(report).endswith(", 3 expectations are stale")
    assert judged(run, *expectations, select="*", allow_stale=True).exit_status == 0


def test_what_is_unsupported_fails_no_more() -> None:
    def declares(question: Question) -> Mapping[str, Any]:
        if question.id.endswith("-clip0.5"):
            raise Unsupported("no clip")
        return run(question)

    gone = Expectation(CLIPPED, "declared now")
    assert stale(judged(declares, gone, select="*")) == {
        CLIPPED: "no case of it fails: 1 passed, 1 unsupported"
    }
    required = judged(declares, gone, select="*", require=[CLIPPED])
    assert stale(required) == {}
    assert required.exit_status == 0


def test_what_is_expected_stands_beside_its_count() -> None:
    def kernel(question: Question) -> Mapping[str, Any]:
        if question.id.endswith("/lbr"):
            raise Unsupported("no lbr")
        if question.id.endswith(("/noB", "/default")):
            raise ValueError("no such model")
        return clip_ignored(question)

    report = judged(kernel, Expectation(CLIPPED, "known"), Expectation("*/noB", "known"))
    assert ", 2 failed, all of them expected, 2 errors, 1 of them expected, 1 uns" in headline(
        report
    )


def test_never_the_first_is_stale_too() -> None:
    glob, one = Expectation(CLIPPED, "all"), Expectation(CLIPPED.replace("*clip", "clip"), "one")
    others = "never the first that names a case: others stand before it"
    assert stale(judged(clip_ignored, glob, one, select="*")) == {one.cases: others}
    assert stale(judged(clip_ignored, one, glob, select="*")) == {}


def test_what_was_not_judged_is_not_stale() -> None:
    """Left out by a selection, or of other vectors than those given."""
    report = judged(
        run,
        Expectation(CLIPPED, "half of it selected"),
        Expectation("onnx.GRU-14/magnitudes/*", "no core case"),
        Expectation("*/plain/float64/*", "left out"),
        select="openvino.GRUCell-3/plain/float32/clip0.5",
    )
    assert stale(report) == {}
    assert [use.not_judged for use in report.uses] == [True, True, True]
    assert report.exit_status == 0
    text = " ".join(" ".join(report_lines(report)).split())
    assert "3 expectations name cases that were not judged here" in text


def test_a_glob_that_is_too_broad_is_pointed_out() -> None:
    broad = Expectation("openvino.GRUCell-3/plain/*", "known", diagnosis=("clip-ignored",))
    report = judged(clip_ignored, broad)
    assert report.exit_status == 0
    text = " ".join(" ".join(report_lines(report)).split())
    assert "could excuse more than fails today:" in text
    assert "narrower: *clip0.5*" in text
    narrow = judged(clip_ignored, Expectation("*clip0.5*", "known", diagnosis=("clip-ignored",)))
    assert "could excuse more" not in " ".join(report_lines(narrow))


WRONG_LISTS = {
    "cases: x\nreason: y\n": r":1: holds a dict; expected a list",
    "": r":1: holds nothing; expected a list",
    "- cases: '*'\n  reason: r\n  issue: 7\n": r":3: 0\.issue: is not a field here; expected cases, reason, link",
    "- cases: '*'\n  reason: r\n- cases: x\n": r":3: 1\.reason: is missing",
    "- cases: '*'\n  reason: 7\n": r":2: 0\.reason: 7; expected a text",
    "- cases: [a, 7]\n  reason: r\n": r":1: 0\.cases: 7; expected a text",
    "- cases: '*'\n  reason: r\n  link:\n": r":3: 0\.link: None; expected a text",
    "- !!python/object:os.system {}\n": r":1: tags are not allowed; leave tag:",
    "- cases: '*'\n  reason: r\n  observed: {float32: x}\n": r"observed: \{'float32': 'x'\}; expected a text",
    "- cases: '*'\n  reason: r\n  observed: float23\n": r":3: 0\.observed: there is no class 'float23' \(did you",
    "- cases: '*'\n  reason: r\n  diagnosis: clip-ignore\n": r":3: 0\.diagnosis: there is no misreading 'clip-",
    "- cases: '*'\n  reason: r\n  diagnosis: [clip-ignored, x@y]\n": r"there is no misreading 'x@y'",
    "- cases: '*'\n  reason: r\n  diagnosis: []\n": r"diagnosis: \[\]; expected a text",
    "- cases: '*/invalid/*'\n  reason: r\n  observed: float32\n": r"is not for invalid questions",
    "".join(
        f'- {{cases: "*a{i}*b*", reason: r}}\n' for i in range(1001)
    ): r"is the glob number 1001;",
    f"- {{cases: '{'*e' * 300}', reason: r}}\n": r"has more than 400 characters",
}


@pytest.mark.parametrize("text", WRONG_LISTS, ids=[t[:40] for t in WRONG_LISTS])
def test_a_list_that_says_it_wrongly_is_refused_with_its_line(
    text: str, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "e.yaml").write_text(text)
    said = command("check", "--runtime", WRONG, "--expect", tmp_path / "e.yaml").said_in_one_line()
    assert str(tmp_path / "e.yaml") in said
    assert re.search(WRONG_LISTS[text], said), said


@pytest.mark.parametrize(
    ("given_fields", "told"),
    [
        ({"message": ("",)}, "message: ('',); expected a text"),
        ({"observed": ("flaot32",)}, "there is no class 'flaot32' (did you mean 'float32'?)"),
        ({"diagnosis": "clip-ignored@last-hidden-unit"}, "there is no misreading"),
        ({"diagnosis": "z-scaled=much"}, "there is no misreading"),
        ({"cases": ""}, "cases: ''; expected a text"),
    ],
)
def test_an_expectation_that_nothing_meets_is_refused(
    given_fields: dict[str, Any], told: str
) -> None:
    with pytest.raises(GrucibleError, match=re.escape(told)):
        Expectation(**{"cases": "*", "reason": "known", **given_fields})


NAMES = st.sampled_from(["a", "b", "op/invalid/a", "op/made/b"])
CASES = st.one_of(NAMES, st.sampled_from(["*", "*a", "[ab]", "*/invalid/*", "*b"]))


@given(st.lists(CASES), NAMES)
def test_the_first_expectation_counts(globs: list[str], name: str) -> None:
    """Of those that name invalid questions, where it is one."""
    places = [
        place
        for place, glob in enumerate(globs)
        if matches(name, glob) and ("/invalid/" in glob or "/invalid/" not in name)
    ]
    known = Expectations([Expectation(glob, "known") for glob in globs])
    assert known.first(name) == min(places, default=None)


def test_what_the_command_reports_of_expectations(
    some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    file = tmp_path / "expect.yaml"
    file.write_text(
        "- cases: '*/b-*'\n  reason: NaN comes out\n  link: https://example.org/1\n"
        "- cases: '*/a-*'\n  reason: no longer so\n"
        "- {cases: 'zzz', reason: nobody}\n"
    )
    arguments = ["check", some_vectors, "--runtime", WRONG, "--expect", file]
    told = command(*arguments, "--json")
    report, cases = told.report, told.cases
    assert (told.status, report["verdict"]) == (1, "does not conform")
    summary = report["summary"]
    assert (summary["expected_failures"], summary["unexpected_passes"]) == (1, 1)
    link = "https://example.org/1"
    assert cases["b-bad"]["expected"] == {"reason": "NaN comes out", "link": link}
    assert "expected" not in cases["c-good"]
    found = {one["cases"]: one["stale"] for one in report["expectations"]}
    assert found == {"*/b-*": None, "*/a-*": "its only case passes", "zzz": "names no case"}
    ended = command(*arguments, "--allow-stale")
    assert ended.status == 0
    said = " ".join(ended.out.split())
    for line in ("1 failed, all of them expected, 1 passed unexpectedly",
                 "1 case: */b-* NaN comes out https://example.org/1",
                 "to take them out: give --write-expect in place of --expect",
                 f"{file}:4: */a-*: its only case passes", f"{file}:6: zzz: names no case"):  # fmt: skip
        assert line in said
    assert f"\n\npassed unexpectedly:\n  {CELL}/made/float32/a-good\n\n" in ended.out
    file.write_text("- {cases: '*/a-good', reason: not this one}\n")
    assert command(*arguments, "--allow-stale").status == 1, "no expectation names what fails"


WORDS = st.sampled_from(["clip", "lbr", "lbr0", "one", "a[1]", "x"])
IDS = st.builds(
    lambda *parts: "/".join([*parts[:3], "-".join(parts[3])]),
    st.sampled_from(["op", "other"]),
    st.sampled_from(["core", "plain"]),
    st.sampled_from(["f16", "f32"]),
    st.lists(WORDS, min_size=1, max_size=3),
)


@settings(max_examples=200)
@given(st.lists(IDS, min_size=1, unique=True), st.data())
def test_globs_match_what_is_wanted_and_nothing_else(ids: list[str], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.sampled_from(ids), min_size=1, unique=True))
    others = [one for one in ids if one not in wanted]
    globs, left = find_globs(wanted, others, most=3)
    assert len(globs) <= 3
    for glob in globs:
        assert sum(matches(one, glob) for one in wanted) > 1
        assert not any(matches(one, glob) for one in others)
    assert left == [one for one in wanted if not any(matches(one, glob) for glob in globs)]


def test_the_plainest_glob_is_found() -> None:
    for wanted, others, globs in [
        (["op/p/x/lbr-a", "op/q/y/lbr-b"], ["op/p/x/a", "op/q/y/b"], ["*lbr*"]),
        (["op/p/x/a", "op/q/x/b"], ["op/p/y/a"], ["*/x/*"]),
        (["op/p/x/noB", "op/q/y/noB"], ["op/p/x/lbr-noB"], ["*/noB"]),
        (["op/p/x/a"], ["op/p/x/b"], []),
    ]:
        assert find_globs(wanted, others, most=8) == (globs, [] if globs else wanted)


@pytest.mark.parametrize("file", sorted(KNOWN.glob("*.yaml")), ids=lambda file: file.stem)
def test_each_known_finding_says_what_is_expected(file: Path) -> None:
    for one in load_expectations(file):
        assert one.says_how or "/invalid/" in one.cases or file.stem == "iree", one.place
