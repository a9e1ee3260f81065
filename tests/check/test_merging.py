"""`grucible report`: the reports of shards, in any order, are the report of the whole."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grucible import Question, Unsupported
from grucible.cases.dtypes import Array
from grucible.cases.selection import WHOLE, Shard
from grucible.cases.specs.random_space import usual_space
from grucible.cases.strict_json import format_json
from grucible.check.fuzz import TWO, Fuzzed, fuzz, question_ranges
from grucible.check.fuzz_report import fuzz_value, merge_fuzz
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.judging.expectations import Expectation
from grucible.check.merging import merge_reports
from grucible.check.observed.source import FromRuntime
from grucible.check.report import Report
from grucible.check.reports.formats import report_json, report_value
from grucible.check.runtimes.runtime import describe_runtime
from grucible.check.verdict import Demand, judge
from grucible.gen.making import open_or_make

from .conftest import Command
from .numpy_gru import keeps_h0, run

CELL = "openvino.GRUCell-3/*/float[36]*/*-n[235]*"
SEQUENCE = "openvino.GRUSequence-5/core_with_zero/*"
Kernel = Callable[[Question], Mapping[str, Array]]


def some_fail(question: Question) -> Mapping[str, Array]:
    """Wrong, an error, unsupported or right, by attributes."""
    if question.attributes["clip"] < 0.5:
        raise ValueError(f"clip {question.attributes['clip']}")
    if "relu" in question.attributes["activations"]:
        raise Unsupported("relu")
    return run(question, "gates z and r exchanged" * (question.dtype == "float64"))


def mostly_keeps_h0(question: Question) -> Mapping[str, Array]:
    """Follow two readings of one point."""
    return (keeps_h0 if len(question.id) % 3 else run)(question)


def noisy(question: Question) -> Mapping[str, Array]:
    """Add what nothing explains."""
    outputs = run(question)
    return {k: v + 0.1 * np.sin(np.arange(v.size)).reshape(v.shape) for k, v in outputs.items()}


KERNELS: dict[str, tuple[Kernel, str, Sequence[Expectation]]] = {
    "right": (run, CELL, ()),
    "wrong": (partial(run, mistake="linear_before_reset inverted"), CELL, ()),
    "some": (some_fail, CELL, ()),
    "some expected": (
        some_fail,
        CELL,
        [
            Expectation("*clip0.1*", "known", message=("clip",)),
            Expectation("*/float64/*", "known", diagnosis=("clip-ignored",)),
            Expectation("*/float16/default", "stale"),
            Expectation("*/float64/*relu*", "of another"),
        ],
    ),
    "stale": (run, CELL, [Expectation(CELL, "stale")]),
    "two readings": (mostly_keeps_h0, SEQUENCE, ()),
    "two readings, excused": (mostly_keeps_h0, SEQUENCE, [Expectation("*", "any")]),
    "noisy": (noisy, CELL, ()),
}
ALIKE = ("verdict", "interrupted", "stopped", "select", "shard", "reach", "arithmetic", "summary", "readings",
         "expectations", "allow_stale", "asked")  # fmt: skip


def report(name: str, shard: Shard = WHOLE, *, strict: bool = False) -> Report:
    kernel, select, expectations = KERNELS[name]
    source = FromRuntime(describe_runtime("kernel", kernel))
    demand = Demand(chosen_criteria(), expectations, strict=strict)
    found = judge(open_or_make(None, (select,), shard), source, demand)
    return replace(found, asked="onnxruntime")


def write(folder: Path, one: Report, name: str) -> Path:
    path = folder / f"{name}.json"
    path.write_text(report_json(one))
    return path


def in_order(value: Any) -> Any:
    """Sort the texts of every list: the ids of cases come in any order."""
    if isinstance(value, dict):
        return {key: in_order(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return sorted(map(in_order, value), key=repr)
    return value


def findings(one: Report) -> set[tuple[tuple[str, ...], bool]]:
    return {(found.names, found.certain) for found in one.diagnosis.findings}


@pytest.mark.parametrize("name", KERNELS)
def test_shards_in_any_order_are_the_whole(name: str, tmp_path: Path) -> None:
    rng, of = np.random.default_rng(len(name)), 2 + len(name) % 3
    strict = name == "some"
    shards = [Shard(one + 1, of) for one in rng.permutation(of).tolist()]
    parts = [report(name, one, strict=strict) for one in shards]
    paths = [write(tmp_path, one, str(n)) for n, one in enumerate(parts)]
    whole, merged = report(name, strict=strict), merge_reports(paths)
    assert all(0 < len(part.results) < len(whole.results) for part in parts)
    mine, yours = in_order(report_value(merged)), in_order(report_value(whole))
    for key in ALIKE:
        assert mine[key] == yours[key], key
    assert merged.exit_status == whole.exit_status == (name != "right" and "excused" not in name)
    cases = ("id", "tier", "verdict", "worst_ratio", "arithmetic", "judged_by", "expected")
    for one, other in zip(mine["cases"], yours["cases"], strict=True):
        assert {key: one.get(key) for key in cases} == {key: other.get(key) for key in cases}
    assert mine.get("refusals") == yours.get("refusals")
    assert {names for names, _ in findings(merged)} >= {n for n, sure in findings(whole) if sure}
    assert report_json(merge_reports(paths[::-1])) == report_json(merged)
    assert merge_reports([*paths, write(tmp_path, parts[0], "again")]).counts == whole.counts


def test_reports_of_selections_are_one_of_all_of_them(tmp_path: Path) -> None:
    globs = [f"openvino.GRUCell-3/plain/{dtype}/*" for dtype in ("float32", "float64")]
    source = FromRuntime(describe_runtime("kernel", run))
    parts = [judge(open_or_make(None, (one,)), source, Demand()) for one in globs]
    parts = [replace(one, asked="exec: sh -c 'curl x'") for one in parts]
    merged = merge_reports([write(tmp_path, one, str(n)) for n, one in enumerate(parts)])
    assert (merged.select, merged.asked) == (globs, "NAME")


def test_what_cannot_be_merged_says_why(command: Command, tmp_path: Path) -> None:
    parts = [report("some", Shard(one, 3)) for one in (1, 2, 3)]
    paths = [write(tmp_path, one, str(n)) for n, one in enumerate(parts)]
    assert "of shard 2/3; give" in command("report", paths[0], paths[2]).said_in_one_line()

    def changed(**more: Any) -> Path:
        (tmp_path / "changed.json").write_text(json.dumps(json.loads(paths[2].read_text()) | more))
        return tmp_path / "changed.json"

    value = json.loads(paths[2].read_text())
    others = json.loads(paths[1].read_text())["vectors"]["digests"]  # the first lacks some of these
    file, digest = next(reversed(others.items()))
    for more, what in (
        ({"runtime": {"name": "kernel", "version": "2"}}, "differ in runtime: kernel, kernel 2"),
        ({"vectors": value["vectors"] | {"digests": {file: digest[::-1]}}}, f"content of {file}"),
        ({"model": {}}, "is of a model"),
        ({"select": ["*"]}, "differ in --select"),
        ({"arithmetic": {"float32": {}}}, "arithmetic.float32"),
    ):
        assert what in command("report", *paths[:2], changed(**more)).said_in_one_line()
    looser = json.loads(json.dumps(value))
    looser["arithmetic"]["float32"]["required"] = {"rtol": 0.5, "atol": 0.0}
    said = command("report", *paths[:2], changed(**looser)).said_in_one_line()
    assert "differ in the class of float32: float32, rtol 0.5, atol 0" in said
    contrary = json.loads(json.dumps(value))
    right = next(one for one in contrary["cases"] if one["verdict"] == "passed")
    right["verdict"] = "failed"
    said = command("report", *paths, changed(**contrary)).said_in_one_line()
    assert said.startswith(f"grucible: {right['id']}: passed in {paths[2]}, failed in ")
    fewer = changed(
        cases=[*value["cases"][1:], value["cases"][0] | {"id": f"{CELL[:19]}x/float32/y"}]
    )
    assert "but not all of its cases" in command("report", *paths, fewer).said_in_one_line()
    (tmp_path / "changed.json").write_text('{"grucible_report": 3}')
    assert "is no report" in command("report", tmp_path / "changed.json").said_in_one_line()


def test_the_command_ends_as_check_on_all_would(command: Command, tmp_path: Path) -> None:
    for name, status in (("right", 0), ("wrong", 1)):
        paths = [write(tmp_path, report(name, Shard(n, 2)), str(n)) for n in (1, 2)]
        ended = command("report", *paths, "--json")
        assert ended.status == status
        assert ended.report["verdict"] == report(name).verdict
        again = tmp_path / "merged.json"
        again.write_text(ended.out)
        assert command("report", again).status == status


def test_an_empty_shard_says_so(command: Command) -> None:
    one = "openvino.GRUCell-3/plain/float32/default"
    ended = [
        command("check", "--runtime", f"{Path(__file__).parent / 'numpy_gru.py'}:run",
                "--select", one, "--shard", f"{n}/2", "--quiet")
        for n in (1, 2)
    ]  # fmt: skip
    assert sorted(one.status for one in ended) == [0, 2]
    assert re.search("in shard [12]/2 alone", min(ended, key=lambda one: one.status).out)
    assert "has no case of these" in max(ended, key=lambda one: one.status).said_in_one_line()


def fuzzed(kernel: Kernel, shard: Shard = WHOLE, cases: int = 300, **more: Any) -> Fuzzed:
    source = FromRuntime(describe_runtime("kernel", kernel))
    spaces = [usual_space("openvino.GRUSequence-5"), usual_space("openvino.GRUCell-3")]
    return fuzz(source, spaces, chosen_criteria(), cases=cases, shard=shard, **more)


def asked_by(shard: Shard, cases: int) -> list[str]:
    seen: list[str] = []

    def kernel(question: Question) -> Mapping[str, Array]:
        seen.append(question.id)
        return run(question)

    fuzzed(kernel, shard, cases, dtypes=["float32"])
    return seen


@pytest.mark.parametrize("cases", [1, 50, 400])
def test_shards_ask_together_what_one_run_asks(cases: int) -> None:
    parts = [asked_by(Shard(one, 3), cases) for one in (1, 2, 3)]
    whole = asked_by(WHOLE, cases)
    again = [one for one in whole if whole.count(one) > 1]  # right cases are asked again
    assert sorted({*chain(*parts)}) == sorted({*whole})
    assert sum(len({*part}) for part in parts) == len({*whole})
    assert cases == 1 or min(map(len, parts)) > cases / 6
    assert cases < 400 or again


def test_ranges_of_shards_meet_without_end() -> None:
    for of in (2, 7):
        some = [islice(question_ranges(None, Shard(n + 1, of)), 9) for n in range(of)]
        ends = sorted(chain(*some))
        assert all(one[1] == other[0] for one, other in pairwise(ends))


@pytest.mark.parametrize("name", ["right", "wrong", "two readings", "errors"])
def test_reports_of_fuzzing_add_up(name: str, command: Command, tmp_path: Path) -> None:
    kernel = {**{k: one[0] for k, one in KERNELS.items()}, "errors": some_fail}[name]
    parts = [fuzzed(kernel, Shard(one, 3)) for one in (2, 3, 1)]
    paths = []
    for number, part in enumerate(parts):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(format_json(fuzz_value(part)))
    whole, merged = fuzzed(kernel), merge_fuzz(paths)
    assert merged.tally == whole.tally
    assert merged.undrawn == whole.undrawn
    assert merged.ranges == whole.ranges == [(0, 0, 300)]
    assert merged.exit_status == whole.exit_status == (name != "right")
    assert merged.undeciding == whole.undeciding
    for prefix, pairs in whole.pairs.items():
        assert merged.pairs[prefix].counts() == pairs.counts()
        never = {*merged.pairs[prefix].never_asked()}
        assert len(never ^ {*pairs.never_asked()}) < 0.1 * pairs.counts()[2]
    counts = [sum(f.count for f in one.findings.values()) for one in (merged, whole)]
    assert counts[0] == counts[1] or name == "two readings"  # other cases are asked again
    sure = {one.about for one in whole.new if one.diagnosis and one.diagnosis.certain}
    assert name != "wrong" or {one.about for one in merged.new} >= sure
    mixed = [{one.about for one in f.new if one.about.startswith(TWO)} for f in (merged, whole)]
    assert len(mixed[0]) == len(mixed[1]) == (name == "two readings")
    ended = command("report", *paths)
    assert ended.status == whole.exit_status
    assert "300 questions drawn of --seed 0" in ended.out
    assert json.loads(command("report", *paths, "--json").out)["ranges"] == [[0, 0, 300]]
    said = command("report", *paths, paths[0]).status
    assert said == whole.exit_status  # the same file twice is one
    (tmp_path / "copy.json").write_text(paths[0].read_text())
    assert "was asked twice" in command("report", *paths, tmp_path / "copy.json").said_in_one_line()
    other = json.loads(paths[0].read_text()) | {"runtime": {"name": "other", "version": ""}}
    (tmp_path / "copy.json").write_text(json.dumps(other))
    assert (
        "differ in runtime" in command("report", *paths, tmp_path / "copy.json").said_in_one_line()
    )


def test_fuzz_writes_its_report(command: Command, tmp_path: Path) -> None:
    runtime = f"{Path(__file__).parent / 'numpy_gru.py'}:run"
    for one in (1, 2):
        ended = command("fuzz", "--runtime", runtime, "--operator", "openvino.GRUCell-3", "--cases", 40,
                        "--jobs", 1, "-o", tmp_path / "found", "--shard", f"{one}/2",
                        "--report", f"json={tmp_path / str(one)}.json")  # fmt: skip
        assert ended.status == 0
    ended = command("report", tmp_path / "2.json", tmp_path / "1.json")
    assert ended.out.startswith("no unexpected finding in ")
    assert "expected json=FILE" in command("fuzz", "--report", "x").said_in_one_line()
