"""The page of a report in a real browser: its address filters, charts and cases are drawn, nothing is run."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from grucible import Report, verify
from grucible.check.judging.grade import Growth
from grucible.check.reports.html import html_page

from .browser import BROWSER, Shown
from .made import make_block, write_vectors
from .pages import hostile, other_report, wrong_report

pytest.importorskip("jinja2")
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium is installed (Debian: apt install chromium)"
)


def written(folder: Path, *reports: Report) -> Path:
    file = folder / "page.html"
    file.write_text(html_page(reports), encoding="utf-8")
    return file


def failed() -> list[str]:
    """The ids of the failures on the page."""
    return [r.id for r in wrong_report().results if r.verdict == "failed"]


def test_it_lists_all_cases_and_draws_the_charts(tmp_path: Path) -> None:
    page = written(tmp_path, wrong_report())
    shown = Shown(page)
    assert 'class="scripted ready"' in shown.text
    assert shown.count == len(wrong_report().results)
    assert set(shown.ids[: len(failed())]) == set(failed())  # what went wrong stands first
    assert len(shown.all('<td class="(cell)')) > 3
    told = shown.all(r'<g class="bin"[^>]*aria-label="([^"]*)"')
    total = sum(sum(map(int, re.findall(r"(\d+) (?:passed|failed)", one))) for one in told)
    assert total == sum(
        r.decides and r.verdict in ("passed", "failed") for r in wrong_report().results
    )
    assert len(shown.all(r'id="growth".*?<(path)')) == 1


def test_the_address_filters(tmp_path: Path) -> None:
    page = written(tmp_path, wrong_report())
    shown = Shown(page, "#dtype=float64&verdict=failed")
    assert set(shown.ids) == {one for one in failed() if "/float64/" in one}
    assert shown.count == len(shown.ids)
    wanted = [r.id for r in wrong_report().results if "float32" in r.id and "clip" in r.id]
    assert sorted(Shown(page, "#q=float32+CLIP").ids) == sorted(wanted)
    some = [r for r in wrong_report().results if r.traits["clip"] == "0.5" and r.dtype == "float32"]
    found = Shown(page, "#all=1&has=clip%3D0.5&has=dtype%3Dfloat32")
    assert found.count == sum(r.verdict in ("passed", "failed") for r in some)


def test_a_case_opens_with_what_it_asks(tmp_path: Path) -> None:
    page = written(tmp_path, replace(wrong_report(), asked="exec: ./my gru"))
    result = next(r for r in wrong_report().results if r.id == failed()[0])
    text = html.unescape(re.sub("<[^>]*>", " ", Shown(page, f"#case={result.id}").case))
    for part in ("What it asks", "asks for", "Error over the steps", "Go on from here",
                 "Where it leaves the exact states", result.id, result.where):  # fmt: skip
        assert part in text
    expected, got = result.message.removeprefix("expected ").split(", got ")
    assert re.search(
        rf"{re.escape(result.where)}\s+{re.escape(expected)}\s+{re.escape(got)}\s", text
    )
    for command in ("show", "trace", "shrink"):
        assert f"grucible {command} {result.id}" in text
    assert "--runtime 'exec: ./my gru'" in text


def test_charts_reach_as_far_as_the_numbers(tmp_path: Path) -> None:
    """However large a ratio is, it stands at its own place: at ∞ is what is infinite, and nothing else."""
    report = wrong_report()
    far = dict(zip(failed(), (1e3, 2.67e16, inf), strict=False))
    results = [replace(r, worst_ratio=far.get(r.id, r.worst_ratio)) for r in report.results]
    growth = {"float64": Growth()}
    growth["float64"].see(np.array([[1e12, 1e15, inf]]), np.array([False]))
    shown = Shown(written(tmp_path, replace(report, results=results, growth=growth)))
    [line] = shown.all(r'<path class="line-failed " d="([^"]*)"')
    first, second, third = (float(point.split()[1]) for point in re.split("[ML]", line)[1:])
    assert first > second > third
    bins = shown.all(r'<g class="bin"[^>]*aria-label="([^"]*)"')
    [endless] = [one for one in bins if "infinitely far off" in one]
    assert endless.endswith(": 0 passed, 1 failed")
    assert any("2.2e16 to 4.6e16 × tolerance: 0 passed, 1 failed" in one for one in bins)


def test_words_of_a_runtime_run_nothing(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors"
    vectors.mkdir()
    for dtype in ("float16", "float32", "float64"):
        block = make_block(["<img src=x onerror=broken()>", "a'b"], dtype=dtype)
        write_vectors(vectors / f"{dtype}.h5", block)
    page = written(tmp_path, verify(vectors, runtime=hostile))
    shown = Shown(page, "#case=openvino.GRUCell-3/made/float64/a'b&q=<b>&has=<i>=<b>")
    assert not re.search("<(img|iframe)", shown.text.replace("<script", ""))
    assert "&lt;img src=x onerror='window.broken = 1'&gt;" in shown.case
    assert """'openvino.GRUCell-3/made/float64/a'"'"'b'""" in html.unescape(shown.case)


def test_runtimes_side_by_side(tmp_path: Path) -> None:
    one, other = wrong_report(), other_report()
    page = written(tmp_path, one, other)
    verdicts = {r.id: r.verdict for r in other.results}
    differ = [r.id for r in one.results if verdicts.get(r.id, "not asked") != r.verdict]
    assert Shown(page, "#differ=1").count == len(differ)
    shown = Shown(page, "#runtime=1&verdict=failed")
    assert shown.count == sum(r.verdict == "failed" for r in other.results)
    case = Shown(page, f"#runtime=1&case={shown.ids[0]}").case
    assert case.index("clips_nothing") < case.index("ignores_lengths")
