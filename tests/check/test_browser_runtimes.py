"""The programs that ask a browser: webnn.mjs, in a browser that is written here from the specification."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import grucible

from .conftest import Command

EXAMPLES = Path(grucible.__file__).parent / "check/protocol/examples"
BROWSER = Path(__file__).with_name("browser_without_float16.cjs")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder whose puppeteer-core is BROWSER."""
    if not shutil.which("node"):
        pytest.skip("no node here")
    place = tmp_path / "node_modules/puppeteer-core"
    place.mkdir(parents=True)
    shutil.copy(BROWSER, place / "index.js")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("options", ["", " --constants"])
def test_a_browser_is_asked_as_the_specification_has_it(options: str, command: Command) -> None:
    runtime = f"exec: node {EXAMPLES / 'webnn.mjs'} --browser /bin/false{options}"
    asked = ("--select", "webnn.*", "--strict", "--json")
    ended = command("check", "--runtime", runtime, *asked)
    assert (ended.status, ended.err) == (0, "")
    assert ended.report["runtime"]["name"] == f"webnn{options}"
    assert ended.report["runtime"]["version"].startswith("Chromium 7, ")
    found = {"passed": 0, "unsupported": 0}
    for case in ended.report["cases"]:
        found[case["verdict"]] += 1
        lacks = "/float16/" in case["id"] or "relu" in case["id"]
        assert (case["verdict"] == "unsupported") == lacks, case["id"]
        assert not lacks or case["message"].startswith("NotSupportedError: no ")
    assert min(found.values()) > 70
    refused = [one["outcome"] for one in ended.report["refusals"]]
    assert {*refused} == {"refused", "unasked"}
    assert refused.count("refused") > 100
