"""The page of a report in a real browser: clicks, keys, the address, phones, paper, and no program at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from grucible import verify
from grucible.check.judging.growth import Growth
from grucible.check.reports.html.page import html_page

from .browser import BROWSER, Tab, browser
from .made import make_block, write_vectors
from .pages import hostile, other_report, wrong_report

pytest.importorskip("jinja2")
pytestmark = [
    pytest.mark.skipif(
        BROWSER is None, reason="no Chromium is installed (Debian: apt install chromium)"
    ),
    pytest.mark.xdist_group("browser"),
]
ROWS = "#list .space .row"


def failed() -> list[str]:
    """The ids of the failures on the page."""
    return [r.id for r in wrong_report().results if r.verdict == "failed"]


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(html_page([wrong_report()]), encoding="utf-8")
    return file


@pytest.fixture(autouse=True)
def _laptop(tab: Tab) -> Iterator[None]:
    tab.look(1280, 900)
    tab.said.clear()
    yield
    assert not tab.faults


def fragment(tab: Tab) -> str:
    return str(tab.ask("location.hash"))


def count(tab: Tab) -> str:
    [text] = tab.texts("#count")
    return text.partition(" of ")[0]


def test_it_opens_and_asks_for_nothing(tab: Tab, page: Path) -> None:
    tab.open(page)
    assert [url for url in tab.requested if not url.startswith(("file:", "about:", "data:"))] == []
    assert count(tab) == str(len(wrong_report().results))
    assert tab.ask("document.getElementById('static').hidden") is True
    charts = [
        tab.ask(f"document.querySelectorAll('{one}').length")
        for one in ("#heat td.cell", ".bin", "#growth path")
    ]
    assert min(charts) > 3
    assert tab.texts(f"{ROWS} .mark")[: len(failed())] == ["failed"] * min(
        len(failed()), len(tab.texts(ROWS))
    )  # what went wrong stands first


def test_a_click_filters_and_the_address_says_how(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.click("#filters .chip.failed")
    assert fragment(tab) == "#verdict=failed"
    assert count(tab) == str(len(failed()))
    tab.ask("document.querySelector('#filters select[aria-label=dtype]').value = 'float64'")
    tab.ask(
        "document.querySelector('#filters select[aria-label=dtype]').dispatchEvent(new Event('change'))"
    )
    assert fragment(tab) == "#dtype=float64&verdict=failed"
    assert count(tab) == str(sum("/float64/" in one for one in failed()))
    seen = tab.texts(f"{ROWS} .id")
    tab.open(page, fragment(tab))  # somebody else, who got the link
    assert tab.texts(f"{ROWS} .id") == seen
    assert all("/float64/" in one for one in seen)
    tab.click("#filters [data-key=clear]")
    assert fragment(tab) == ""
    assert count(tab) == str(len(wrong_report().results))


def test_the_heat_map_counts_and_filters(tab: Tab, page: Path) -> None:
    tab.open(page, "#all=1")
    answered = [r for r in wrong_report().results if r.verdict in ("passed", "failed")]
    some = [r for r in answered if r.traits["clip"] == "0.5" and r.dtype == "float32"]
    passed = sum(r.verdict == "passed" for r in some)
    labels = tab.ask(
        "[...document.querySelectorAll('#heat td.cell')].map(e => e.getAttribute('aria-label'))"
    )
    told = f"{passed} of {len(some)} cases passed"
    [label] = [one for one in labels if "clip 0.5" in one and "dtype float32" in one]
    assert told in label
    tab.click(f'#heat td[aria-label="{label}"]')
    assert sorted(fragment(tab)[1:].split("&")) == [
        "all=1",
        "has=clip%3D0.5",
        "has=dtype%3Dfloat32",
    ]
    assert count(tab) == str(len(some))
    assert tab.ask("document.querySelectorAll('#heat td[aria-selected=true]').length") == 1
    tab.click(f'#heat td[aria-label="{label}"]')
    assert fragment(tab) == "#all=1"


def test_charts_reach_as_far_as_the_numbers(tab: Tab, tmp_path: Path) -> None:
    """However large a ratio is, it stands at its own place: at ∞ is what is infinite, and nothing else."""
    report, file = wrong_report(), tmp_path / "far.html"
    far = dict(zip(failed(), (1e3, 2.67e16, inf), strict=False))
    results = [replace(r, worst_ratio=far.get(r.id, r.worst_ratio)) for r in report.results]
    growth = {"float64": Growth()}
    growth["float64"].see(np.array([[1e12, 1e15, inf]]), np.array([False]))
    file.write_text(html_page([replace(report, results=results, growth=growth)]), encoding="utf-8")
    tab.open(file)
    [line] = tab.ask(
        "[...document.querySelectorAll('#growth .line-failed:not(.middle)')].map(e => e.getAttribute('d'))"
    )
    first, second, third = (float(point.split()[1]) for point in re.split("[ML]", line)[1:])
    assert first > second > third
    assert "∞" in tab.texts("#growth text")
    bins = tab.ask("[...document.querySelectorAll('.bin')].map(e => e.getAttribute('aria-label'))")
    [endless] = [one for one in bins if "infinitely far off" in one]
    assert endless.endswith(": 0 passed, 1 failed")
    [large] = [one for one in bins if "2.2e16 to 4.6e16 × tolerance" in one]
    tab.click(f'.bin[aria-label="{large}"]')
    assert count(tab) == "1"
    tab.click(f'.bin[aria-label="{endless}"]')
    assert count(tab) == "1"
    assert "∞ × tolerance ×" in tab.texts("#filters .chip")


def test_a_case_opens_with_what_it_asks_and_closes(tab: Tab, page: Path) -> None:
    tab.open(page, "#verdict=failed")
    tab.click(f"{ROWS} .id")
    tab.until("document.getElementById('case').open")
    [title] = tab.texts("#case-title")
    assert title in failed()
    assert tab.ask("new URLSearchParams(location.hash.slice(1)).get('case')") == title
    told = tab.texts("#case h3")
    assert told[:2] == ["What it asks", "Error over the steps"]
    assert [told[2], told[-1]] == ["Where it leaves the exact states", "Go on from here"]
    assert [one.split(":")[0] for one in told[3:5]] == ["Y", "Ho"]
    assert "asks for" in tab.texts("#case pre")[0]
    assert "clip" in tab.texts("#case pre")[0]
    assert tab.texts("#case .squares text")[:5][::4] == ["Y[0, 0, 0, :]", "Y[1, 0, 0, :]"]
    assert "batch_size 3 × num_directions 1 × seq_length 4" in " ".join(tab.texts("#case .note"))
    assert tab.texts("#case pre")[-1] == f"grucible show {title}"
    result = next(r for r in wrong_report().results if r.id == title)
    expected, got = result.message.removeprefix("expected ").split(", got ")
    [row] = [
        row
        for row in tab.ask(
            "[...document.querySelectorAll('#case tr.wrong')].map(r => [...r.cells].map(c => c.textContent))"
        )
        if row[0] == result.where
    ]
    assert row[1:3] == [expected, got]
    tab.press("Escape")
    tab.until("!document.getElementById('case').open")
    tab.until("location.hash === '#verdict=failed'")  # the event of closing comes a little later


def test_a_finding_leads_to_its_cases(tab: Tab, page: Path) -> None:
    tab.open(page)
    tab.click(".findings a[href^='#']")
    tab.until("location.hash.includes('why=')")
    report = wrong_report()
    [first, *_] = report.diagnosis.findings
    explained = [case for case, one in report.diagnosis.by_case.items() if one.about == first.about]
    tab.until(f"document.getElementById('count').textContent.startsWith('{len(explained)} of ')")


def test_words_of_a_runtime_run_nothing(tab: Tab, tmp_path: Path) -> None:
    vectors, file = tmp_path / "vectors", tmp_path / "hostile.html"
    vectors.mkdir()
    for dtype in ("float16", "float32", "float64"):
        write_vectors(
            vectors / f"{dtype}.h5",
            make_block(["<img src=x onerror=broken()>", "a'b"], dtype=dtype),
        )
    file.write_text(html_page([verify(vectors, runtime=hostile)]), encoding="utf-8")
    tab.open(file, "#case=openvino.GRUCell-3/made/float64/a'b&q=<b>&has=<i>=<b>")
    tab.until("document.getElementById('case').open")
    assert tab.ask("window.broken") is None
    assert tab.ask("document.querySelectorAll('img, main b:not(.legend b), iframe').length") == 0
    assert "<img src=x onerror='window.broken = 1'>" in tab.texts("#case .lead")[0]
    [commands] = [text for text in tab.texts("#case pre") if text.startswith("grucible show")]
    assert commands.splitlines()[0].endswith("""'openvino.GRUCell-3/made/float64/a'"'"'b'""")


def test_without_its_program_the_tables_are_there(tab: Tab, page: Path) -> None:
    tab.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.send("Page.navigate", url=page.as_uri())
        tab.until(
            "document.readyState === 'complete' && document.querySelectorAll('table').length > 1"
        )
        assert tab.ask("document.getElementById('explore').hidden") is True
        assert (
            tab.ask("getComputedStyle(document.querySelector('.findings .needs-script')).display")
            == "none"
        )
        shown = [text for text in tab.texts(".failures code") if text in failed()]
        assert len(shown) == min(50, len(failed()))
        assert tab.ask("document.querySelector('.failures').getBoundingClientRect().height") > 500
    finally:
        tab.send("Emulation.setScriptExecutionDisabled", value=False)


def test_phone_dark_and_paper(tab: Tab, page: Path, tmp_path: Path) -> None:
    tab.look(360, 740)
    tab.open(page)
    assert tab.ask("document.documentElement.scrollWidth") == 360
    tab.click(f"{ROWS} .id")
    tab.until("document.getElementById('case').open")
    assert tab.ask("document.getElementById('case').getBoundingClientRect().width") == 360
    background = "getComputedStyle(document.body).backgroundColor"
    tab.look(1280, 900)
    light = tab.ask(background)
    tab.look(1280, 900, dark=True)
    dark = tab.ask(background)
    tab.look(1280, 900, dark=True, media="print")
    assert len({light, dark, tab.ask(background)}) == 3
    assert tab.ask(background) == "rgb(255, 255, 255)"
    assert tab.ask("getComputedStyle(document.getElementById('filters')).display") == "none"
    tab.printed(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_runtimes_side_by_side(tab: Tab, tmp_path: Path) -> None:
    one, other = wrong_report(), other_report()
    file = tmp_path / "two.html"
    file.write_text(html_page([one, other]), encoding="utf-8")
    tab.open(file)
    tab.click("#filters [data-key=differ]")
    verdicts = {r.id: r.verdict for r in other.results}
    differ = [r.id for r in one.results if verdicts.get(r.id, "not asked") != r.verdict]
    assert count(tab) == str(len(differ))
    tab.open(file, "#runtime=1&verdict=failed")
    assert count(tab) == str(sum(r.verdict == "failed" for r in other.results))
    tab.click(f"{ROWS} .id")
    tab.until("document.getElementById('case').open")
    assert tab.texts("#case tbody tr th")[:2] == ["clips_nothing", "ignores_lengths"]
    tab.click("#case tbody th a")
    tab.until(
        "chosen.runtime === 0 && document.querySelector('#case .lead').textContent.length > 0"
    )
    assert "runtime" not in fragment(tab)
