"""`grucible check --write-expect FILE`: the list of what fails now, and what becomes of an old one."""

from __future__ import annotations

from pathlib import Path

import pytest
from printed import sentence_of

from grucible import GrucibleError
from grucible.check.diagnosis.finding import Diagnosis, Finding
from grucible.check.expecting import load_expectations
from grucible.check.judging.case_result import CaseResult
from grucible.check.judging.expectations import UNEXPLAINED
from grucible.check.listing import find_shared_part, group_failures
from grucible.check.reports.findings import explain_command, sentence
from grucible.gen.variants.families import KNOTS, with_curve

from .conftest import HERE, Command

PLAIN = "openvino.GRUCell-3/plain"
PLAIN_FILE = HERE.parents[1] / "vectors" / "openvino" / "gru_cell" / "plain.h5"
pytestmark = pytest.mark.usefixtures("in_this_process")

RUNTIME = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from numpy_gru import in_float32, run as answer
def run(question):
    what = question.id.rpartition("/")[2]
    if what in RAISES:
        raise ValueError(f"no B of this operator in {{question.dtype}}")
    if COARSE:
        return in_float32(question)
    return answer(question, mistake="clip ignored" if "clip0.5" in what and IGNORED else "")
"""
FLOAT32 = ("--select", "openvino.GRUCell-3/plain/float32/*")


def runtime(
    folder: Path, *raises: str, ignored: bool = True, coarse: bool = False, first: str = ""
) -> str:
    """A runtime that ignores clip, is coarse, or raises an error for what is named so."""
    file = folder / "runtime.py"
    fields = f"RAISES, IGNORED, COARSE = {raises}, {ignored}, {coarse}\n"
    file.write_text(first + fields + RUNTIME)
    return f"{file}:run"


def check(command: Command, asked: str, option: str, file: Path, *more: str) -> tuple[int, str]:
    """The exit status of a check with a list, and all that was printed, in one line."""
    ended = command("check", PLAIN_FILE, "--runtime", asked, option, file, *more)
    return ended.status, " ".join(f"{ended.out} {ended.err}".split())


def test_what_is_written_is_expected(tmp_path: Path, command: Command) -> None:
    """And one more failure is not; one that is repaired makes its entry stale."""
    file = tmp_path / "e.yaml"
    asked = runtime(tmp_path, "noB")
    written = command("check", PLAIN_FILE, "--runtime", asked, "--write-expect", file)
    assert written.status == 0
    assert "e.yaml: 2 entries: 2 new, 0 kept, 0 taken out" in written.err
    assert "all of them expected" in sentence_of(written.out)
    error, ignored = load_expectations(file)
    assert (error.cases, error.message, error.diagnosis) == (
        "*/noB", ("ValueError: no B of this operator in",), ()
    )  # fmt: skip
    assert (ignored.cases, ignored.diagnosis, ignored.message) == (
        "*clip0.5*", ("clip-ignored",), ()
    )  # fmt: skip
    assert ignored.reason.startswith("clip ignored")
    assert check(command, asked, "--expect", file)[0] == 0
    assert check(command, runtime(tmp_path, "noB", "default"), "--expect", file)[0] == 1
    status, told = check(command, runtime(tmp_path), "--expect", file)
    assert (status, "*/noB: every case of it passes" in told) == (1, True)


def test_a_finding_is_one_entry(tmp_path: Path, command: Command) -> None:
    """Whatever globs it needs; what was written about it stays when a part of it is mended."""
    file, asked = tmp_path / "e.yaml", runtime(tmp_path, "noB", "default", "lbr", ignored=False)
    assert "1 entry: 1 new" in check(command, asked, "--write-expect", file)[1]
    assert [one.cases for one in load_expectations(file)] == ["*/default", "*/lbr", "*/noB"]
    status, told = check(command, asked, "--expect", file)
    assert (status, "12 errors, all of them expected" in told) == (0, True)
    mended = runtime(tmp_path, "noB", "lbr", ignored=False)
    status, told = check(command, mended, "--expect", file, "--quiet")
    assert (status, "4 passed unexpectedly, 1 expectation is stale; mend" in told) == (1, True)
    assert f"--allow-stale: {file}:4 */default" in told
    file.write_text(file.read_text().replace("link: ''", "link: https://example.org/2"))
    assert "1 entry: 0 new, 1 kept, 0" in check(command, mended, "--write-expect", file)[1]
    assert [(one.cases, one.link[-2:]) for one in load_expectations(file)] == [
        ("*/lbr", "/2"), ("*/noB", "/2")
    ]  # fmt: skip
    whole = runtime(tmp_path, ignored=False)
    assert "0 new, 0 kept, 1 taken out" in check(command, whole, "--write-expect", file)[1]


def failed(
    name: str, holds: tuple[str, ...] = (), message: str = "expected 1, got 2"
) -> CaseResult:
    return CaseResult(
        name, "openvino.GRUCell-3", "required", "float32", "failed", message=message,
        arithmetic=holds[0] if holds else "", holds=holds,
    )  # fmt: skip


def test_what_an_expectation_cannot_name_is_unexplained() -> None:
    """Names that only a fit has, messages of the judge, and classes that not all cases have."""
    curved = with_curve("tanh", [0.125] * len(KNOTS))
    said = "tanh computed as another function: by 0.13 too large"
    finding = Finding((curved.name,), "misreading", said, 1, of=1, operator="openvino.GRUCell-3")
    results = [
        failed("a"),
        failed("b", ("tf32", "float16-state")),
        failed("c", ("bfloat16-gemm",)),
        failed("d", message="follows another reading than other cases"),
        failed("e"),
    ]
    groups = group_failures(results, Diagnosis([finding], by_case={"a": finding}))
    found = {tuple(ids): expected for expected, ids in groups}
    assert list(found) == [("d",), ("a",), ("b", "c"), ("e",)]
    assert (found["a",].reason, found["a",].diagnosis) == (said, (UNEXPLAINED,))
    assert sentence(finding) == said  # without the name
    assert found["b", "c"].observed == ("tf32", "bfloat16-gemm")
    assert found["d",].diagnosis == found["e",].diagnosis == (UNEXPLAINED,)


def test_what_is_unexplained_is_expected_by_id(tmp_path: Path, command: Command) -> None:
    """All that was asked fails; a glob would excuse whatever goes wrong later, in any place."""
    noise = (
        "import numpy as np\nrng = np.random.default_rng(0)\ndef run(question):\n"
        "    shape = question.inputs['initial_hidden_state'].shape\n"
        "    return {'Ho': rng.normal(0, 3, shape).astype('float32')}\n"
    )
    file = tmp_path / "e.yaml"
    (tmp_path / "noise.py").write_text(noise)
    check(command, f"{tmp_path}/noise.py:run", "--write-expect", file, *FLOAT32)
    entries = load_expectations(file)
    assert len(entries) > 10
    assert {one.diagnosis for one in entries} == {(UNEXPLAINED,)}
    assert all(
        one.cases.startswith(f"{PLAIN}/float32/") and "*" not in one.cases for one in entries
    )


def test_what_is_explained_is_where_it_was_found() -> None:
    finding = Finding(("clip-ignored",), "misreading", "clip ignored", 2, of=2)
    by_case = {f"{PLAIN}/{dtype}/clip0.5": finding for dtype in ("float16", "float32")}
    said = "grucible explain clip-ignored --operator openvino.GRUCell-3"
    assert explain_command(Diagnosis([finding], by_case=by_case)) == said
    del by_case[f"{PLAIN}/float16/clip0.5"]
    assert explain_command(Diagnosis([finding], by_case=by_case)) == f"{said} --dtype float32"


MINE = """\
# about this list

# of clip
- cases: "{plain}/*/clip0.5"    # the plain one
  diagnosis: clip-ignored
  reason: >-
    our clip is
    not there yet
  link: https://example.org/1

# stands by itself

- {{cases: "*/gone", reason: it went}}
# last
- cases: "*/noB"
  reason: B is needed
...
"""


def test_writing_again_changes_only_what_changed(tmp_path: Path, command: Command) -> None:
    file, asked = tmp_path / "e.yaml", runtime(tmp_path, "noB")
    mine = MINE.format(plain=PLAIN)
    file.write_text(mine)
    status, told = check(command, asked, "--write-expect", file)
    assert (status, "2 kept, 1 taken out" in told) == (0, True)
    changed = file.read_text()
    for line in mine.splitlines():
        assert (line in changed) is ("gone" not in line), line
    assert [one.reason for one in load_expectations(file)[-2:]] == [
        "our clip is not there yet", "B is needed"
    ]  # fmt: skip
    assert "0 new" in check(command, asked, "--write-expect", file)[1]
    assert file.read_text() == changed
    assert check(command, asked, "--expect", file)[0] == 0


def test_what_fails_otherwise_now_is_named_before_the_others(
    tmp_path: Path, command: Command
) -> None:
    file, asked = tmp_path / "e.yaml", runtime(tmp_path, "noB")
    file.write_text(f'- cases: "{PLAIN}/*"\n  diagnosis: clip-ignored\n  reason: mine\n')
    assert check(command, asked, "--expect", file)[0] == 1
    assert check(command, asked, "--write-expect", file)[0] == 0
    new, old = load_expectations(file)
    assert (new.cases, old.reason) == ("*/noB", "mine")
    assert check(command, asked, "--expect", file)[0] == 0


def test_no_glob_is_wider_than_the_selection(tmp_path: Path, command: Command) -> None:
    """So that an entry of what is repaired is stale where the same cases are selected."""
    file = tmp_path / "e.yaml"
    assert check(command, runtime(tmp_path), "--write-expect", file, *FLOAT32)[0] == 0
    [one] = load_expectations(file)
    assert one.cases == "*/float32/*clip0.5*"
    repaired = runtime(tmp_path, ignored=False)
    status, told = check(command, repaired, "--expect", file, "--quiet", *FLOAT32)
    assert status == 1
    assert ", 2 passed unexpectedly, 1 expectation is stale" in told


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('# mine\n\n- cases: "*clip0.5*"\n  reason: r\n', "# mine\n\n[]\n"),
        ("[]   # none\n", "[]   # none\n"),
        ("# a\n", "# a\n\n[]\n"),
    ],
)
def test_nothing_fails_any_more(text: str, left: str, tmp_path: Path, command: Command) -> None:
    file, asked = tmp_path / "e.yaml", runtime(tmp_path, ignored=False)
    file.write_text(text)
    assert check(command, asked, "--write-expect", file)[0] == 0
    assert file.read_text() == left
    assert check(command, asked, "--expect", file)[0] == 0


def test_a_list_that_cannot_be_written_does_not_lose_the_report(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes after it, and the report is that of what was judged, with nothing expected."""
    file, xml = tmp_path / "e.yaml", tmp_path / "junit.xml"

    def fails(path: Path, *_: object, **__: object) -> None:
        raise GrucibleError(f"{path}: cannot be written (no space)")

    monkeypatch.setattr("grucible.check.listing.write_whole", fails)
    report = ("--report", f"junit={xml}", "--quiet")
    status, told = check(command, runtime(tmp_path), "--write-expect", file, *report)
    assert (status, told.startswith("does not conform: ")) == (2, True)
    assert "e.yaml: cannot be written" in told
    assert " expected" not in told
    assert "does not conform" in xml.read_text()


def test_what_somebody_wrote_while_the_check_ran_stays(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "e.yaml"
    writes = runtime(tmp_path, first=f"open({str(file)!r}, 'w').write('# mine, too\\n')\n")
    status, told = check(command, writes, "--write-expect", file, "--quiet")
    assert (status, told.startswith("does not conform: ")) == (2, True)
    assert "e.yaml: was changed while the check ran, " in told
    assert file.read_text() == "# mine, too\n"


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("import os\n", (), ":1: holds a str; expected a list"),
        ("[{cases: a, reason: b}]\n", (), 'write each entry on a line that begins with "- "'),
        ("[]\n", ("--expect", "e.yaml"), "leave --expect out"),
        ("[]\n", ("--no-diagnose",), "leave --no-diagnose out"),
    ],
)
def test_what_cannot_be_written_to_stays(
    text: str, more: tuple[str, ...], told: str, tmp_path: Path, command: Command
) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(text)
    asked = ("check", "--runtime", runtime(tmp_path), "--write-expect", file, *more)
    assert told in command(*asked).said_in_one_line()
    assert file.read_text() == text


def test_an_error_is_expected_by_what_does_not_change() -> None:
    for message, part in {
        "E: bad shape (2, 3) at a.cpp:17": "E: bad shape (",
        "E: x.cpp:7: no clip here": ": no clip here",
        "float32 is odd": "is odd",
        "1": "",
    }.items():
        assert find_shared_part(message) == part
