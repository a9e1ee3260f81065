"""`grucible check`, `run`, `show` and `runtimes` as a user types them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from grucible import load_vectors
from grucible.gen.tolerances.classes import CLASSES

from .conftest import HERE, Command, Ended, strict_json
from .made import IMPORT_ANSWER, SEQUENCE, make_block, write_vectors

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
WRONG = f"{HERE / 'misbehaving.py'}:nan"
IDS = ["a-good", "b-bad", "c-good"]


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """A directory with a cell file (a case of it `bad`), and in a folder a sequence file."""
    root = tmp_path / "vectors"
    (root / "deep").mkdir(parents=True)
    write_vectors(
        root / "cell.h5",
        make_block(IDS),
        make_block(["d-bfloat16"], dtype="bfloat16"),
        make_block(["n-bad"], tier="nonportable"),
    )
    zero = make_block(["s-zero"], operator=SEQUENCE, tier="ambiguous", lengths=(0, 3))
    write_vectors(root / "deep" / "seq.h5", zero, operator=SEQUENCE)
    return root


def bad_usage(ended: Ended, says: str) -> None:
    """click's own way: the usage, a hint, and the error; or our one line."""
    assert (ended.status, ended.out) == (2, "")
    assert "Traceback" not in ended.err
    assert re.search(says, ended.err.splitlines()[-1]), ended.err


# the JSON report

COUNTS = {"cases", "passed", "failed", "unsupported", "missing", "errors"}
CASE: dict[str, Any] = {"id": str, "tier": str, "verdict": str, "worst_ratio": (float, str), "worst_abs": (float, str),
        "worst_ulp": (float, str), "where": str, "readings": list, "arithmetic": (str, type(None)), "message": str}  # fmt: skip
GRADE = {"required", "observed", "compared", "observed_too", "holds", "worst", "vacuous"}


def check_report(report: dict[str, Any]) -> None:
    """The fields of DESIGN.md, and sums that are right."""
    assert report["grucible_report"] == 2
    assert report["verdict"] in ("conforms", "does not conform", "incomplete")
    assert set(report["runtime"]) == {"name", "version"}
    assert set(report["summary"]) == COUNTS | {"expected_failures", "unexpected_passes"}
    assert {"nonportable", "invalid"} == set(report["other_tiers"])
    for counts in (report["summary"], *report["other_tiers"].values()):
        assert all(isinstance(count, int) for count in counts.values())
        assert counts["cases"] == sum(counts[name] for name in COUNTS - {"cases"})
    for case in report["cases"]:
        assert set(case) - {"expected"} == set(CASE)
        for field, kind in CASE.items():
            assert isinstance(case[field], kind), (field, case[field])
        assert case["verdict"] in ("passed", "failed", "unsupported", "missing", "error")
    assert len({case["id"] for case in report["cases"]}) == len(report["cases"])
    decided = [c for c in report["cases"] if c["tier"] in ("required", "ambiguous")]
    assert len(decided) == report["summary"]["cases"]
    for dtype, grade in report["arithmetic"].items():
        assert set(grade) == GRADE
        assert list(grade["holds"]) == [one.name for one in CLASSES[dtype]]
        assert all(0 <= count <= grade["compared"] for count in grade["holds"].values())
        assert grade["observed"] is None or grade["holds"][grade["observed"]] == grade["compared"]
        assert set(grade["worst"]) == {"ratio", "id", "where"}
        assert set(grade["vacuous"]) == {"share", "files"}
        assert 0 <= grade["vacuous"]["share"] <= 1
    compared = sum(grade["compared"] for grade in report["arithmetic"].values())
    assert compared == report["summary"]["passed"] + report["summary"]["failed"]


def test_json_report(vectors: Path, command: Command) -> None:
    ended = command("check", vectors, "--runtime", WRONG, "--json")
    assert ended.status == 1
    assert ended.err == ""
    report = ended.report
    check_report(report)
    assert list(report)[:2] == ["grucible_report", "verdict"]
    assert report["runtime"] == {"name": WRONG, "version": ""}
    assert report["vectors"] == {"path": str(vectors), "files": 2}
    cases = {case["id"]: case for case in report["cases"]}
    assert set(cases) == {*IDS, "d-bfloat16", "n-bad", "s-zero"}
    assert cases["b-bad"]["worst_ratio"] == cases["b-bad"]["worst_abs"] == "inf"
    assert cases["b-bad"]["where"] == "Ho[0, 0]"
    assert cases["s-zero"]["readings"] == [[]]
    assert report["other_tiers"]["nonportable"]["failed"] == 1
    assert report["summary"]["failed"] == 1
    assert cases["a-good"]["arithmetic"] == "float32"
    assert cases["b-bad"]["arithmetic"] is None
    assert {dtype: grade["required"] for dtype, grade in report["arithmetic"].items()} == {
        "bfloat16": "bfloat16-gemm",
        "float32": "float32",
    }
    assert report["arithmetic"]["float32"]["worst"] == {
        "ratio": "inf",
        "id": "b-bad",
        "where": "Ho[0, 0]",
    }


def test_json_report_of_the_core_vectors(command: Command) -> None:
    report = command("check", "--runtime", NUMPY, "--json").report
    check_report(report)
    assert report["summary"]["passed"] == 584
    assert report["summary"]["unsupported"] == 604
    assert {case["id"] for case in report["cases"]} == {case.id for case in load_vectors()}
    assert {dtype: grade["observed"] for dtype, grade in report["arithmetic"].items()} == {
        "float64": "float64",
        "float32": "float32",
        "float16": "float32",
        "bfloat16": "float32",
    }
    assert {grade["compared"] for grade in report["arithmetic"].values()} == {146}


def test_report_to_a_file(vectors: Path, tmp_path: Path, command: Command) -> None:
    file, again = tmp_path / "report.json", tmp_path / "again.json"
    options = ["--report", f"json={file}", "--report", f"json={again}"]
    text = command("check", vectors, "--runtime", NUMPY, *options)
    assert text.status == 0
    assert text.out.startswith("conforms: 5 of 5 cases passed\n")
    direct = command("check", vectors, "--runtime", NUMPY, "--json")
    assert strict_json(file.read_text("utf-8")) == direct.report
    assert file.read_bytes() == again.read_bytes() == direct.out.encode()


@pytest.mark.parametrize("report", ["html=x.html", "json", "json=", "=x", "x.json"])
def test_a_report_of_another_kind(report: str, vectors: Path, command: Command) -> None:
    ended = command("check", vectors, "--runtime", NUMPY, "--report", report)
    bad_usage(ended, f"--report {re.escape(report)}: expected json=FILE")


@pytest.mark.parametrize("place", ["absent/report.json", "vectors", "vectors/cell.h5/report.json"])
def test_a_report_that_cannot_be_written(
    place: str, vectors: Path, tmp_path: Path, command: Command
) -> None:
    """Said before or after the judging, it is one line and not a traceback."""
    ended = command("check", vectors, "--runtime", NUMPY, "--report", f"json={tmp_path / place}")
    assert ended.status == 2
    assert re.search(place.split("/")[0], ended.err.splitlines()[-1])


def test_terminal_report(vectors: Path, command: Command) -> None:
    ended = command("check", vectors, "--runtime", WRONG)
    lines = ended.out.splitlines()
    assert lines[0] == "does not conform: 4 of 5 cases passed, 1 failed"
    assert lines[1] == f"{WRONG}: 6 cases, 2 files of {vectors}"
    start = next(place for place, line in enumerate(lines) if line.startswith("bfloat16 "))
    rows = {line.split()[0]: line.split()[1:4] for line in lines[start : start + 3]}
    assert rows == {
        "bfloat16": ["1", "1", "0"],
        "float32": ["4", "3", "1"],
        "nonportable": ["1", "0", "1"],
    }
    assert "failed (the worst of each dtype first):" in lines
    assert "  b-bad" in lines
    assert any(line.startswith("    Ho[0, 0]: expected ") for line in lines)


# choosing cases and tolerances


def test_select(vectors: Path, command: Command) -> None:
    options = ["--select", "*good", "--select", "d-*", "--json"]
    ended = command("check", vectors, "--runtime", WRONG, *options)
    assert ended.status == 0
    assert [case["id"] for case in ended.report["cases"]] == ["d-bfloat16", "a-good", "c-good"]


@pytest.mark.parametrize("verb", ["check", "run", "outputs"])
@pytest.mark.parametrize("glob", ["*Good", "good", "", "a-good/"])
def test_select_nothing(
    verb: str, glob: str, vectors: Path, tmp_path: Path, command: Command
) -> None:
    arguments = {
        "check": ["check", vectors, "--runtime", NUMPY],
        "run": ["run", vectors, "--runtime", NUMPY, "-o", tmp_path / "out"],
        "outputs": ["check", vectors, "--outputs", tmp_path],
    }[verb]
    said = command(*arguments, "--select", glob).said_in_one_line()
    assert said == f"grucible: no case is selected by --select {glob!r}\n"
    assert not (tmp_path / "out").exists()


def test_only_nonportable_cases_decide_nothing(vectors: Path, command: Command) -> None:
    ended = command("check", vectors, "--runtime", NUMPY, "--select", "n-*")
    assert ended.status == 1
    assert ended.out.startswith("incomplete: 0 of 0 cases passed")


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--rtol", "1e-3"], 0, "rtol 0.001, atol 0"),
        (["--atol", "0.01", "--rtol", "0"], 0, "rtol 0, atol 0.01"),
        (["--ulp", "4"], 0, "4 ulp"),
        (["--ulp", "0"], 1, "failed"),
        (["--rtol", "1e-12"], 1, "rtol 1e-12, atol 0"),
    ],
)
def test_tolerances(
    options: list[str], status: int, said: str, vectors: Path, tmp_path: Path, command: Command
) -> None:
    """A runtime that is off by 2^-22, at most 4 units of float32, relative."""
    (tmp_path / "off.py").write_text(
        f"{IMPORT_ANSWER}def run(question):\n"
        "    outputs = answer(question)\n"
        "    return {n: (a * (1 + 2.0**-22)).astype(a.dtype) for n, a in outputs.items()}\n"
    )
    runtime = f"{tmp_path / 'off.py'}:run"
    ended = command("check", vectors, "--runtime", runtime, "--select", "*good", *options)
    assert ended.status == status
    assert said in ended.out


# bad usage

BAD_USAGE: dict[str, tuple[list[str], str]] = {
    "neither runtime nor outputs": ([], "give one of --runtime NAME and --outputs PATH"),
    "both": (
        ["--runtime", NUMPY, "--outputs", "."],
        "give one of --runtime NAME and --outputs PATH",
    ),
    "ulp and rtol": (["--runtime", NUMPY, "--ulp", "1", "--rtol", "1"], "--ulp goes with neither"),
    "ulp and atol": (["--runtime", NUMPY, "--ulp", "1", "--atol", "0"], "--ulp goes with neither"),
    "rtol negative": (["--runtime", NUMPY, "--rtol", "-1"], "--rtol is -1.0; expected a finite"),
    "atol nan": (["--runtime", NUMPY, "--atol", "nan"], "--atol is nan; expected a finite number"),
    "ulp inf": (["--runtime", NUMPY, "--ulp", "inf"], "--ulp is inf; expected a finite number"),
    "rtol a word": (["--runtime", NUMPY, "--rtol", "tight"], "'--rtol'.*not a valid float"),
    "timeout 0": (["--runtime", NUMPY, "--timeout", "0"], "--timeout"),
    "timeout negative": (["--runtime", NUMPY, "--timeout", "-5"], "--timeout"),
    "timeout nan": (["--runtime", NUMPY, "--timeout", "nan"], "--timeout"),
    "two vectors": (["more.h5", "--runtime", NUMPY], r"unexpected extra argument"),
    "unknown option": (["--runtime", NUMPY, "--tolerance", "1"], "--tolerance"),
}


@pytest.mark.parametrize("name", BAD_USAGE)
def test_bad_usage(name: str, vectors: Path, command: Command) -> None:
    options, says = BAD_USAGE[name]
    bad_usage(command("check", vectors, *options), says)


@pytest.mark.parametrize("seconds", ["inf", "1e300", "3e6", "0.5"])
def test_a_long_timeout_is_a_long_time(seconds: str, vectors: Path, command: Command) -> None:
    """Or it is bad usage, in one line; never a traceback."""
    options = ["--select", "a-good", "--timeout", seconds]
    ended = command("check", vectors, "--runtime", NUMPY, *options)
    assert ended.status == 0 or (ended.status == 2 and "--timeout" in ended.err)


@pytest.mark.parametrize("verb", ["check", "run", "show", "runtimes"])
def test_help(verb: str, command: Command) -> None:
    ended = command(verb, "--help")
    assert ended.status == 0
    assert ended.out.startswith(f"Usage: grucible {verb} ")
    assert command(verb, "-h").out == ended.out


# expectations

EXPECT_ERRORS = {
    "cases: x\nreason: y\n": r":1: holds a dict; expected a list",
    "": r":1: holds nothing; expected a list",
    "- just a text\n": r":1: 0: expected a mapping with cases, reason and link",
    "- cases: '*'\n  reason: r\n  issue: 7\n": r":3: 0\.issue: is not a field here; expected cases, reason, link",
    "- cases: '*'\n": r":1: 0\.reason: is missing",
    "- reason: r\n": r":1: 0\.cases: is missing",
    "- cases: '*'\n  reason: r\n- cases: x\n": r":3: 1\.reason: is missing",
    "- cases: '*'\n  reason: ''\n": r":2: 0\.reason: ''; expected a text",
    "- cases: '*'\n  reason: 7\n": r":2: 0\.reason: 7; expected a text",
    "- cases: [a, b]\n  reason: r\n": r":1: 0\.cases: \['a', 'b'\]; expected a text",
    "- cases: '*'\n  reason: r\n  link:\n": r":3: 0\.link: None; expected a text",
    "- cases: '*'\n  cases: b\n  reason: r\n": r":2: duplicate key 'cases'",
    "- cases: *all\n  reason: r\n": r":1: (anchors|not YAML)",
    "- {cases: '*'\n": r": not YAML: ",
    "- cases: '*'\n  reason: float64: in float32\n": r":2: not YAML: ",
    "- !!python/object:os.system {}\n": r":1: (not YAML|0.cases: is missing)",
    "[" * 10_000: r"nested deeper|not YAML",
}


@pytest.mark.parametrize("text", EXPECT_ERRORS, ids=[t[:40] for t in EXPECT_ERRORS])
def test_bad_expectations(text: str, vectors: Path, tmp_path: Path, command: Command) -> None:
    file = tmp_path / "expect.yaml"
    file.write_text(text)
    said = command("check", vectors, "--runtime", WRONG, "--expect", file).said_in_one_line()
    assert re.search(EXPECT_ERRORS[text], said), said
    assert str(file) in said


@pytest.mark.parametrize("what", ["absent", "directory", "latin-1", "binary"])
def test_unreadable_expectations(
    what: str, vectors: Path, tmp_path: Path, command: Command
) -> None:
    file = tmp_path / "expect.yaml"
    if what == "directory":
        file.mkdir()
    elif what != "absent":
        file.write_bytes(b"- cases: '*'\n  reason: \xe9\n" if what == "latin-1" else b"\0\1\2")
    said = command("check", vectors, "--runtime", WRONG, "--expect", file).said_in_one_line()
    assert str(file) in said


def test_expected_failures(vectors: Path, tmp_path: Path, command: Command) -> None:
    file = tmp_path / "expect.yaml"
    file.write_text(
        "- cases: 'b-*'\n  reason: NaN comes out\n  link: https://example.org/1\n"
        "- cases: 'a-*'\n  reason: no longer so\n"
        "- {cases: 'zzz', reason: nobody}\n"
    )
    arguments = ["check", vectors, "--runtime", WRONG, "--expect", file]
    report = command(*arguments, "--json").report
    check_report(report)
    assert report["verdict"] == "does not conform"
    assert report["summary"]["expected_failures"] == 1
    assert report["summary"]["unexpected_passes"] == 1
    cases = {case["id"]: case for case in report["cases"]}
    assert cases["b-bad"]["expected"] == {
        "reason": "NaN comes out",
        "link": "https://example.org/1",
    }
    assert cases["a-good"]["expected"] == {"reason": "no longer so", "link": ""}
    assert "expected" not in cases["c-good"]
    ended = command(*arguments)
    assert ended.status == 0
    lines = ended.out.splitlines()
    assert lines[0] == "does not conform: 4 of 5 cases passed, 1 failed, all of them expected"
    for line in ("       1 failed: b-*", "         NaN comes out", "         https://example.org/1",
                 "       0 failed, 1 passed unexpectedly: a-*", "  passed unexpectedly: a-good"):  # fmt: skip
        assert line in lines
    assert "failed (the worst first):" not in lines


def test_no_expectations_expect_nothing(vectors: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "expect.yaml").write_text("[]\n")
    ended = command("check", vectors, "--runtime", WRONG, "--expect", tmp_path / "expect.yaml")
    assert ended.status == 1


def test_unexpected_failures_beside_expected_ones(
    vectors: Path, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "expect.yaml").write_text("- cases: a-good\n  reason: not this one\n")
    ended = command("check", vectors, "--runtime", WRONG, "--expect", tmp_path / "expect.yaml")
    assert ended.status == 1


# run, then check


def same_but_runtime(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert {k: v for k, v in one.items() if k != "runtime"} == {
        k: v for k, v in other.items() if k != "runtime"
    }


@pytest.mark.parametrize("runtime", [NUMPY, WRONG])
@pytest.mark.parametrize("options", [[], ["--select", "*a*"]])
def test_run_then_check_is_check(
    runtime: str, options: list[str], vectors: Path, tmp_path: Path, command: Command
) -> None:
    out = tmp_path / "out"
    ran = command("run", vectors, "--runtime", runtime, "-o", out, *options)
    assert ran.status == 0
    assert ran.out.splitlines()[0].startswith(f"{out / 'cell.h5'}: ")
    stored = command("check", vectors, "--outputs", out, "--json", *options)
    direct = command("check", vectors, "--runtime", runtime, "--json", *options)
    same_but_runtime(stored.report, direct.report)
    assert stored.status == direct.status
    assert stored.report["runtime"] == direct.report["runtime"]


def test_run_then_check_of_a_single_file(vectors: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "deep" / "er" / "cell.out.h5"
    ran = command("run", vectors / "cell.h5", "--runtime", NUMPY, "-o", out)
    assert ran.out == f"{out}: 5 ok\n"
    assert command("check", vectors / "cell.h5", "--outputs", out).status == 0
    assert [p.name for p in out.parent.iterdir()] == ["cell.out.h5"]


def test_run_of_the_core_vectors(tmp_path: Path, command: Command) -> None:
    ran = command("run", "--runtime", NUMPY, "-o", tmp_path / "out")
    assert ran.out.splitlines() == [
        f"{tmp_path / 'out/bnnsgraph/gru/core.h5'}: 244 unsupported",
        f"{tmp_path / 'out/onnx/gru/core.h5'}: 360 unsupported",
        f"{tmp_path / 'out/openvino/gru_cell/core.h5'}: 232 ok",
        f"{tmp_path / 'out/openvino/gru_sequence/core.h5'}: 304 ok",
        f"{tmp_path / 'out/openvino/gru_sequence/core_with_zero.h5'}: 48 ok",
    ]
    ended = command("check", "--outputs", tmp_path / "out")
    assert ended.out.startswith("conforms: 584 of 1188 cases passed, 604 unsupported\n")


def test_what_was_not_selected_is_missing_afterwards(
    vectors: Path, tmp_path: Path, command: Command
) -> None:
    command("run", vectors, "--runtime", NUMPY, "-o", tmp_path / "out", "--select", "*good")
    report = command("check", vectors, "--outputs", tmp_path / "out", "--json").report
    assert report["verdict"] == "incomplete"
    assert report["summary"]["passed"] == 2
    assert report["summary"]["missing"] == 3


def test_run_makes_an_outputs_file_as_described(
    vectors: Path, tmp_path: Path, command: Command
) -> None:
    command("run", vectors / "cell.h5", "--runtime", WRONG, "-o", tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as out, h5py.File(vectors / "cell.h5") as expected:
        attributes = dict(out.attrs)
        assert attributes.pop("runtime_version") == b""
        told = {"format": b"grucible outputs", "format_version": 2, "runtime": WRONG.encode()}
        assert attributes == told
        for name, block in expected["float32"].items():
            made = out[f"float32/{name}"]
            assert made["id"][()].tolist() == block["id"][()].tolist()
            assert made["outputs/Ho"].shape == block["outputs/Ho"].shape
            assert made["outputs/Ho"].dtype == np.float32
            assert set(made["status"][()].tolist()) == {b"ok"}
        (block,) = out["bfloat16"].values()
        assert block["outputs/Ho"].attrs["dtype"] == b"bfloat16"


@pytest.mark.parametrize("place", ["a directory", "below a file", "a file for a directory"])
def test_run_where_nothing_can_be_written(
    place: str, vectors: Path, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("kept")
    source, out = {
        "a directory": (vectors / "cell.h5", tmp_path / "there"),
        "below a file": (vectors / "cell.h5", tmp_path / "file" / "out.h5"),
        "a file for a directory": (vectors, tmp_path / "file"),
    }[place]
    said = command("run", source, "--runtime", NUMPY, "-o", out).said_in_one_line()
    assert str(out) in said
    assert (tmp_path / "file").read_text() == "kept"
    assert list((tmp_path / "there").iterdir()) == []


def test_run_does_not_write_over_the_vectors(vectors: Path, command: Command) -> None:
    before = (vectors / "cell.h5").read_bytes()
    said = command("run", vectors / "cell.h5", "--runtime", NUMPY, "-o", vectors / "cell.h5")
    assert (vectors / "cell.h5").read_bytes() == before
    said.said_in_one_line()


def test_run_fails_whole_files(vectors: Path, tmp_path: Path, command: Command) -> None:
    """A damaged second file leaves the first file's outputs, whole, and none of its own."""
    raw = bytearray((vectors / "deep" / "seq.h5").read_bytes())
    with h5py.File(vectors / "deep" / "seq.h5") as file:
        (block,) = file["float32"].values()
        raw[block["inputs/X"].id.get_offset()] ^= 1
    (vectors / "deep" / "seq.h5").write_bytes(raw)
    ended = command("run", vectors, "--runtime", NUMPY, "-o", tmp_path / "out")
    assert ended.status == 2
    assert "what it holds does not match its content_sha256" in ended.err
    assert [p.name for p in (tmp_path / "out").rglob("*.h5*")] == ["cell.h5"]


# show


def test_show_by_id(vectors: Path, command: Command) -> None:
    ended = command("show", vectors, "s-zero")
    lines = ended.out.splitlines()
    assert ended.status == 0
    assert lines[0] == "s-zero"
    assert lines[1] == f"  in {vectors / 'deep' / 'seq.h5'}"
    assert lines[2] == "  openvino.GRUSequence-5, float32, tier ambiguous"
    text = ended.out
    for told in (
        "zt = sigmoid(clip[-0.5, 0.5]",
        "reverse: zt = ",
        "linear_before_reset  absent (default false)",
        "clip                 0.5",
        "X: float32 (2, 3, 4)",
        "sequence_lengths: int64 (2,)",
        "also accepted, reading len-zero.initial-state: ",
    ):
        assert re.search(re.sub(r"\s+", r"\\s+", re.escape(told).replace(r"\ ", " ")), text), told


def test_show_by_glob(vectors: Path, command: Command) -> None:
    assert command("show", vectors, "d-*").out.startswith("d-bfloat16\n")
    assert command("show", vectors / "cell.h5", "?-bfloat16").out.startswith("d-bfloat16\n")


def test_show_of_the_core_vectors(command: Command) -> None:
    case = next(case for case in load_vectors() if "GRUSequence" in case.id)
    assert command("show", case.id).out.startswith(f"{case.id}\n")
    core = [case for case in load_vectors() if "/float32/" in case.id and "noB" in case.id]
    ended = command("show", core[0].id)
    assert "B: absent" in ended.out


def test_an_id_that_is_a_glob_of_others_is_an_id(tmp_path: Path, command: Command) -> None:
    write_vectors(tmp_path / "cell.h5", make_block(["a", "ab", "a*"]))
    assert command("show", tmp_path / "cell.h5", "a*").out.startswith("a*\n")


def test_show_shows_every_number_when_asked(tmp_path: Path, command: Command) -> None:
    write_vectors(tmp_path / "cell.h5", make_block(["a"]))
    case = next(iter(load_vectors(tmp_path / "cell.h5")))
    text = command("show", tmp_path / "cell.h5", "a", "--full").out
    numbers = {np.float32(n) for n in re.findall(r"-?\d+\.\d+(?:e[-+]\d+)?", text)}
    for array in (*case.inputs.values(), *case.answer.outputs.values()):
        assert set(array.ravel().tolist()) <= {float(number) for number in numbers}


@pytest.mark.parametrize("wanted", ["x-*", "a-goo", "A-GOOD", ""])
def test_show_nothing(wanted: str, vectors: Path, command: Command) -> None:
    said = command("show", vectors, wanted).said_in_one_line()
    assert f"no case is called {wanted!r}" in said


def test_show_several(vectors: Path, command: Command) -> None:
    ended = command("show", vectors, "*good")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("grucible: 2 cases match '*good'")
    assert "a-good" in ended.err
    assert "c-good" in ended.err
    many = command("show", "*GRUSequence*")
    assert many.err.startswith("grucible: 352 cases match '*GRUSequence*'")
    assert len(re.findall("openvino.GRUSequence-5/", many.err)) == 5


def test_show_without_a_case(command: Command, vectors: Path) -> None:
    bad_usage(command("show"), "CASE")
    bad_usage(command("show", vectors, "a-good", "b-bad"), "b-bad")


# runtimes


RUNTIMES = ["onnx-reference", "onnxruntime", "onnxruntime-constant", "onnxruntime-opset7",
            "openvino", "openvino-constant", "openvino-default"]  # fmt: skip


def test_runtimes(command: Command) -> None:
    ended = command("runtimes")
    assert ended.status == 0
    names = [line.split()[0] for line in ended.out.splitlines() if line[:1] not in (" ", "")]
    rows = strict_json(command("runtimes", "--json").out)
    assert [row["name"] for row in rows] == names[:-1] == RUNTIMES
    assert len({row["about"] for row in rows}) == len(RUNTIMES)
    assert all(set(row) == {"name", "version", "about"} and row["about"] for row in rows)
    for row in rows:
        assert f"{row['name']}  {row['version'] or 'not installed'}" in ended.out


def test_a_shell_sees_the_exit_status(vectors: Path) -> None:
    """Through the interpreter, with standard output a pipe and no colours."""
    env = {**os.environ, "FORCE_COLOR": "1"}
    for runtime, status in ((NUMPY, 0), (WRONG, 1), ("nonsense", 2)):
        ended = subprocess.run(
            [sys.executable, "-m", "grucible", "check", str(vectors), "--runtime", runtime],
            capture_output=True,
            text=True,
            check=False,
            env=env,
        )
        assert ended.returncode == status
        assert "\x1b" not in ended.stdout
        assert (ended.stderr == "") == (status != 2)
