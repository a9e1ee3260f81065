"""The programs that ask a browser, with another in its place.

webnn.mjs gets one that is written from the specification; the models of onnx_web.mjs are compared with ours.
"""

from __future__ import annotations

import operator
import shutil
from pathlib import Path

import pytest
from shipped import core_cases

import grucible

from .conftest import Command

EXAMPLES = Path(grucible.__file__).parent / "check/protocol/examples"
HERE = Path(__file__).parent


def starting(browser: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to a folder whose puppeteer-core is this browser."""
    if not shutil.which("node"):
        pytest.skip("no node here")
    place = folder / "node_modules/puppeteer-core"
    place.mkdir(parents=True)
    shutil.copy(HERE / browser, place / "index.js")
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("options", ["", " --constants"])
def test_a_browser_is_asked_as_the_specification_has_it(
    options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    starting("browser_without_float16.cjs", tmp_path, monkeypatch)
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


def test_the_models_are_those_that_we_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """Every attribute, type and shape; weights and lengths are initializers, other inputs are fed."""
    onnx = pytest.importorskip("onnx")
    from grucible.vectors.exchange.node import LENGTHS, WEIGHTS, node_type
    from grucible.vectors.exchange.onnx_model import model

    starting("browser_that_keeps_models.cjs", tmp_path, monkeypatch)
    package = tmp_path / "node_modules/onnxruntime-web"
    package.mkdir()
    (package / "package.json").write_text('{"version": "1"}')
    asked = [c for c in core_cases() if c.operator == "onnx.GRU-14" and "/float16/" in c.id]
    runtime = f"exec: node {EXAMPLES / 'onnx_web.mjs'} --browser /bin/false"
    select = ("--select", "onnx.GRU-14/*/float16/*")
    ended = command("check", "--runtime", runtime, *select, "--json")
    assert ended.status == 1  # no case passed
    messages = {case["id"]: case["message"] for case in ended.report["cases"]}
    for case in asked:
        name, *fed = messages[case.id].split()
        made = onnx.load(tmp_path / name)
        onnx.checker.check_model(made, full_check=True)
        constants = {n: a for n, a in case.inputs.items() if n in WEIGHTS | LENGTHS}
        ours = model(node_type(case.question), 14, constants)
        found, wanted = made.graph.node[0], ours.graph.node[0]
        assert (found.input, found.output) == (wanted.input, wanted.output)
        names = operator.attrgetter("name")
        assert sorted(found.attribute, key=names) == sorted(wanted.attribute, key=names), case.id
        for part in ("input", "output", "initializer"):
            assert [*getattr(made.graph, part)] == [*getattr(ours.graph, part)], case.id
        assert fed == [name for name in case.inputs if name not in constants]
