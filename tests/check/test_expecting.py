"""What an expectation says is expected of its cases; what is seen instead; which are stale, and too broad."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grucible import GrucibleError, Question, Report, Unsupported, verify
from grucible.check.expecting import globs
from grucible.check.expecting.globs import covering
from grucible.check.expecting.held import Held
from grucible.check.expecting.reading import load_expectations
from grucible.check.judging.expectations import Expectation, Expectations
from grucible.check.reports.terminal import headline, report_lines

from .numpy_gru import in_float32, run

PLAIN = "openvino.GRUCell-3/plain/float32/*"
CLIPPED = "openvino.GRUCell-3/plain/float32/*clip0.5*"
CELL_64 = "openvino.GRUCell-3/core/float64/*sigmoid_tanh*"
clip_ignored = partial(run, mistake="clip ignored")
CELLS = Path(__file__).parents[2] / "vectors" / "openvino" / "gru_cell" / "plain.h5"
KNOWN = Path(__file__).parents[2] / "check" / "known"


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
        (clip_ignored, how(message="in line"), "diagnosis clip-ignored"),
        (clip_ignored, how(message="expected"), "diagnosis clip-ignored"),
        (clip_ignored, how(diagnosis="unexplained"), ""),
        (clip_ignored, how(), ""),
        (fails, how(message="the  clip of"), ""),
        (fails, how(message="the reset gate"), 'an error, "ValueError: the clip of float32 in line 7'),
        (fails, how(diagnosis="clip-ignored"), 'an error, "ValueError: the clip'),
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
        assert f"expected {expected.in_words}; seen instead: {seen[:20]}" in text


@pytest.mark.parametrize(("observed", "status"), [("float32", 0), ("float64", 1), ("tf32", 1)])
def test_a_class_that_is_still_held(observed: str, status: int) -> None:
    glob = Expectation("*/float64/*", "in float32", observed=(observed,))
    report = judged(in_float32, glob, select=CELL_64, diagnosis=False)
    assert report.counts["failed"] > 0
    assert report.exit_status == status


def test_a_finer_class_of_the_chain_will_do() -> None:
    worse = Expectation("*/float64/*", "coarse", observed=("float32",))
    [one, *_] = [r for r in judged(in_float32, worse, select=CELL_64).results if r.expected]
    assert one.holds == ("float32",)
    coarsest = Expectation("*", "coarse", observed=("bfloat16-operands",))
    [found, *_] = judged(in_float32, coarsest).results
    assert found.holds[0] == "float32"
    assert "bfloat16-operands" in found.holds


def test_several_misreadings_alone_or_together() -> None:
    both = Expectation(CLIPPED, "known", diagnosis=("lbr-ignored", "clip-ignored"))
    assert judged(clip_ignored, both).exit_status == 0


def test_a_misreading_counts_though_another_is_named() -> None:
    """What a case was computed as, its outputs tell, whatever is named for all that failed together."""
    report = judged(clip_ignored)
    one = next(r.id for r in report.results if r.verdict == "failed")
    finding = replace(report.diagnosis.by_case[one], names=("h0-ignored",), alternatives=())
    other = replace(report.diagnosis, by_case={one: finding})
    expected = Expectation(one, "known", diagnosis=("clip-ignored",))
    result = next(r for r in report.results if r.id == one)
    assert Held([expected], other, report.failing).result(result).expected is expected
    assert Held([expected], other, []).result(result).expected is None


def test_without_a_diagnosis_none_is_expected() -> None:
    named = Expectation(CLIPPED, "known", diagnosis=("clip-ignored",), place="k.yaml:3")
    with pytest.raises(
        GrucibleError, match=r"k\.yaml:3: expects diagnosis clip-ignored .*--no-diag"
    ):
        judged(clip_ignored, named, diagnosis=False)


def stale(report: Report) -> dict[str, str]:
    return {use.expectation.cases: use.stale for use in report.uses if use.stale}


def test_what_is_of_no_use_any_more_is_stale() -> None:
    report = judged(
        run,
        Expectation(CLIPPED, "passes"),
        Expectation("*/float32/default", "passes"),
        Expectation("*/plain/float32/clip0.5", "of others, which were not judged, it is the first"),
        Expectation("*/plain/flaot32/*", "a slip"),
        select="*",
    )
    assert stale(report) == {
        CLIPPED: "every case of it passes",
        "*/float32/default": "its only case passes",
        "*/plain/flaot32/*": "names no case",
    }
    assert report.verdict == "conforms"
    assert report.exit_status == 1


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


def test_never_the_first_is_stale_too() -> None:
    glob, one = Expectation(CLIPPED, "all"), Expectation(CLIPPED.replace("*clip", "clip"), "one")
    report = judged(clip_ignored, glob, one, select="*")
    assert stale(report)[one.cases] == "never the first that names a case: others stand before it"
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


def test_stale_entries_may_be_allowed() -> None:
    gone = Expectation(CLIPPED, "passes")
    one = CLIPPED.replace("*clip", "clip")
    assert judged(run, gone, select=one).exit_status == 0  # others of its cases are left out
    report = judged(run, gone, select="*")
    assert (report.exit_status, headline(report).rpartition(", ")[2]) == (
        1,
        "1 expectation is stale",
    )
    assert judged(run, gone, select="*", allow_stale=True).exit_status == 0


def test_a_glob_that_is_too_broad_is_pointed_out() -> None:
    broad = Expectation("openvino.GRUCell-3/plain/*", "known", diagnosis=("clip-ignored",))
    report = judged(clip_ignored, broad)
    assert report.exit_status == 0
    text = " ".join(" ".join(report_lines(report)).split())
    assert "could excuse more than fails today:" in text
    assert "narrower: *clip0.5*" in text
    narrow = judged(clip_ignored, Expectation("*clip0.5*", "known", diagnosis=("clip-ignored",)))
    assert "could excuse more" not in " ".join(report_lines(narrow))


WRONG = {
    "observed: float23": "0.observed: there is no class 'float23'; did you mean 'float32'?; expected one of float64,",
    "diagnosis: clip-ignore": "0.diagnosis: there is no misreading 'clip-ignore'; did you mean 'clip-ignored'?; `grucible score` lists them",
    "diagnosis: [clip-ignored, x@y]": "there is no misreading 'x@y'",
    "diagnosis: z-scaled=much": "there is no misreading 'z-scaled=much'",
    "diagnosis: clip-ignored@last-unit": "there is no misreading 'clip-ignored@last-unit'",
    "diagnosis: r-squared@last-unit@last-unit": "there is no misreading 'r-squared@last-unit@last-unit'",
    "diagnosis: tanh-and-curve=1": "there is no misreading 'tanh-and-curve=1'",
    "diagnosis: []": "0.diagnosis: []; expected a text",
    "message: ''": "0.message: ''; expected a text",
    "message: [a, 7]": "0.message: ['a', 7]; expected a text",
}


@pytest.mark.parametrize("field", WRONG)
def test_unknown_names_are_refused_with_their_place(field: str, tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(f"- cases: '*'\n  reason: r\n  {field}\n")
    with pytest.raises(GrucibleError) as raised:
        load_expectations(file)
    assert str(raised.value).startswith(f"{file}:3: ")
    assert WRONG[field] in str(raised.value)


def test_a_name_that_no_file_can_have_is_one_line() -> None:
    with pytest.raises(
        GrucibleError, match=r"^'known\\x00\.yaml': no file can have such a name; expected"
    ):
        load_expectations(Path("known\0.yaml"))


def test_of_invalid_questions_only_a_message_is_expected(tmp_path: Path) -> None:
    file = tmp_path / "e.yaml"
    file.write_text("- cases: '*/invalid/*'\n  reason: r\n  observed: float32\n")
    with pytest.raises(GrucibleError, match="observed: is not said of invalid questions"):
        load_expectations(file)


def test_few_globs_match_all_and_nothing_else() -> None:
    ids = [
        f"op/{t}/{d}/{a}-{b}"
        for t in "pq"
        for d in ("x", "y")
        for a in ("lbr", "lbr0")
        for b in ("one", "two")
    ]
    wanted = [one for one in ids if "/lbr-" in one]
    assert covering(wanted, [one for one in ids if one not in wanted]) == (["*/lbr-*"], [])
    two = ["op/p/x/lbr-one", "op/q/y/lbr0-two"]
    assert covering(two, [one for one in ids if one not in two]) == ([], two)
    parts = ["op/p/x/clip-a", "op/p/y/clip-b"]
    assert covering(parts, ["op/clips/x/a", "op/p/x/a"]) == (["*/*/*/*clip*"], [])
    turned = ["op/p/x/two-one-a", "op/p/x/one-b", "op/p/y/two-b"]
    assert covering(["op/p/x/one-two-a", "op/q/y/one-two-b"], turned) == (["*-two-*"], [])
    odd = ["op/p/x/a[1]-b", "op/p/x/a[1]-c"]
    [glob], left = covering(odd, ["op/p/x/a1-b"])
    assert left == []
    assert Expectations([Expectation(glob, "r")]).of("op/p/x/a1-b") is None


def test_no_glob_is_sought_for_one_id_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(globs, "_best", None)
    assert globs.covering(["op/p/x/a"], ["op/p/x/b"]) == ([], ["op/p/x/a"])


@pytest.mark.parametrize("file", sorted(KNOWN.glob("*.yaml")), ids=lambda file: file.stem)
def test_each_known_finding_says_what_is_expected(file: Path) -> None:
    for one in load_expectations(file):
        assert one.says_how or "/invalid/" in one.cases or file.stem == "iree", one.place
