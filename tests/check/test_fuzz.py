"""`grucible fuzz`: the same questions however they are made, and findings that others can check."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import make_until_killed

from grucible import GrucibleError, Question, Unsupported, answer, load_vectors, verify
from grucible.cases.dtypes import Array
from grucible.cases.errors import SpecError
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.signature import ABSENT
from grucible.cases.selection import Shard
from grucible.cases.specs.pairs import PairsAsked
from grucible.cases.specs.random_space import RandomSpace, load_spaces, usual_space
from grucible.cases.strict_json import format_json
from grucible.check.cli.fuzzing import _so_far, fuzz_lines
from grucible.check.cli.fuzzing import _write as write
from grucible.check.found import _found_before, write_found
from grucible.check.fuzz import EXPLAINED, PASSED, UNDIAGNOSED, UNEXPLAINED, Fuzzed, fuzz
from grucible.check.fuzz_report import fuzz_value, merge_fuzz
from grucible.check.grouping import KEPT, MORE, MOST_FINDINGS, Findings
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.judging.expectations import Expectation
from grucible.check.observed.source import FromRuntime
from grucible.check.runtimes.runtime import describe_runtime
from grucible.gen.making import make_random, open_or_make
from grucible.gen.posed import answered_case
from grucible.vectors.hdf5 import CORE

from .conftest import HERE, Command, Ended
from .numpy_gru import keeps_h0, run

CELL, SEQUENCE = "openvino.GRUCell-3", "openvino.GRUSequence-5"
Kernel = Callable[[Question], Mapping[str, Array]]


def fuzzed(kernel: Kernel, cases: int = 400, operator: str = CELL, **more: Any) -> Fuzzed:
    source = FromRuntime(describe_runtime("kernel", kernel))
    more = {"dtypes": ["float32"], **more}
    spaces = more.pop("spaces", [usual_space(operator)])
    criteria = more.pop("criteria", chosen_criteria())
    return fuzz(source, spaces, criteria, cases=cases, **more)


def small_clip_ignored(question: Question) -> Mapping[str, Array]:
    """Wrong in a corner: clip is ignored below 0.09."""
    return run(question, "clip ignored" if question.attributes["clip"] < 0.09 else "")


def space(folder: Path, text: str) -> RandomSpace:
    (folder / "mine.yaml").write_text(text)
    return load_spaces((folder / "mine.yaml",))[0]


MINE = """\
operator: openvino.GRUSequence-5
about: mine
dtypes: [float32]
sizes: {batch_size: 3, hidden_size: 2}
fixed: {direction: reverse}
cases:
  - random:
      seq_length: [{from: 2, to: 4}]
      input_size: [{value: 1, weight: 3}, 5]
      clip: [{from: 0.5, to: 2.0}, absent]
      activations: [{each: [tanh, relu]}]
      sequence_lengths: [{each: [{from: 0, to: 9}]}]
    exclude:
      - {input_size: 5, clip: absent}
"""


def bits(cases: Any) -> dict[str, list[bytes]]:
    """Everything of blocks by id: attributes, inputs, outputs and tolerances."""
    return {
        one.id: [repr(sorted(one.given.items())).encode()]
        + [a.tobytes() for a in one.inputs.values()]
        + [a.tobytes() for answer in one.answers.values() for a in answer.outputs.values()]
        for block in cases
        for one in block.cases()
    }


def test_a_question_is_the_same_from_any_chunk_and_any_command() -> None:
    streams = [(usual_space(SEQUENCE), "float32"), (usual_space("onnx.GRU-14"), "float16")]
    whole = make_random(streams, 3, 0, 90)
    found = bits(whole.blocks)
    assert len(found) > 80
    pieces: dict[str, list[bytes]] = {}
    for start, stop in itertools.pairwise((0, 1, 8, 51, 90)):
        pieces |= bits(make_random(streams, 3, start, stop).blocks)
    assert pieces == found
    for case_id in [*found][::23]:
        [block] = (rows.block for rows in open_or_make(None, (case_id,)).slices())
        assert bits([block]) == {case_id: found[case_id]}
    other = bits(make_random(streams, 4, 0, 90).blocks)
    assert not {repr(one) for one in other.values()} & {repr(one) for one in found.values()}


def test_an_answer_that_was_made_together_is_the_answer_alone() -> None:
    streams = [(usual_space(name), OPERATORS[name].dtypes()[-1]) for name in OPERATORS]
    made = make_random(streams, 0, 0, 180)
    for block in made.blocks:
        for case in block.cases() if block.tier != "nonportable" else ():
            alone = answered_case(case.question)
            assert (alone.tier, [*alone.stored]) == (case.tier, [*case.stored])
            for reading, found in alone.stored.items():
                for name, array in found.outputs.items():
                    np.testing.assert_array_equal(array, case.stored[reading].outputs[name])


def test_two_processes_ask_what_one_asks() -> None:
    def asked(jobs: int) -> list[str]:
        seen: list[str] = []

        def kernel(question: Question) -> Mapping[str, Array]:
            seen.append(repr((question.id, question.given, question.inputs["X"].tobytes())))
            return run(question)

        fuzzed(kernel, 300, jobs=jobs)
        return seen

    assert asked(1) == asked(2)


def test_values_are_drawn_as_the_space_says(tmp_path: Path) -> None:
    mine = space(tmp_path, MINE)
    cases = [mine.case("float32", 0, number).factors for number in range(8000)]
    assert {one["batch_size"] for one in cases} == {3}
    assert {one["seq_length"] for one in cases} == {2, 3, 4}
    assert {tuple(one["activations"]) for one in cases} == {
        ("tanh", "tanh"), ("tanh", "relu"), ("relu", "tanh"), ("relu", "relu"),
    }  # fmt: skip
    assert all(
        one["clip"] == ABSENT or (0.5 <= one["clip"] <= 2 and len(str(one["clip"])) < 6)
        for one in cases
    )
    for one in cases:
        assert len(one["sequence_lengths"]) == 3
        assert max(one["sequence_lengths"]) <= one["seq_length"]
    assert any(0 in one["sequence_lengths"] for one in cases)
    assert not any((one["input_size"], one["clip"]) == (5, ABSENT) for one in cases)
    # 250 shapes; of input_size 5 no assignment is lost, only its clip is drawn again
    share = Counter(one["input_size"] for one in cases)[5] / len(cases)
    assert abs(share - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 250)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("{from: 2, to: 4}", "{from: 4, to: 2}", 8),
        ("{from: 2, to: 4}", "{from: 2, to: 4.5}", 8),
        ("{from: 0.5, to: 2.0}", "{from: 0.5, to: .inf}", 10),
        ("[tanh, relu]", "[tanh, Relu]", 11),
        ("{from: 0, to: 9}", "{from: -1, to: 9}", 12),
        ("weight: 3", "weight: 0", 9),
        ("{batch_size: 3, hidden_size: 2}", "{hidden_size: 2}", 4),
        ("{direction: reverse}", "{}", 5),
    ],
)
def test_a_wrong_space_is_refused_by_its_line(
    old: str, new: str, line: int, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match=rf"mine\.yaml:{line}: "):
        space(tmp_path, MINE.replace(old, new))


def test_a_space_is_no_list_of_cases(command: Command, tmp_path: Path) -> None:
    space(tmp_path, MINE)
    assert "random has no end" in command("cases", tmp_path / "mine.yaml").said_in_one_line()
    (tmp_path / "mine.yaml").write_text(MINE.partition("  - random")[0] + "  - list: [{}]\n")
    with pytest.raises(SpecError, match="expected random"):
        load_spaces((tmp_path / "mine.yaml",))


def test_a_space_of_mine_has_ids_and_a_name_of_its_own(command: Command, tmp_path: Path) -> None:
    space(tmp_path, MINE)
    mine, runtime = tmp_path / "mine.yaml", f"{Path(__file__).parent / 'numpy_gru.py'}:run"

    def check(case_id: str) -> Ended:
        return command("check", mine, "--select", case_id, "--runtime", runtime)

    out = check(f"{SEQUENCE}/mine/float32/0-1").out
    assert f"1 file of {mine}" in " ".join(out.split())
    assert "SEED-NUMBER" in check(f"{SEQUENCE}/mine/float32/1").said_in_one_line()
    (tmp_path / "fuzz.yaml").write_text(MINE)
    with pytest.raises(GrucibleError, match=r"fuzz\.yaml: has the ids of the built-in space"):
        load_spaces((tmp_path / "fuzz.yaml",))


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_built_in_space_reaches_every_value(operator: str, tmp_path: Path) -> None:
    """But for parameters without meaning, each value of each factor is in a case that could be made."""
    mine = usual_space(operator)
    pairs, made = PairsAsked(mine), 0
    for number in range(4000):
        try:
            case = mine.case(OPERATORS[operator].dtypes()[0], 0, number)
        except GrucibleError:
            continue
        made += 1
        pairs.see(case.factors, compared=False)
    asked, compared, offered = pairs.counts()
    assert made > 3900
    assert compared == 0
    assert len(pairs.never_asked()) <= offered - asked < 0.2 * offered
    again = space(tmp_path, mine.spec.document.text)  # what --space prints
    assert again.spec.model == mine.spec.model


def test_pairs_never_asked_are_pairs_that_a_case_could_have(tmp_path: Path) -> None:
    mine = space(tmp_path, MINE)
    pairs = PairsAsked(mine)
    seen = [mine.case("float32", 0, number) for number in range(64)]
    some = [one for one in seen if one.factors["input_size"] == 1]
    assert some != seen
    for one in some:
        pairs.see(one.factors, compared=one.factors["clip"] == ABSENT)
    never = pairs.never_asked()
    assert "clip given with input_size 2-16" in never
    assert "clip absent with input_size 2-16" not in never  # it is excluded
    asked, compared, offered = pairs.counts()
    assert 0 < compared < asked < offered


def test_a_right_kernel_gives_no_finding_and_no_promise(command: Command, tmp_path: Path) -> None:
    module = Path(__file__).parent / "numpy_gru.py"
    ended = command("fuzz", "--runtime", f"{module}:run", "--operator", CELL, "--cases", 40,
                    "--jobs", 1, "-o", tmp_path / "found")  # fmt: skip
    assert ended.status == 0
    assert ended.out.startswith("no unexpected finding in ")
    assert "conforms" not in ended.out
    assert not (tmp_path / "found").exists()


def test_replayed_failures_do_not_make_certain_what_others_refute(tmp_path: Path) -> None:
    def large_clip_ignored(question: Question) -> Mapping[str, Array]:
        return run(question, "clip ignored" * (question.attributes["hidden_size"] > 6))

    first = fuzzed(large_clip_ignored, 300)
    assert re.match(r"fuzzing \(1 finding, \d+ cases a second, \d+ % of pairs", _so_far(first))
    [path] = write_found(first, tmp_path)
    found = fuzzed(large_clip_ignored, 256, replay=open_or_make(path))
    assert found.replayed > 2
    [one] = found.new
    assert one.about.startswith(("perhaps: ", "clip ignored, first seen where the hidden size is "))
    before = {case.id for case in load_vectors(path)}
    assert all(re.search(r"/shrunk/float32/fuzz\.[0-9-]+\.whole$", one) for one in before)
    write_found(found, tmp_path)
    after = {case.id for case in load_vectors(path)}
    assert before <= after
    assert not any(one.count(".whole") > 1 for one in after)
    source = FromRuntime(describe_runtime("kernel", large_clip_ignored))
    found.shrink(source, lambda _: None)
    assert not any(".whole" in one.question.id for one in found.new[0].shrunk)
    only = fuzzed(large_clip_ignored, 2, shard=Shard(3, 4), replay=open_or_make(path))
    assert (only.asked_to, only.replayed) == (0, len(after))
    assert sum(one.count for one in only.new) == only.counts["failed"] == len(after)


def test_a_mistake_that_the_core_misses_is_found_shrunk_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = verify(runtime=small_clip_ignored, select=f"{CELL}/*/float32/*")
    assert core.verdict == "conforms"
    found = fuzzed(small_clip_ignored, 800)
    [one] = found.new
    assert "clip ignored" in one.about
    assert one.count == found.counts["failed"] > 2
    assert "clip ignored [clip-ignored]" in " ".join(" ".join(fuzz_lines(found)).split())
    assert found.exit_status == 1
    source = FromRuntime(describe_runtime("kernel", small_clip_ignored))
    found.shrink(source, lambda _: None)
    assert one.shrunk
    [path] = write_found(found, tmp_path)
    ids = [case.id for case in load_vectors(path)]
    assert one.shrunk[0].question.id in ids
    wrong, right = (verify(path, runtime=kernel) for kernel in (small_clip_ignored, run))
    assert right.verdict == "conforms"
    assert wrong.counts["failed"] == len(ids)
    assert [finding.about for finding in wrong.diagnosis.findings] == ["clip ignored"]
    again = fuzzed(run, 1, replay=open_or_make(path))
    assert (again.replayed, again.new) == (len(ids), [])
    once_more = fuzzed(small_clip_ignored, 1, replay=open_or_make(path))
    assert not {"new", "new,"} & {
        *" ".join(fuzz_lines(once_more)).split()
    }  # the file has it already
    both = ([*once_more.new], [one])  # shrunk cases alone make nothing certain
    seen, first = ([each.about.removeprefix("perhaps: ") for each in some] for some in both)
    assert seen == first
    place = os.open(tmp_path, os.O_RDONLY)
    locked = []

    def before(path: Path) -> Any:
        with pytest.raises(BlockingIOError):  # no other run reads what this one replaces
            fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked.append(path)
        return _found_before(path)

    monkeypatch.setattr("grucible.check.found._found_before", before)
    write_found(once_more, tmp_path)
    fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(place)
    assert locked == [path]
    assert {*ids} <= {case.id for case in load_vectors(path)}


@pytest.mark.parametrize(
    ("glob", "diagnosis", "status"),
    [
        (f"{CELL}/*/float32/*clip*", "clip-ignored", 0),
        ("*/float32/*", "clip-ignored", 0),
        (f"{CELL}/core/*-clip0.1-n7", "clip-ignored", 0),
        ("*/float??/*", "clip-ignored", 0),
        (f"{SEQUENCE}/*/float32/*clip*", "clip-ignored", 1),
        ("*/float16/*clip*", "clip-ignored", 1),
        ("*", "lbr-assumed", 1),
        ("*/float32/*", "unexplained", 0),
        (f"{CELL}/core/*-clip0.1-n7", "unexplained", 1),
        (f"{CELL}/core/*-clip0.1-n7", ("unexplained", "lbr-assumed"), 1),
        (f"{CELL}/core/*-clip0.1-n7", ("unexplained", "clip-ignored"), 0),
    ],
)
def test_an_expected_finding_is_none(glob: str, diagnosis: Any, status: int) -> None:
    expected = [Expectation(glob, "known", diagnosis=diagnosis)]
    found = fuzzed(small_clip_ignored, 800, expectations=expected)
    assert found.counts["failed"]
    assert found.exit_status == status


def test_mistakes_that_are_expected_are_known_together() -> None:
    def kernel(question: Question) -> Mapping[str, Array]:
        if question.attributes["clip"] >= 0.09:
            return run(question)
        without = replace(question, given={**question.given, "clip": np.inf})
        return run(without, "linear_before_reset inverted")

    names = ("clip-ignored", "lbr-assumed", "lbr-ignored")
    expected = [Expectation("*", f"known: {name}", diagnosis=(name,)) for name in names]
    found = fuzzed(kernel, 800, expectations=expected)
    assert (found.new, found.exit_status) == ([], 0)
    reasons = {e.reason for one in found.findings.values() for e in one.expected.values()}
    assert any("known: clip-ignored; known: lbr-" in reason for reason in reasons)
    assert fuzzed(kernel, 800, expectations=expected[1:]).new


@pytest.mark.parametrize(("noise", "is_new"), [(1e-7, False), (1e-3, True)])
def test_a_known_mistake_is_known_where_right_numbers_are_tiny(noise: float, is_new: bool) -> None:
    """Then little is admitted, and rounding errors are more than that."""
    tiny = open_or_make(None, ("onnx.GRU-14/fuzz/float32/1-1253",))

    def kernel(question: Question) -> Mapping[str, Array]:
        if question.id not in tiny.ids:
            raise Unsupported("no other")
        given = {k: v for k, v in question.given.items() if k not in ("activations", "clip")}
        found = answer(question.operator, given, question.inputs).answer.outputs
        of = np.random.default_rng(0)
        return {
            name: found[name] + of.uniform(-noise, noise, one.shape).astype(np.float32)
            for name, one in question.outputs.items()
        }

    expected = [Expectation("*", "known", diagnosis=("activations-ignored", "clip-ignored"))]
    found = fuzzed(kernel, 1, "onnx.GRU-14", expectations=expected, replay=tiny)
    assert bool(found.new) is is_new


def test_a_new_mistake_is_not_shrunk_to_a_known_one() -> None:
    def kernel(question: Question) -> Mapping[str, Array]:
        outputs = dict(small_clip_ignored(question))
        if question.attributes["clip"] < 0.09 and question.inputs["X"].shape[0] > 2:
            outputs["Ho"][2] += np.float32(0.37) * question.inputs["X"][2, 0]
        return outputs

    expected = [Expectation("*", "known", diagnosis=("clip-ignored",))]
    found = fuzzed(kernel, 800, expectations=expected)
    assert found.new
    assert [one for one in found.findings.values() if not one.new]
    found.shrink(FromRuntime(describe_runtime("kernel", kernel)), lambda _: None)
    for one in found.new:
        assert {small.question.inputs["X"].shape[0] for small in one.shrunk} == {3}


def test_an_expectation_of_one_case_excuses_no_other() -> None:
    cases = fuzzed(small_clip_ignored, 300).new[0].cases
    assert len(cases) > 1
    for block, _ in cases:
        expected = [Expectation(block.ids[0], "this one alone")]
        found = fuzzed(small_clip_ignored, 300, expectations=expected)
        known = [one.count for one in found.findings.values() if not one.new]
        assert known == [1]
        assert 1 + sum(one.count for one in found.new) == found.counts["failed"]
        assert found.exit_status == 1


def test_two_readings_are_excused_by_no_arithmetic() -> None:
    def kernel(question: Question) -> Mapping[str, Array]:
        return (keeps_h0 if question.inputs["X"].shape[-1] % 2 else run)(question)

    every = [Expectation("*", "in float32", observed=("float32",))]
    found = fuzzed(kernel, 300, SEQUENCE, expectations=every)
    assert [one.about.partition(" (")[0] for one in found.new] == ["two readings of one point"]


def test_zeros_within_huge_tolerances_are_not_compared() -> None:
    def zeros(question: Question) -> Mapping[str, Array]:
        return {name: 0 * array for name, array in run(question).items()}

    found = fuzzed(zeros, 64, criteria=chosen_criteria(rtol=1e9, atol=1e9))
    assert found.undeciding > 50
    assert (found.counts["passed"], found.exit_status) == (0, 1)
    asked, compared, _ = found.pairs[f"{CELL}/fuzz"].counts()
    assert asked > compared == 0


def test_what_was_not_diagnosed_is_not_called_unexplained() -> None:
    noise = np.random.default_rng(0)

    def kernel(question: Question) -> Mapping[str, Array]:
        outputs = run(question)
        return {k: v + noise.normal(0, 0.1, v.shape).astype(v.dtype) for k, v in outputs.items()}

    found = fuzzed(kernel, 256)
    counts = {one.about.partition(", open")[0]: one.count for one in found.new}
    assert counts.keys() >= {UNEXPLAINED, UNDIAGNOSED}
    assert counts[UNEXPLAINED] <= 2 * EXPLAINED < found.counts["failed"] == sum(counts.values())


def test_what_nothing_explains_has_a_place(tmp_path: Path) -> None:
    def kernel(question: Question) -> Mapping[str, Array]:
        found = {name: np.array(array) for name, array in run(question).items()}
        if len(question.inputs["X"]) >= 3:
            odd = np.sin(1e3 * question.inputs["X"].astype(np.float64).sum(axis=1))
            found["Ho"][:, -1] += odd.astype(found["Ho"].dtype)
        return found

    [one] = fuzzed(kernel, dtypes=["float32"]).new
    assert one.about.startswith(UNEXPLAINED)
    place = "all of these are cases where the batch size is 3 or more, and "
    place += "none of the passed cases that were looked at is one"
    assert place in one.hints
    found = fuzzed(kernel, dtypes=["float32"])
    assert f"the first of these: {place}" in " ".join(" ".join(fuzz_lines(found)).split())
    (tmp_path / "a.json").write_text(format_json(fuzz_value(found)))
    assert [again.hints for again in merge_fuzz([tmp_path / "a.json"]).new] == [one.hints]


def test_errors_are_one_finding_for_each_message() -> None:
    def kernel(question: Question) -> Mapping[str, Array]:
        rows, size = question.inputs["X"].shape
        if rows == 3:
            raise ValueError(f"no row {size} here")
        if size == 1:
            raise ValueError("too narrow")
        return run(question)

    found = fuzzed(kernel)
    assert {one.about.partition("(")[0].split()[-1] for one in found.new} >= {"here", "narrow"}
    assert sum(one.count for one in found.new) == found.counts["error"]
    for theme, new in (("core", 0), ("invalid", 1)):
        glob = f"{CELL}/{theme}/float32/default"
        expected = [Expectation(glob, "known", message=("no row", "narrow"))]
        assert fuzzed(kernel, 100, expectations=expected).exit_status == new


def test_a_kernel_that_remembers_is_found() -> None:
    calls = itertools.count()

    def kernel(question: Question) -> Mapping[str, Array]:
        wrong = next(calls) >= 256  # what is asked again after the first chunk
        return run(question, "clip ignored" if wrong else "")

    found = fuzzed(kernel, 256, dtypes=["float32", "float64"])
    assert found.asked_again > 0
    assert any("give another answer, as with kept state" in one.about for one in found.new)


def test_an_error_when_asked_again_is_counted_as_one() -> None:
    calls = itertools.count()

    def kernel(question: Question) -> Mapping[str, Array]:
        if next(calls) >= 256:
            raise ValueError("worn out")
        return run(question)

    found = fuzzed(kernel, 256)
    assert found.counts["error"]
    assert not found.counts["failed"]


def test_a_failure_that_does_not_come_back_is_kept_and_named(tmp_path: Path) -> None:
    calls = itertools.count()

    def kernel(question: Question) -> Mapping[str, Array]:
        return {k: v + (next(calls) == 30) for k, v in run(question).items()}

    found = fuzzed(kernel, 64)
    [one] = found.new
    found.shrink(FromRuntime(describe_runtime("kernel", run)), lambda _: None)
    assert "does not fail" in one.unsteady
    [path] = write_found(found, tmp_path)
    assert len(list(load_vectors(path))) == one.count == 1


def test_memory_holds_bounded_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grucible.check.fuzz.PASSED_BYTES", 40_000)
    number = itertools.count()

    def kernel(question: Question) -> Mapping[str, Array]:
        if len(question.given) > 2:
            return run(question)
        letters = np.base_repr(next(number), 26).translate(
            str.maketrans("0123456789", "qrstuvwxyz")
        )
        raise ValueError(f"no {letters}x")

    found = fuzzed(kernel, 900)
    assert found.counts["error"] > MOST_FINDINGS
    assert len(found.findings) == MOST_FINDINGS + 1
    assert found.findings[MORE, False].count == found.counts["error"] - MOST_FINDINGS
    assert max(len(one.cases) for one in found.findings.values()) <= KEPT
    assert 0 < len(found._passed) <= PASSED
    assert sum(block.nbytes for block in found._passed) <= 40_000
    assert all(len(block) == 1 for one in found.findings.values() for block, _ in one.cases)
    monkeypatch.setattr("grucible.check.grouping.KEPT_BYTES", 0)
    [one] = fuzzed(small_clip_ignored, 300).new
    assert one.count > len(one.cases) == 1


def test_nothing_compared_is_no_success() -> None:
    def nothing(_: Question) -> Mapping[str, Array]:
        raise Unsupported("nothing")

    found = fuzzed(nothing, 40)
    assert (found.new, found.exit_status) == ([], 1)


def test_the_report_says_why_questions_are_unsupported() -> None:
    def small(question: Question) -> Mapping[str, Array]:
        rows, size = question.inputs["X"].shape
        if rows > 1:
            raise Unsupported(f"a batch of {rows}")
        if size > 1:
            raise Unsupported("wide inputs")
        return run(question)

    found = fuzzed(small)
    lines = list(fuzz_lines(found))
    at = lines.index("declared unsupported by the runtime:")
    said = [re.sub(r"[ \d]+", " ", line).strip() for line in lines[at + 1 : at + 3]]
    assert said == ["a batch of", "wide inputs"]
    assert found.unsupported.total() == found.counts["unsupported"]
    again = json.loads(format_json(fuzz_value(found)))["unsupported"]
    assert Counter(again) == found.unsupported


def test_ctrl_c_keeps_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def stop(_: Fuzzed) -> None:
        raise KeyboardInterrupt

    found = fuzzed(small_clip_ignored, 2000, advance=stop)
    assert found.interrupted
    assert found.exit_status == 130
    assert capsys.readouterr().err == "interrupted: the report follows\n"
    assert found.counts.total() + found.undeciding + found.undrawn.total() == found.asked_to < 2000
    write(replace(found, findings=Findings()), tmp_path, None)
    assert capsys.readouterr().out.endswith("the same command with --seed 1 asks other questions\n")


def test_an_error_of_our_own_while_shrinking_loses_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise KeyError("a defect")

    found = fuzzed(small_clip_ignored, 400)
    monkeypatch.setattr("grucible.check.fuzz.shrink", breaks)
    found.shrink(FromRuntime(describe_runtime("kernel", small_clip_ignored)), lambda _: None)
    assert "shrinking broke off: KeyError: 'a defect'" in capsys.readouterr().err
    [path] = write_found(found, tmp_path)
    assert len(list(load_vectors(path))) >= len(found.new) > 0


def test_ctrl_c_while_shrinking_is_said(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Fuzzed, "shrink", interrupted)
    (tmp_path / "zeros.py").write_text(
        "import numpy as np\n"
        "def run(question):\n"
        "    return {name: np.zeros(one.shape, one.dtype) for name, one in question.outputs.items()}\n"
    )
    ended = command("fuzz", "--runtime", f"{tmp_path / 'zeros.py'}:run", "--operator", CELL,
                    "--dtype", "float32", "--cases", 20, "-o", tmp_path / "found")  # fmt: skip
    assert (ended.status, ended.err.count("interrupted: the report follows")) == (130, 1)
    assert ended.out.partition("\n\n")[0].count("interrupted") == 1


def test_ctrl_c_in_a_diagnosis_leaves_counts_that_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    def diagnose(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("grucible.check.fuzz.diagnose", diagnose)
    found = fuzzed(small_clip_ignored, 2000)
    assert (found.interrupted, found.exit_status) == (True, 130)
    assert found.counts.total() + found.undeciding + found.undrawn.total() == found.asked_to < 2000
    assert sum(one.count for one in found.new) == found.counts["failed"] > 0


def test_a_process_that_is_killed_loses_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grucible.check.fuzz.FIRST", 64)
    monkeypatch.setattr("grucible.check.fuzz.make_random", make_until_killed)
    found = fuzzed(lambda question: run(question, "clip ignored"), 600, jobs=2)
    assert "was killed" in found.stopped
    assert found.new[0].count == found.counts["failed"] > 0
    assert found.exit_status == 1


def test_an_error_of_a_diagnosis_loses_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def diagnose(*_: object) -> None:
        raise GrucibleError("the runtime is gone")

    monkeypatch.setattr("grucible.check.fuzz.diagnose", diagnose)
    found = fuzzed(small_clip_ignored, 600)
    assert (found.stopped, found.asked_to) == ("the runtime is gone", 256)
    [one] = found.new
    assert one.about.startswith(UNDIAGNOSED)
    assert one.count == found.counts["failed"] > 0


def test_a_place_is_that_of_the_first_cases() -> None:
    calls = itertools.count()

    def kernel(question: Question) -> Mapping[str, Array]:
        wrong = next(calls) > 300 or question.inputs["X"].shape[0] == 3
        return run(question, "linear_before_reset inverted" if wrong else "")

    about = [one.about for one in fuzzed(kernel, 600).new if one.diagnosis]
    assert any(
        one.endswith("taken the other way round, first seen where the batch size is 3")
        for one in about
    )
    assert all(", where" not in one for one in about)


def test_what_stands_in_the_way_is_named_before_the_first_question(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "asked.py").write_text("def run(question):\n    raise SystemExit('asked')\n")
    path = tmp_path / "found" / f"{CELL}.h5"
    path.parent.mkdir()
    shipped = next(CORE.rglob("core.h5"))

    def line() -> str:
        return command("fuzz", "--runtime", f"{tmp_path / 'asked.py'}:run", "--operator", CELL, "--cases",
                       40, "--jobs", 1, "-o", path.parent).said_in_one_line()  # fmt: skip

    path.write_text("mine")
    assert f"{path}: " in line()
    path.write_bytes(shipped.read_bytes())
    assert f"{path}: holds other cases" in line()
    assert path.read_bytes() == shipped.read_bytes()


def test_a_kernel_that_is_wrong_with_other_rows_keeps_these() -> None:
    first: dict[str, Array] = {}

    def kernel(question: Question) -> Mapping[str, Array]:
        x = question.inputs["X"]
        same = np.array_equal(first.setdefault(question.id, x), x)
        return {name: array + (not same) for name, array in run(question).items()}

    [one] = fuzzed(kernel, 256).new
    assert "with other rows of their batch" in one.about
    assert "another answer" not in one.about
    for block, _ in one.cases:
        assert not np.array_equal(first[block.ids[0]], block.question(0).inputs["X"])


def test_hostile_values_decide_nothing() -> None:
    def kernel(question: Question) -> Mapping[str, Array]:
        if not all(np.isfinite(array).all() for array in question.inputs.values()):
            raise ValueError("no NaN here")
        return run(question)

    found = fuzzed(kernel, 600)
    assert found.undeciding > 20
    assert not found.new
    assert not found.counts["error"]


def test_a_program_is_asked_what_its_hello_names(command: Command, tmp_path: Path) -> None:
    program = f"exec: {sys.executable} -I -S {HERE / 'mistaken.py'} pass"
    out = tmp_path / "found"
    asked = ("fuzz", "--runtime", program, "--cases", "24", "--jobs", "1", "-o", out)
    printed = command(*asked).out
    [row] = re.findall(r"^(\w+\.[\w-]+) +(\w+) +\S+ +\d+ .*$", printed, re.M)
    assert row == ("openvino.GRUSequence-5", "float32")
    assert f"grucible check {out / 'openvino.GRUSequence-5.h5'} --runtime 'exec: " in printed
    nowhere = command(*asked, "--replay", tmp_path / "nothere").said_in_one_line()
    assert "'--replay': Path" in nowhere
    nothing = command(*asked, "--operator", CELL).said_in_one_line()
    assert "the program's hello names openvino.GRUSequence-5 alone; leave --operator out" in nothing


def test_reasons_that_are_alike_are_counted_together_however_reports_are_merged() -> None:
    def left_out(*shares: int) -> Fuzzed:
        counts = Counter(f"{share} % of float32" for share in shares)
        return Fuzzed("", "", 0, (), {}, Findings(), undrawn=counts)

    for parts in itertools.permutations([left_out(62, 62, 51), left_out(7, 7), left_out(51)]):
        found = left_out()
        for part in parts:
            found.merge(part)
        assert found.undrawn == {"51 % of float32": 6}
