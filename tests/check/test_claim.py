"""`check --report claim=FILE`, its badge, and `grucible claim verify`."""

from __future__ import annotations

import copy
import functools
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from grucible.check.reports.claim import badge, claim_value
from grucible.vectors.digest import VERSION, root_digest
from grucible.vectors.hdf5 import CORE
from grucible.vectors.reader import open_vectors

from .conftest import HERE, Command, Ended, bad_usage
from .made import CELL, SEQUENCE

WRONG = f"{HERE / 'misbehaving.py'}:nan"
SVG = "{http://www.w3.org/2000/svg}"
pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.fixture
def made(some_vectors: Path, tmp_path: Path, command: Command) -> Path:
    """A folder with a claim, its badge and its report."""
    reports = [
        "--report",
        f"claim={tmp_path / 'c.json'}",
        "--report",
        f"json={tmp_path / 'r.json'}",
    ]
    assert command("check", some_vectors, "--runtime", WRONG, *reports).status == 1
    return tmp_path


def verified(made: Path, claim: Any, command: Command) -> Ended:
    (made / "c.json").write_text(json.dumps(claim))
    return command("claim", "verify", made / "c.json", made / "r.json")


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, one in value.items():
        if isinstance(one, dict):
            yield from leaves(one, (*path, name))
        else:
            yield (*path, name)


def test_a_claim_says_what_the_report_says(
    made: Path, some_vectors: Path, command: Command
) -> None:
    claim = json.loads((made / "c.json").read_text())
    assert claim["report_sha256"] == hashlib.sha256((made / "r.json").read_bytes()).hexdigest()
    files = {path: open_vectors(some_vectors / path) for path in ("cell.h5", "deep/seq.h5")}
    digests = {path: (one.content_sha256, one.tolerance_sha256) for path, one in files.items()}
    root = root_digest(digests)
    wanted = {"version": VERSION, "published": False, "files": 2, "root_digest": root}
    assert claim["vectors"] == wanted
    assert (claim["verdict"], claim["passed"], claim["cases"]) == ("does not conform", 4, 5)
    right = {"verdict": "conforms", "passed": 1, "cases": 1}
    wrong = {"verdict": "does not conform", "passed": 2, "cases": 3}
    assert claim["operators"] == {
        CELL: {"bfloat16": right, "float32": wrong},
        SEQUENCE: {"float32": right},
    }
    assert claim["arithmetic"]["float32"] == {"required": "float32", "observed": None}
    ended = command("claim", "verify", made / "c.json", made / "r.json")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.startswith("the claim holds")
    assert claim["machine"] in ended.out


def test_every_field_that_differs_is_named(made: Path, command: Command) -> None:
    claim = json.loads((made / "c.json").read_text())
    paths = [path for path in leaves(claim) if path not in (("machine",), ("grucible_claim",))]
    assert len(paths) > 20
    for *above, last in paths:
        for change in (
            lambda inner, name: inner.pop(name),
            lambda inner, name: inner.update({name: -1}),
        ):
            changed = copy.deepcopy(claim)
            change(functools.reduce(dict.__getitem__, above, changed), last)
            ended = verified(made, changed, command)
            named = [line for line in ended.out.splitlines() if line.startswith("  ")]
            assert ended.status == 1
            assert [line.partition(":")[0] for line in named] == [f"  {' > '.join([*above, last])}"]


def test_a_field_too_many_and_an_altered_report(made: Path, command: Command) -> None:
    claim = json.loads((made / "c.json").read_text())
    assert verified(made, claim | {"machine": "another"}, command).status == 0
    ended = verified(made, claim | {"certified": "by nobody"}, command)
    assert (ended.status, "  certified: claimed by nobody, reported nothing" in ended.out) == (
        1,
        True,
    )
    (made / "r.json").write_text((made / "r.json").read_text() + "\n")
    lines = verified(made, claim, command).out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["report_sha256:"]


def test_what_is_no_claim_or_no_report(made: Path, command: Command) -> None:
    claim, report = made / "c.json", made / "r.json"
    bad_usage(command("claim", "verify", report, report), "is no claim")
    bad_usage(command("claim", "verify", claim, claim), "is no report")
    value = json.loads(report.read_text())
    changes: list[dict[str, Any]] = [
        {"arithmetic": 1},
        {"runtime": []},
        {"vectors": {"origins": {}}},
        {"select": "*"},
    ]
    for change in changes:
        report.write_text(json.dumps(value | change))
        bad_usage(command("claim", "verify", claim, report), "is no report")
    value["arithmetic"]["float32"]["vacuous"] = "no"
    report.write_text(json.dumps(value))
    bad_usage(command("claim", "verify", claim, report), "is no report")


def case(verdict: str, **more: Any) -> dict[str, Any]:
    return {"id": f"{CELL}/t/float32/x", "tier": "required", "verdict": verdict, **more}


PASSED = case("passed")
OTHERS = {
    "conforms": [PASSED],
    "conforms where supported": [PASSED, case("unsupported")],
    "unsupported": [case("unsupported")],
    "incomplete": [PASSED, case("missing")],
    "does not conform": [PASSED, case("error")],
}


def report(verdict: str, *cases: dict[str, Any], undeciding: int = 0) -> dict[str, Any]:
    grade = {"required": "float32", "observed": "float32", "vacuous": {"cases": undeciding}}
    vectors = {"version": 1, "origins": {"a.h5": "published"}, "digests": {"a.h5": "1 2"}}
    return {
        "runtime": {"name": "<&", "version": ""}, "verdict": verdict, "select": [], "shard": "1/1",
        "stopped": False, "interrupted": False,
        "vectors": vectors, "arithmetic": {"float32": grade}, "cases": list(cases),
    }  # fmt: skip


@pytest.mark.parametrize("verdict", OTHERS)
def test_the_verdict_of_an_operator_and_dtype(verdict: str) -> None:
    def judged(*given: Any, **more: Any) -> str:
        found: str = claim_value(report(*given, **more), b"")["operators"][CELL]["float32"][
            "verdict"
        ]
        return found

    assert judged("conforms", *OTHERS[verdict]) == verdict
    refused = case("unsupported", must_support=True)
    assert judged("does not conform", PASSED, refused) == "does not conform"
    assert judged("incomplete", PASSED) == "incomplete"
    assert judged("conforms", PASSED, undeciding=1) == "incomplete"
    for word in ("stopped", "interrupted"):
        cut = report("does not conform", PASSED) | {word: True}
        claim = claim_value(cut, b"")
        assert claim["left_out"] is True
        assert claim["operators"][CELL]["float32"]["verdict"] == "incomplete"
    accepted = {"operator": CELL, "dtype": "float32", "outcome": "obvious", "decides": True}
    for change, says in (({}, "does not conform"), ({"dtype": "float16"}, "conforms"),
                         ({"outcome": "refused"}, "conforms"), ({"decides": False}, "conforms")):  # fmt: skip
        strict = report("does not conform", PASSED) | {"refusals": [accepted | change]}
        assert claim_value(strict, b"")["operators"][CELL]["float32"]["verdict"] == says
    beside = case("failed", tier="nonportable")
    assert judged("conforms", PASSED, beside) == "conforms"


@pytest.mark.parametrize("verdict", OTHERS)
def test_a_badge_is_two_rectangles_and_their_texts(verdict: str) -> None:
    given = report(verdict, *OTHERS[verdict])
    passed = sum(one["verdict"] == "passed" for one in OTHERS[verdict])
    svg = ElementTree.fromstring(badge(given))
    says = f"{verdict}: {passed} of {len(OTHERS[verdict])} cases"
    assert [one.text for one in svg.iter(f"{SVG}text")] == ["grucible", says]
    boxes = [(float(r.get("x", 0)), float(r.attrib["width"])) for r in svg.iter(f"{SVG}rect")]
    assert boxes[1][0] == boxes[0][1]
    assert float(svg.attrib["width"]) == sum(width for _, width in boxes)
    for (x, width), text in zip(boxes, svg.iter(f"{SVG}text"), strict=True):
        left, long = float(text.attrib["x"]), float(text.attrib["textLength"])
        assert x + 5 <= left
        assert left + long <= x + width - 5
    given["vectors"]["origins"]["a.h5"] = "unknown"
    assert "unpublished cases" in badge(given)


def test_where_a_claim_is_written(made: Path, some_vectors: Path, command: Command) -> None:
    """Beside a badge, over an earlier claim, over nothing else, and of one runtime alone."""
    first, other = (made / "c.svg").read_text(), made / "other.svg"
    assert first.startswith("<svg ")
    asked = ["check", some_vectors, "--runtime", WRONG, "--report", f"claim={made / 'c.json'}"]
    assert command(*asked).status == 1
    other.write_text("<svg>a drawing</svg>")
    bad_usage(
        command(*asked, "--report", f"claim={made / 'other.json'}"), "other.svg: is there already"
    )
    assert not (made / "other.json").exists()
    assert other.read_text() == "<svg>a drawing</svg>"
    bad_usage(command(*asked, "--runtime", WRONG), "--report claim takes one runtime")


def test_no_machine_is_named_where_outputs_came_from_elsewhere(
    made: Path, some_vectors: Path, command: Command
) -> None:
    assert json.loads((made / "c.json").read_text())["machine"]
    assert command("run", some_vectors, "--runtime", WRONG, "-o", made / "outputs").status == 0
    places = ("--outputs", made / "outputs", "--report", f"claim={made / 'c.json'}")
    assert (
        command("check", some_vectors, *places, "--report", f"json={made / 'r.json'}").status == 1
    )
    assert json.loads((made / "c.json").read_text())["machine"] is None
    ended = command("claim", "verify", made / "c.json", made / "r.json")
    assert (ended.status, "a machine that it does not name" in ended.out) == (0, True)


def test_the_page_names_the_version() -> None:
    page = (CORE / "FORMAT.md").read_text(encoding="utf-8")
    assert f"The published vectors have a version of their own, {VERSION} now" in page
