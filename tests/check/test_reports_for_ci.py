"""What CI systems read: JUnit XML, GitHub's annotations and job summary, and a log of five lines."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import pytest

from grucible import Report
from grucible.cases.console import escape, escape_commands
from grucible.check.diagnosis.finding import Diagnosis, Finding
from grucible.check.judging.criterion import Tolerance
from grucible.check.protocol.header import Fault
from grucible.check.reports.findings import diagnosis_in_short, see_command
from grucible.check.reports.formats import report_junit, summary, workflow_commands
from grucible.check.reports.terminal import headline, quiet_lines, report_lines
from grucible.check.reports.text import SHOWN, list_some

from .conftest import Command
from .made import CELL, name_of
from .planned import KINDS, judged, write_all_kinds

HOSTILE = "]]></failure><script>\x1b[2J\x00 | `x` ::error::x\ud800\ufffe \u202e\n::warning::y"
HERE = Path(__file__).parent
WRONG = f"{HERE / 'misbehaving.py'}:nan"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return judged(write_all_kinds(tmp_path_factory.mktemp("kinds") / "kinds.h5"), set(KINDS))


def suites(text: str) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(text.encode())
    return {suite.attrib["name"]: suite for suite in root.iter("testsuite")}


def test_junit_has_a_test_for_each_case_and_what_became_of_it(report: Report) -> None:
    found = suites(report_junit(report))
    assert list(found) == ["verdict", f"{CELL} float32"]
    suite = found[f"{CELL} float32"]
    became = {
        name_of(test.attrib["name"]).rpartition("/")[0]: [child.tag for child in test]
        for test in suite.iter("testcase")
    }
    assert became == {
        "passed": [], "failed": ["failure"], "error": ["error"], "missing": ["error"],
        "unsupported": ["skipped"], "expected-failed": ["skipped"], "expected-error": ["skipped"],
        "expected-passed": [], "nonportable-failed": ["skipped"], "nonportable-missing": ["skipped"],
    }  # fmt: skip
    counts = [int(suite.attrib[k]) for k in ("tests", "failures", "errors", "skipped")]
    assert counts == [20, 2, 4, 10]
    [verdict] = found["verdict"].iter("failure")
    assert "does not conform: 4 of 16 cases passed" in (verdict.text or "")


def test_the_text_of_an_error_ends_with_its_traceback(report: Report) -> None:
    trace = ("Traceback (most recent call last):", 'File "my_gru.py", line 20', "ValueError: <x>")
    results = [
        replace(r, fault=Fault("raised", trace)) if r.verdict == "error" else r
        for r in report.results
    ]
    found = suites(report_junit(replace(report, results=results)))[f"{CELL} float32"]
    errors = [e for e in found.iter("error") if not e.attrib["message"].startswith("missing: ")]
    assert errors
    for text in (error.text or "" for error in errors):
        assert text.endswith("\n\n" + "\n".join(trace))
        assert "see: grucible show " in text


def test_junit_of_a_hostile_runtime_is_xml_and_says_what_it_said(report: Report) -> None:
    results = [replace(r, message=HOSTILE, id=f'{r.id}<&">') for r in report.results]
    text = report_junit(replace(report, results=results, runtime=HOSTILE))
    [message] = {
        error.attrib["message"]
        for error in suites(text)[f"{CELL} float32"].iter("error")
        if not error.attrib["message"].startswith("missing")
    }
    assert message.startswith("]]></failure><script>\\x1b[2J\\x00 | `x`")
    assert all(one in message for one in ("\\ud800", "\\ufffe"))


def test_junit_after_an_interruption_has_no_errors_for_what_was_not_asked(report: Report) -> None:
    text = report_junit(replace(report, interrupted=True))
    suite = suites(text)[f"{CELL} float32"]
    missing = [t for t in suite.iter("testcase") if name_of(t.attrib["name"]).startswith("missing")]
    assert [child.tag for test in missing for child in test] == ["skipped", "skipped"]
    assert "interrupted" in text


def test_annotations_say_the_verdict_and_start_no_other_command(report: Report) -> None:
    [first, *_] = workflow_commands(replace(report, runtime=HOSTILE))
    assert first.startswith("::error title=grucible::does not conform: 4 of 16 cases passed")
    assert all("\n" not in line for line in workflow_commands(report))


def test_the_summary_is_markdown_in_which_nothing_is_html(report: Report) -> None:
    results = [replace(r, message=HOSTILE) for r in report.results]
    text = summary(replace(report, results=results, runtime="a|<b>*c*"))
    head, fence, block = text.partition("\n```text\n")
    assert head.startswith(
        "## grucible: does not conform\n\ndoes not conform: 4 of 16 cases passed"
    )
    assert fence
    assert block.endswith("\n```\n")
    assert "```" not in block.removesuffix("\n```\n")
    assert "<" not in head
    assert "\x1b" not in text
    [row] = [line for line in block.splitlines() if line.startswith("float32 ")][:1]
    assert row.split() == ["float32", "16", "4", "4", "4", "2", "2"]
    assert "start with: grucible show " in block


SAYS_COMMANDS = """
import sys
def run(question):
    print("##[stop-commands]abc", file=sys.stderr)
    raise ValueError(f"a ##[error]b\\n::error::c {question.id}")
"""


@pytest.mark.parametrize("printed", [[], ["--quiet"]], ids=str)
def test_on_github_what_a_runtime_says_is_no_command_of_either_form(
    some_vectors: Path,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    printed: list[str],
) -> None:
    page, module = tmp_path / "summary.md", tmp_path / "says.py"
    page.write_text("of an earlier step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    module.write_text(SAYS_COMMANDS)
    ended = command(
        "check", some_vectors, "--runtime", f"{module}:run", "--report", "github", *printed
    )
    assert ended.status == 1
    assert "##[" not in ended.out + ended.err
    assert r"says.py:run: ##\x5bstop-commands]abc" in ended.err
    assert "::error title=grucible::does not conform: 0 of 5 cases passed" in ended.err
    assert not [line for line in ended.out.splitlines() if line.lstrip().startswith("::")]
    assert page.read_text().startswith("of an earlier step\n## grucible: does not conform\n")


def test_what_makes_a_workflow_command_is_written_out(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert escape_commands("a ::b:: ##c #[d]") == "a ::b:: ##c #[d]"
    assert escape_commands("  ::error::a") == r"  \x3a:error::a"
    words = ("compare", "##[error]a", "::error::b")
    for variable in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
        monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
        assert "##[error]a" in command(*words).said_in_one_line()
        monkeypatch.setenv(variable, "true")
        assert r"##\x5berror]a" in command(*words).said_in_one_line()


def test_elsewhere_github_needs_a_file(
    some_vectors: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    ended = command("check", some_vectors, "--runtime", WRONG, "--report", "github")
    assert "write the summary to a file: --report github=FILE" in ended.said_in_one_line()
    page, xml = tmp_path / "summary.md", tmp_path / "junit.xml"
    both = ["--report", f"github={page}", "--report", f"junit={xml}"]
    ended = command("check", some_vectors, "--runtime", WRONG, *both, "--quiet")
    assert ended.status == 1
    assert page.read_text().startswith("## grucible: ")
    assert suites(xml.read_text())
    assert len(ended.out.splitlines()) <= 5


def test_a_quiet_log_has_five_lines_at_most(report: Report) -> None:
    lines = list(quiet_lines(report))
    assert len(lines) <= 5
    assert lines[0].startswith("does not conform: 4 of 16 cases passed")
    assert lines[-1].startswith("start with: grucible show ")


def test_a_quiet_log_says_that_nothing_explains_failures(report: Report) -> None:
    unknown = replace(
        report.diagnosis, findings=(), unexplained_ids=frozenset("ab"), hints=["a place"]
    )
    lines = list(quiet_lines(replace(report, diagnosis=unknown)))
    assert len(lines) <= 5
    assert f"2 of {unknown.failed} failures: unexplained; a place" in lines


def test_an_error_of_a_program_leads_to_the_question_or_to_the_protocol(report: Report) -> None:
    def see(kind: Literal["crashed", "hung", "malformed"], asked: str = "exec: ./gru") -> str:
        case = replace(report.results[0], verdict="error", fault=Fault(kind))
        return see_command(replace(report, asked=asked), case)

    case_id = report.results[0].id
    assert see("crashed").endswith(f" -o asked --select {case_id}")
    assert see("crashed").startswith("grucible ask ")
    assert see("hung") == see("crashed")
    assert see("malformed") == "grucible probe 'exec: ./gru'"
    assert see("crashed", "gru.py:run").startswith("grucible show ")


def test_a_case_that_can_be_asked_again_is_traced(report: Report) -> None:
    def last(**asked: Any) -> str:
        line = list(report_lines(replace(report, **asked)))[-1]
        return line.replace(report.vectors, "V").partition("grucible ")[2]

    one = last().removeprefix("show ")
    assert one.startswith("V ")
    assert last(asked="exec: ./gru --fast") == f"trace {one} --runtime 'exec: ./gru --fast'"
    assert last(outputs="o u t") == f"trace {one} --against 'o u t'"
    again = [replace(one, message="asked again: off") for one in report.results]
    assert last(asked="mine:run", results=again).startswith("show ")
    other = {d: replace(one, required=Tolerance(absolute=1e-9)) for d, one in report.grades.items()}
    assert last(asked="mine:run", grades=other).startswith("show ")
    errors = [one for one in report.results if one.verdict != "failed"]
    only = replace(report, results=errors, asked="mine:run")
    assert list(report_lines(only))[-1].startswith(
        "start with: grucible show "
    )  # its cause is shown


@pytest.mark.parametrize(("more", "last"), [(0, "9"), (1, "10"), (2, "… and 2 more reasons")])
def test_one_item_more_is_named_and_not_counted(more: int, last: str) -> None:
    lines = [*list_some([[str(n)] for n in range(SHOWN + more)], "reasons")]
    assert lines[-1].strip() == last


def test_one_failure_is_explained_and_two_are() -> None:
    found = Finding(("clip-ignored",), "misreading", "clip ignored", 1, 3)
    for left, words in (("ab", "1 of 3 failures is"), ("a", "2 of 3 failures are")):
        diagnosis = Diagnosis([found], failed=3, unexplained_ids=frozenset(left))
        assert diagnosis_in_short(diagnosis) == f"; {words} explained by one finding, see below"


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_line_ends_where_the_terminal_does_and_nowhere_else(
    report: Report, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But no word is cut: ids stand whole in lines of their own."""
    monkeypatch.setenv("COLUMNS", str(columns))
    hostile = "\x1b[2J " * 40
    results = [
        replace(r, id=f"{r.id}{'-x' * 60}", message=f"{hostile} {'-x' * 99}" if r.message else "")
        for r in report.results
    ]
    long = replace(report, results=results, vectors="v")
    lines = [escape(line) for line in report_lines(long)]
    texts = [
        one for one in lines if not re.match("start with: |float32 |nonp|dtype|    +cases", one)
    ]
    wide = [line.strip() for line in texts]
    wide = [line.rstrip(";") for line, text in zip(wide, texts, strict=True) if len(text) > columns]
    ids = {r.id for r in results}
    assert ids & {*wide}
    assert "-x" * 99 in wide
    assert not [line for line in wide if line not in ids and not re.fullmatch("(-x|…)+", line)]
    assert any(columns - 12 < len(line) <= columns for line in lines)
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr(sys, "__stdout__", None)
    assert headline(long) in [*report_lines(long)]
