"""The page of a report in a real browser: its address filters, charts and cases are drawn, nothing is run."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from grucible import Report, verify
from grucible.cases.console import WORDS
from grucible.check.judging.criterion import chosen_criteria
from grucible.check.judging.grade import Grade, Growth
from grucible.check.reports.html import html_page

from .browser import BROWSER, Shown
from .made import make_block, write_vectors
from .pages import hostile, other_report, wrong_report

pytest.importorskip("jinja2")
pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium is installed (Debian: apt install chromium)"
)

POLICY = '<meta http-equiv="Content-Security-Policy"[^>]*>'


def written(folder: Path, *reports: Report) -> Path:
    file = folder / "page.html"
    file.write_text(html_page(reports), encoding="utf-8")
    return file


def found(page: Path, expression: str, *options: str) -> Any:
    """What an expression of JavaScript gives on the page, which else forbids scripts but its own."""
    script = (
        "<script>setTimeout(async () => { document.body.dataset.found = JSON.stringify"
        f"(await (async () => {{ {expression} }})()) }}, 1000)</script></body>"
    )
    text = re.sub(POLICY, "", page.read_text(encoding="utf-8"))
    page.write_text(text.replace("</body>", script), encoding="utf-8")
    [json_text] = Shown(page, "", *options).all('<body data-found="([^"]*)"')
    return json.loads(json_text)


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
    plain = re.compile(r"expected \S+, got \S+")  # of the output as a whole, as the table has it
    result = next(r for r in wrong_report().results if r.wrong and plain.fullmatch(r.message))
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
    grades = {dtype: Grade(dtype, one) for dtype, one in chosen_criteria(rtol=1e-3).items()}
    page = written(tmp_path, replace(wrong_report(), asked="exec: ./my gru", grades=grades))
    text = html.unescape(re.sub("<[^>]*>", " ", Shown(page, f"#case={result.id}").case))
    assert f"grucible show {result.id}" in text
    assert "grucible trace" not in text  # it judges by the usual tolerances


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


@pytest.mark.parametrize("width", [500, 1280])
@pytest.mark.parametrize("several", [1, 2, 6])
def test_ids_are_whole_and_heads_stand_over_their_columns(
    tmp_path: Path, width: int, several: int
) -> None:
    """No row is lower than what stands in it, and each begins where the one before it ends."""
    report = wrong_report()
    results = [
        replace(r, id=f"{r.id}{'-x' * n}")
        for n, r in zip(range(0, 999, 9), report.results, strict=False)
    ]
    page = written(tmp_path, *[replace(report, results=results)] * several)
    cut, apart, off = found(
        page,
        """const box = (one) => one.getBoundingClientRect(), rows = [...document.querySelectorAll(".space .row")];
        const there = (row) => [...row.querySelectorAll(":scope > *, .id code, .id code *")].filter((one) => one.offsetWidth);
        const heads = [...document.querySelectorAll(".head > *")];
        return [
          rows.filter((row) => there(row).some((one) => box(one).bottom > box(row).bottom || box(one).top < box(row).top)
            || row.querySelector(".id").scrollWidth > row.querySelector(".id").clientWidth).length,
          rows.slice(1).map((row, n) => box(row).top - box(rows[n]).bottom),
          [...rows[0].children].flatMap((one, n) => heads[n].offsetWidth ? [box(one).left - box(heads[n]).left, box(one).right - box(heads[n]).right] : []),
        ];""",
        f"--window-size={width},900",
    )
    assert cut == 0
    assert len(apart) > 8
    assert apart == pytest.approx([0] * len(apart), abs=0.1)
    assert len(off) >= 2 * min(several + 1, 3)
    assert off == pytest.approx([0] * len(off), abs=0.1)


def test_what_goes_on_to_the_right_fades_there(tmp_path: Path) -> None:
    before, after, others = found(
        written(tmp_path, wrong_report()),
        """const map = document.getElementById("heat-map"), fades = () => map.classList.contains("goes-on");
        const before = fades(); map.scrollLeft = map.scrollWidth;
        map.dispatchEvent(new Event("scroll"));
        return [before, fades(), [...document.querySelectorAll(".goes-on")].every((one) => one.scrollWidth > one.clientWidth)];""",
        "--window-size=500,900",
    )
    assert (before, after, others) == (True, False, True)


def test_a_button_copies_an_id_a_command_and_what_made_the_page(tmp_path: Path) -> None:
    report = replace(wrong_report(), asked="onnxruntime")
    with click.Context(click.Command("check")) as context:
        context.meta[WORDS] = ["check", "a b"]
        page = written(tmp_path, report)
    copied = found(
        page,
        f"""const copied = [];
        Object.defineProperty(navigator, "clipboard", {{ value: {{ writeText: async (text) => copied.push(text) }} }});
        location.hash = "#case={failed()[0]}";
        await new Promise((done) => setTimeout(done, 500));
        for (const button of document.querySelectorAll(".copy")) button.click();
        return copied;""",
    )
    one = failed()[0]
    explain = "grucible explain clip-ignored --operator openvino.GRUSequence-5"
    assert copied[:2] == [explain, "grucible check 'a b'"]
    assert {one, f"grucible show {one}", f"grucible show {one} --script onnxruntime"} <= {*copied}


def test_no_place_is_kept_for_a_chart_of_nothing(tmp_path: Path) -> None:
    steps = """return [growth.hidden, errors.offsetWidth, heat.offsetWidth, growth.offsetWidth];"""
    hidden, errors, whole, _ = found(written(tmp_path, replace(wrong_report(), growth={})), steps)
    assert (hidden, errors) == (True, whole)
    hidden, errors, _, growth = found(written(tmp_path, wrong_report()), steps)
    assert (hidden, errors) == (False, growth)


def test_in_a_notebook_the_page_works_within_its_frame(tmp_path: Path) -> None:
    """There it has no address, and its links must not load the notebook into the frame."""
    frame = html.unescape(wrong_report()._repr_html_() or "")
    frame = frame.replace("sandbox=", "title=", 1)  # Chromium's clock waits for no other process
    script = (
        "<script>setTimeout(() => { document.querySelector('.findings a').click();"
        "parent.postMessage(document.getElementById('count').textContent, '*'); }, 1000)</script></body>"
    )
    inside = re.sub(POLICY, "", frame[frame.index("<!doctype") : frame.rindex('"')])
    start = html.escape(inside.replace("</body>", script))
    notebook = tmp_path / "notebook.html"
    notebook.write_text(
        f"""<!doctype html><body><script>onmessage = (one) => {{ document.body.dataset.found = one.data; }}</script>
        {frame[: frame.index("<!doctype")]}{start}"></iframe>""",
        encoding="utf-8",
    )
    [count] = Shown(notebook).all('<body data-found="([^"]*)"')
    first = wrong_report().diagnosis.findings[0]
    assert count == f"{first.explains} of {len(wrong_report().results)} cases"
