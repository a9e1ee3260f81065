"""What a runtime makes of questions that it must refuse: refused, the obvious thing, garbage, a crash."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from printed import sentence_of

from grucible.cases.dtypes import FLOAT_TYPES
from grucible.check.expecting import load_expectations
from grucible.check.judging.expectations import Expectations
from grucible.check.observed.pool import RuntimePool
from grucible.check.observed.source import FromRuntime
from grucible.check.refusals import Refusal, counts, refusals
from grucible.check.runtimes.runtime import describe_runtime

from . import heedless
from .conftest import HERE, Command
from .made import CELL, SEQUENCE

CELL_32 = f"{CELL}/invalid/float32/"
HEEDLESS = HERE / "heedless.py"


def asked(name: str, *select: str) -> list[Refusal]:
    """What a runtime of heedless.py makes of the invalid questions of a cell in float32, in this process."""
    source = FromRuntime(describe_runtime(name, getattr(heedless, name)))
    return refusals(source, select=select or (f"{CELL_32}*",))


def outcomes(found: list[Refusal]) -> dict[str, int]:
    return {name: count for name, count in counts(found).items() if count}


@pytest.mark.parametrize("name", ["strict", "declares"])
def test_refusing_is_right_and_its_message_is_kept(name: str) -> None:
    found = asked(name, "openvino.*/invalid/*")
    assert {one.dtype for one in found} == set(FLOAT_TYPES)
    assert outcomes(found) == {"refused": len(found)}
    told = {one.defect: one.message for one in found}
    if name == "strict":
        assert told["clip-zero"].startswith("ValueError: not I: clip is 0.0; expected a positive")
    else:
        assert set(told.values()) == {"not offered"}


@pytest.mark.parametrize("name", ["blind", "last_meaning"])
def test_who_does_not_see_a_defect_does_the_obvious_thing(name: str) -> None:
    found = asked(name)
    assert outcomes(found) == {"obvious": len(found)}
    assert all(one.accepted for one in found)
    assert [one.defect for one in found if not one.wrong] == ["linear_before_reset-two"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("zeros", "all numbers are zero"),
        ("nan", "Ho has numbers that are not finite"),
        ("wrong_shape", "Ho is float32 (7, 2, 5); expected float32 (2, 5)"),
        ("nothing", "returned nothing; expected Ho"),
        ("slightly_off", "off by up to 0."),
    ],
)
def test_garbage(name: str, says: str) -> None:
    found = asked(name)
    assert outcomes(found) == {"garbage": len(found)}
    assert all(one.message.startswith(says) for one in found)


def test_a_death_and_a_hang_are_crashes_of_one_question() -> None:
    select = [f"{CELL_32}clip-*", f"{CELL_32}hidden_size-zero", f"{CELL_32}X-axis-less"]
    with closing(RuntimePool(f"{HEEDLESS}:dies", 1.5, 1)) as pool:
        found = {one.defect: one for one in refusals(pool, select=select)}
    assert {name: one.outcome for name, one in found.items()} == {
        "hidden_size-zero": "refused", "clip-zero": "crash", "clip-negative": "refused",
        "clip-nan": "crash", "X-axis-less": "refused",
    }  # fmt: skip
    assert found["clip-zero"].message.startswith("the runtime crashed (SIGABRT)")
    assert found["clip-nan"].message == "no answer in 1.5 s; stopped"


@pytest.mark.usefixtures("in_this_process")
def test_strict_decides_and_says_so(some_vectors: Path, command: Command) -> None:
    cases, invalid = (["--select", f"{CELL}/*/float32/*good"], ["--select", f"{CELL_32}clip-*"])
    check = ["check", some_vectors / "cell.h5", "--runtime"]
    plain = [*check, f"{HEEDLESS}:blind", *cases]
    assert command(*plain).status == 0
    arguments = [*plain, *invalid, "--strict"]
    ended = command(*arguments)
    assert ended.status == 1
    lines = ended.out.splitlines()
    assert lines[0].startswith("does not conform: ")
    assert lines[0].endswith(", 3 accepted that must be refused")
    assert "0 of 3 invalid questions refused, 3 answered as if nothing were wrong:" in lines
    assert f"  obvious  {CELL}/invalid/*/clip-nan" in lines
    report = command(*arguments, "--strict", "--json").report
    assert report["verdict"] == "does not conform"
    [one] = [one for one in report["refusals"] if one["defect"] == "clip-zero"]
    assert one == {
        "id": f"{CELL_32}clip-zero", "operator": CELL, "dtype": "float32", "defect": "clip-zero",
        "about": "clip is 0; expected a positive number", "ledger": "openvino/LEDGER.md#clip-default",
        "outcome": "obvious", "message": "", "decides": True, "expected": None,
    }  # fmt: skip
    assert "refusals" not in command(*plain, "--json").report
    strict = [*check, f"{HEEDLESS}:strict", *cases, *invalid, "--strict"]
    assert command(*strict).status == 0


@pytest.mark.usefixtures("in_this_process")
def test_an_expectation_must_name_them(
    some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    arguments = ["check", some_vectors / "cell.h5", "--runtime", f"{HEEDLESS}:blind", "--strict",
                 "--select", f"{CELL_32}clip-*"]  # fmt: skip
    expect = tmp_path / "expect.yaml"
    expect.write_text("- {cases: '*/float32/*', reason: wrong numbers}\n")
    ended = command(*arguments, "--expect", expect)
    assert (ended.status, sentence_of(ended.out)) == (
        1, "does not conform: 0 of 3 invalid questions refused, 3 accepted that must be refused",
    )  # fmt: skip
    expect.write_text("- {cases: '*/invalid/*/clip-*', reason: it means off}\n")
    ended = command(*arguments, "--expect", expect)
    assert ended.status == 0
    assert "       3 cases: */invalid/*/clip-*" in ended.out.splitlines()
    assert "obvious" not in ended.out
    cases = command(*arguments, "--expect", expect, "--json").report["refusals"]
    assert [one["expected"]["reason"] for one in cases] == ["it means off"] * 3


ACCEPTED = {
    "openvino": {
        f"{operator}/{defect}"
        for operator in (CELL, SEQUENCE)
        for defect in ("hidden_size-missing", "hidden_size-zero", "hidden_size-negative",
                       "hidden_size-more", "hidden_size-less", "clip-zero", "clip-negative", "clip-nan",
                       "activations-three")
    } | {f"{SEQUENCE}/direction-missing", f"{SEQUENCE}/sequence_lengths-float"},
    "onnxruntime": set(),
}  # fmt: skip


@pytest.mark.parametrize("runtime", ACCEPTED)
def test_what_real_runtimes_accept_is_known(runtime: str) -> None:
    pytest.importorskip(runtime)
    known = load_expectations(HERE.parents[1] / "check" / "known" / f"{runtime}.yaml")
    with closing(RuntimePool(runtime, 60.0, 1)) as pool:
        found = refusals(pool, dtypes=["float32"])
    wrong = [one for one in found if one.wrong]
    assert {f"{one.operator}/{one.defect}" for one in wrong} == ACCEPTED[runtime]
    assert {one.outcome for one in wrong} <= {"obvious"}
    assert all(Expectations(known).of(one.id) for one in wrong)
    refused = [one.id for one in found if one.outcome == "refused"]
    assert len(refused) > 60
