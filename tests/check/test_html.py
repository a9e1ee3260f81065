"""The page of a report, as a file: what it holds, what it leaves out, and that nothing in it can be markup."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
import sys
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from grucible import __version__, verify
from grucible.check.judging.criterion import Demanded
from grucible.check.judging.grade import step_errors
from grucible.check.reports import html as html_module
from grucible.check.reports.findings import how_far_off
from grucible.check.reports.html import MOST_FAILURES, html_page, pack_cases, short_ratio
from grucible.check.reports.show import find_case
from grucible.check.reports.terminal import headline

from .conftest import HERE as TESTS
from .conftest import Command, bad_usage
from .made import SEQUENCE, make_block, write_vectors
from .numpy_gru import run
from .pages import held, hostile, ids, other_report, wrong_report

pytest.importorskip("jinja2")
NUMPY = f"{TESTS / 'numpy_gru.py'}:run"
CLIPPED = "openvino.GRUSequence-5/plain/float32/clip0.5"


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its text outside of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.found[-1:] and self.found[-1][0] not in ("style", "script"):
            self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.mark.usefixtures("in_this_process")
def test_check_writes_the_page_and_replaces_an_earlier_one_alone(
    tmp_path: Path, command: Command
) -> None:
    vectors, page = tmp_path / "cell.h5", tmp_path / "page.html"
    write_vectors(vectors, make_block(["a", "b"]))
    check = ("check", vectors, "--runtime", NUMPY, "--report")
    for _ in range(2):
        assert command(*check, f"html={page}").status == 0
        assert ids(page.read_text(encoding="utf-8")) == [
            f"openvino.GRUCell-3/made/float32/{name}" for name in "ab"
        ]
    other = tmp_path / "other.html"
    other.write_text("<!doctype html>\n<title>mine</title>")
    ended = command(*check, f"html={other}")
    assert ended.status == 2
    assert "holds something else" in ended.err
    assert other.read_text().endswith("mine</title>")


def test_verdict_and_diagnosis_come_first_and_need_no_program() -> None:
    report = wrong_report()
    page = Elements(html_page([report]))
    text = " ".join(page.text.split())
    parts = ("clips_nothing", report.verdict, headline(report).partition(": ")[2],
             report.diagnosis.findings[0].about, "By dtype", "The whole report as text", "Cases")  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    wrong = [result for result in report.results if result.wrong]
    assert MOST_FAILURES > len(wrong) > 5
    assert all(result.id in text and how_far_off(result) in text for result in wrong)


def test_every_case_is_in_it_with_what_it_asks_and_what_was_found() -> None:
    report = wrong_report()
    page = html_page([report])
    data = held(page)
    cases, [runtime] = data["cases"], data["runtimes"]
    assert ids(page) == [result.id for result in report.results]
    letters = {"passed": "p", "failed": "f", "unsupported": "u"}
    assert runtime["verdicts"] == [letters[result.verdict] for result in report.results]
    for place, result in enumerate(report.results):
        told = runtime["ratio"][place]
        assert (told is None) == (result.verdict == "unsupported")
        if told is not None:
            assert told == pytest.approx(result.worst_ratio, rel=1e-3)
        assert runtime["message"][place] == result.message
    place = ids(page).index(CLIPPED)
    assert (cases["operator"][place], cases["dtype"][place]) == (SEQUENCE, "float32")
    assert cases["traits"][place] == {
        "activations": "sigmoid, tanh", "activations_alpha": "none", "activations_beta": "none", "clip": "0.5",
        "linear_before_reset": "false", "direction": "forward", "batch size": "3", "steps": "4",
        "input size": "5", "hidden size": "6", "lengths of rows": "full",
    }  # fmt: skip
    explained = runtime["explained"][place]
    assert "clip ignored" in runtime["explanations"][explained]


def test_a_failing_case_has_every_element() -> None:
    """Against the arrays of the vectors, and the ratio worked out here."""
    report = wrong_report()
    page = html_page([report])
    told = held(page, f"case-0-{ids(page).index(CLIPPED)}")
    case = find_case(None, CLIPPED)[0].case(0)
    [part] = [part for part in report.failing if CLIPPED in part.block.ids]
    observed = part.observed["Y"][part.block.ids.index(CLIPPED)]
    [y] = [output for output in told["outputs"] if output["name"] == "Y"]
    expected, limit = case.answer.outputs["Y"], case.answer.tolerances["float32"]["Y"]
    assert y["shape"] == list(expected.shape)
    assert [np.float32(text) for text in y["expected"].split()] == expected.ravel().tolist()
    assert [np.float32(text) for text in y["observed"].split()] == observed.ravel().tolist()
    assert np.allclose([float(t) for t in y["admitted"].split()], limit.ravel(), rtol=1e-3)
    off = np.abs(observed.astype(float) - expected.astype(float)) / limit
    assert np.allclose([float(t) for t in y["ratio"].split()], off.ravel(), rtol=1e-3)
    assert np.allclose(told["steps"], off.max(axis=(0, 1, 3)), rtol=1e-3)
    assert "asks for" in told["asked"]
    assert any(line.startswith("  clip ") for line in told["asked"])  # as on a terminal
    assert told["asked"][0].startswith(f"{SEQUENCE}, float32")
    assert told["inputs"][0].startswith("X: float32")
    assert y["axes"] == ["batch_size", "num_directions", "seq_length", "hidden_size"]


def test_the_plainest_failing_cases_have_their_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_module, "MOST_TRACED", 2)
    report = wrong_report()
    page = html_page([report])
    sections = [held(page, f"case-0-{ids(page).index(one)}")["trace"] for one in pack_cases(report)]
    assert [bool(one) for one in sections] == [True] * 2 + [False] * (len(sections) - 2)
    assert any(line.startswith("leaves the exact states first at ") for line in sections[0])


def test_without_jinja2_one_line_says_so(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    page = tmp_path / "page.html"
    said = command("check", "--runtime", "none-such", "--report", f"html={page}").said_in_one_line()
    assert said == "grucible: a report as HTML needs jinja2: pip install 'grucible[report]'\n"


@pytest.mark.parametrize(("number", "short"), [(1.00001, 1.001), (1.0, 1.0), (np.inf, "inf")])
def test_ratios_stay_on_their_side_of_the_limit(number: float, short: float | str) -> None:
    assert short_ratio(number) == short


def test_words_of_a_runtime_are_text_and_nothing_else(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors"
    vectors.mkdir()
    for dtype in ("float16", "float32", "float64"):
        write_vectors(vectors / f"{dtype}.h5", make_block(["<img src=x>", "a'b"], dtype=dtype))
    page = html_page([verify(vectors, runtime=hostile)])
    parsed = Elements(page)
    assert not parsed.of("img")
    assert not parsed.of("b") or all(not attributes for attributes in parsed.of("b"))
    assert not [a for tag, a in parsed.found if any(key.startswith("on") for key in a)]
    assert parsed.text.count("<img src=x onerror='window.broken = 1'>") >= 3
    assert r"\x1b[2J\u202e" in parsed.text
    assert "\x1b" not in page
    assert "\u202e" not in page
    messages = {*held(page)["runtimes"][0]["message"]}
    assert all(message.isprintable() for message in messages)
    assert sum("<img src=x" in message for message in messages) == 2  # of an error, and a reason
    kinds = [one.get("type") for one in parsed.of("script")]
    assert kinds == ["application/octet-stream"] * (len(kinds) - 1) + [None]


def test_it_is_one_file_that_asks_for_nothing() -> None:
    page = html_page([wrong_report()])
    parsed = Elements(page)
    assert [a["href"] for a in parsed.of("link")] == ["data:,"]
    assert not [a for tag, a in parsed.found if "src" in a]
    style, script = (
        re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL) for tag in ("style", "script")
    )
    assert "url(" not in style[0]
    assert "@import" not in style[0]
    assert not re.search(
        r"\bfetch\(|XMLHttpRequest|WebSocket|importScripts|innerHTML|\beval\(", script[0]
    )
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    [policy] = [a["content"] for a in parsed.of("meta") if a.get("http-equiv")]
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert f"script-src 'sha256-{digest}'" in policy
    links = [a["href"] or "" for a in parsed.of("a")]
    assert all(link.startswith(("#", "https://github.com/")) for link in links)


def test_check_judges_several_runtimes_and_shows_them_on_one_page(
    tmp_path: Path, command: Command
) -> None:
    wrong = f"{TESTS / 'misbehaving.py'}:segfaults_on_clip"
    both = ("--runtime", NUMPY, "--runtime", wrong, "--select", CLIPPED)
    page = tmp_path / "both.html"
    ended = command("check", *both, "--report", f"html={page}")
    assert ended.status == 1  # that of the worst
    assert ended.out.index("conforms") < ended.out.index("does not conform")
    shown = Elements(page.read_text()).text
    assert NUMPY in shown
    assert wrong in shown
    quiet = command("check", *both, "--quiet")
    assert (quiet.status, quiet.out.count("conform")) == (1, 2)
    for one in (["--json"], ["--report", f"junit={tmp_path / 'j.xml'}"]):
        bad_usage(command("check", *both, *one), "takes one runtime; give --runtime once")


def test_the_foot_says_what_made_it_and_of_what(tmp_path: Path, command: Command) -> None:
    """And a page that no command made names no day: equal reports give equal pages."""
    vectors, page = tmp_path / "my vectors", tmp_path / "page.html"
    vectors.mkdir()
    for name in "ab":
        write_vectors(vectors / f"{name}.h5", make_block([name]))
    words = ["check", str(vectors), "--runtime", NUMPY, "--json", "--report", f"html={page}"]
    digests = command(*words).report["vectors"]["digests"]
    foot = " ".join(Elements(page.read_text()).text.partition("With JavaScript")[2].split())
    assert [*digests] == ["a.h5", "b.h5"]
    lists = "".join(
        f"{both.split()[n]}  {name}\n" for n in (0, 1) for name, both in digests.items()
    )
    digest = hashlib.sha256(lists.encode()).hexdigest()
    assert f"vectors: 2 files, root digest {digest}" in foot
    assert shlex.join(["grucible", *words]) in foot
    assert re.search(rf"grucible {re.escape(__version__)}, {date.today():%Y-}\d\d-\d\d \d", foot)
    report = wrong_report()
    assert html_page([report]) == html_page([replace(report)])
    assert f"{date.today():%Y-%m-}" not in Elements(html_page([report])).text


def test_side_by_side_those_that_do_not_conform_are_open() -> None:
    right = verify(runtime=run, select=CLIPPED)
    shown = Elements(html_page([right, wrong_report(), right, other_report()]))
    folded = [one for one in shown.of("details") if one.get("class") != "text"]
    assert ["open" in one for one in folded] == [True, False, True]


def test_a_notebook_shows_a_report_as_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    report = wrong_report()
    [frame] = Elements(report._repr_html_() or "").of("iframe")
    assert frame["srcdoc"] == html_page([report])
    assert frame["sandbox"] == "allow-scripts allow-popups"
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert report._repr_html_() is None


def test_steps_are_counted_in_the_order_of_processing() -> None:
    """In reverse the last time of a row is its first step; past its length there is none."""
    _, block = make_block(["a", "b"], operator=SEQUENCE, lengths=(3, 2))
    criterion = Demanded("float32")
    observed = {name: array.copy() for name, array in block.answer.outputs.items()}
    limit = block.answer.tolerances["float32"]["Y"]
    observed["Y"][0, 0, 0, 2, 1] += 8 * limit[0, 0, 0, 2, 1]  # row of length 3: its first step
    observed["Y"][0, 1, 0, 0, 0] += 64 * limit[0, 1, 0, 0, 0]  # row of length 2: its second
    observed["Y"][1, 1, 0, 2, 0] += 1  # past its length
    errors = step_errors(block, observed, criterion)
    assert errors is not None
    assert np.allclose(errors, [[8, 64, 0], [0, 0, 0]], rtol=0.05)
    block.inputs["sequence_lengths"][:] = 2
    errors = step_errors(block, observed, criterion)
    assert errors is not None
    assert np.isnan(errors[:, 2]).all()
    _, cell = make_block(["a"])
    assert step_errors(cell, cell.answer.outputs, criterion) is None
