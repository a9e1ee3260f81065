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

from grucible.check.reports.claim import badge, claim_of
from grucible.vectors.digest import VERSION, published_pairs, root_digest
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
    ended = command("check", some_vectors, "--runtime", WRONG, *reports)
    assert (ended.status, ended.err) == (1, "")
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
    wanted = {"version": VERSION, "published": False, "set": None, "files": 2, "root_digest": root}
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
    text = report.read_text()
    value = json.loads(text)
    changes: dict[str, dict[str, Any]] = {
        "arithmetic": {"arithmetic": 1},
        "runtime": {"runtime": []},
        "vectors.digests": {"vectors": value["vectors"] | {"digests": {"a.h5": 1}}},
        "valid string": {"vectors": value["vectors"] | {"digests": {"\ud800": "a b"}}},
        "1,000 keys": {
            "vectors": value["vectors"] | {"digests": dict.fromkeys(map(str, range(1001)), "")}
        },
        "vectors.version": {"vectors": {"origins": {}}},
        "select": {"select": "*"},
        "cases.0.id": {"cases": [value["cases"][0] | {"id": "nothing"}]},
        "cases.0.judged_by": {"cases": [value["cases"][0] | {"judged_by": 1}]},
        "model.unjudged": {"model": {}},
        "twice": {"cases": value["cases"] * 2},
    }
    for place, change in changes.items():
        report.write_text(json.dumps(value | change))
        bad_usage(command("claim", "verify", claim, report), place)
    report.write_text("[]")
    bad_usage(
        command("claim", "verify", claim, report), "writes: Input should be a valid dictionary"
    )
    report.write_text(text[: len(text) // 2])
    bad_usage(command("claim", "verify", claim, report), "is no report")


def case(verdict: str, dtype: str = "float32", **more: Any) -> dict[str, Any]:
    return {"tier": "required", "verdict": verdict, "judged_by": "whole", "dtype": dtype, **more}


PASSED = case("passed")
OTHERS = {
    "conforms": [PASSED],
    "conforms where supported": [PASSED, case("unsupported")],
    "unsupported": [case("unsupported")],
    "incomplete": [PASSED, case("missing")],
    "does not conform": [PASSED, case("error")],
}


def claim(*cases: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The claim of a report of some cases."""
    grade = {"required": "float32", "observed": "float32", "compared": 1, "worst": {"ratio": 0.1}}
    vectors = {
        "path": "a",
        "version": 1,
        "origins": {"a.h5": "published"},
        "digests": {"a.h5": "1 2"},
    }
    named = [one | {"id": f"{CELL}/t/{one['dtype']}/{n}"} for n, one in enumerate(cases)]
    report = {
        "grucible_report": 3, "runtime": {"name": "<&", "version": ""}, "verdict": "conforms",
        "select": [], "shard": "1/1", "stopped": False, "interrupted": False, "vectors": vectors,
        "arithmetic": {"float32": grade}, "diagnosis": [], "unexplained": 0, "cases": named,
    }  # fmt: skip
    return claim_of(json.dumps(report | more).encode())


@pytest.mark.parametrize("verdict", OTHERS)
def test_the_verdict_of_an_operator_and_dtype(verdict: str) -> None:
    def judged(*given: Any, **more: Any) -> str:
        found: str = claim(*given, **more)["operators"][CELL]["float32"]["verdict"]
        return found

    assert judged(*OTHERS[verdict]) == verdict
    assert judged(PASSED, case("unsupported", must_support=True)) == "does not conform"
    assert judged(case("passed", judged_by="nothing")) == "incomplete"
    assert judged(PASSED, case("passed", judged_by="nothing")) == "conforms"
    assert judged(PASSED, model={"unjudged": {"gru": "it did not run"}}) == "incomplete"
    assert judged(PASSED, model={"unjudged": {}}) == "conforms"
    for word in ("stopped", "interrupted"):
        assert judged(PASSED, **{word: True}) == "incomplete"
        assert claim(PASSED, **{word: True})["left_out"] is True
    accepted = {
        "id": "x",
        "operator": CELL,
        "dtype": "float32",
        "outcome": "obvious",
        "decides": True,
    }
    for change, says in (({}, "does not conform"), ({"dtype": "float16"}, "conforms"),
                         ({"outcome": "refused"}, "conforms"), ({"decides": False}, "conforms")):  # fmt: skip
        assert judged(PASSED, refusals=[accepted | change]) == says
    assert judged(PASSED, case("failed", tier="nonportable")) == "conforms"


@pytest.mark.parametrize("of_other", [case("missing", "float16"), case("failed", "float16"),
                                      case("passed", "float16", judged_by="nothing")])  # fmt: skip
def test_the_verdict_of_an_operator_and_dtype_is_of_its_own_cases(of_other: dict[str, Any]) -> None:
    found = claim(PASSED, of_other, verdict="incomplete")["operators"][CELL]
    assert found["float32"]["verdict"] == "conforms"
    assert found["float16"]["verdict"] in ("incomplete", "does not conform")


@pytest.mark.parametrize("verdict", OTHERS)
def test_a_badge_is_two_rectangles_and_their_texts(verdict: str) -> None:
    given = claim(*OTHERS[verdict], verdict=verdict if verdict != "unsupported" else "incomplete")
    passed = sum(one["verdict"] == "passed" for one in OTHERS[verdict])
    svg = ElementTree.fromstring(badge(given))
    says = f"{given['verdict']}: {passed} of {len(OTHERS[verdict])} selected cases"
    assert [one.text for one in svg.iter(f"{SVG}text")] == ["grucible", says]
    boxes = [(float(r.get("x", 0)), float(r.attrib["width"])) for r in svg.iter(f"{SVG}rect")]
    assert boxes[1][0] == boxes[0][1]
    assert float(svg.attrib["width"]) == sum(width for _, width in boxes)
    for (x, width), text in zip(boxes, svg.iter(f"{SVG}text"), strict=True):
        left, long = float(text.attrib["x"]), float(text.attrib["textLength"])
        assert x + 5 <= left
        assert left + long <= x + width - 5


def test_a_badge_says_of_which_cases() -> None:
    every = {f"{n}.h5": " ".join(pair) for n, pair in enumerate(published_pairs())}
    core = {f"{n}.h5": " ".join(pair) for n, pair in enumerate(published_pairs(core=True))}
    files = [open_vectors(path) for path in CORE.rglob("*.h5")]
    assert {*core.values()} == {f"{f.content_sha256} {f.tolerance_sha256}" for f in files}
    one = dict([*every.items()][:1])
    merged = every | {"0.h5": every["1.h5"]}

    def says(path: str, digests: dict[str, str], origin: str = "published", **more: Any) -> str:
        vectors = {"path": path, "version": 1, "origins": dict.fromkeys(digests, origin)}
        made = badge(claim(PASSED, vectors=vectors | {"digests": digests}, **more))
        return made.partition("1 of 1 ")[2].partition("<")[0]

    assert says("out", every) == "cases"
    assert says("the core vectors", core) == says("out", core) == "core cases"
    assert says("the core vectors", merged) == says("out", one) == "selected cases"
    for path, digests in (("out", every), ("the core vectors", core)):
        for part in ({"select": ["*/float32/*"]}, {"shard": "1/2"}, {"stopped": True}):
            assert says(path, digests, **part) == "selected cases"
    assert says("out", every, "unknown") == "unpublished cases"
    grade = {"required": {"rtol": 1.0}, "observed": None, "compared": 1, "worst": {"ratio": 0.1}}
    assert says("out", every, arithmetic={"float32": grade}) == "cases, by other tolerances"


def test_where_a_claim_is_written(made: Path, some_vectors: Path, command: Command) -> None:
    """Beside a badge, over an earlier claim, over nothing else, and of one runtime alone."""
    first, other = (made / "c.svg").read_text(), made / "other.svg"
    assert first.startswith("<svg ")
    asked = ["check", some_vectors, "--runtime", WRONG, "--report", f"claim={made / 'c.json'}"]
    ended = command(*asked)
    assert (ended.status, "c.json: nobody can verify it without its report" in ended.err) == (
        1,
        True,
    )
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
