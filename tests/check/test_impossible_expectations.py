"""Expectations that none can hold, or that are very many, are refused; those of one case are found at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import grucible
from grucible.cases.errors import GrucibleError
from grucible.cases.specs import spec_file
from grucible.check import foretold
from grucible.check.judging.expectations import Expectation, Expectations, says
from grucible.vectors.find import CORE

from .conftest import HERE, Command
from .numpy_gru import run as right

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"


def test_many_expectations(tmp_path: Path, command: Command) -> None:
    """Those of one case are found at once; so many globs are refused."""
    many = tmp_path / "many.yaml"
    many.write_text("".join(f'- {{cases: "*a{i}*b*", reason: r}}\n' for i in range(1001)))
    said = command("check", CELL, "--runtime", NUMPY, "--expect", many).said_in_one_line()
    assert "is the glob number 1001; expected at most 1000" in said
    given = [Expectation(f"*a{i}*b*", "r") for i in range(1001)]
    for refused in (
        lambda: grucible.verify(CELL, runtime=right, expectations=given),
        lambda: grucible.pytest.load(CELL, expect=given),
    ):
        with pytest.raises(
            GrucibleError, match=r"a1000.*: is the glob number 1001; expected at most"
        ):
            refused()
    names = [f"case-{number}" for number in range(50_000)]
    found = Expectations([Expectation(name, name) for name in [*names, "*-7", "case-7"]])
    assert [found.of(name).reason for name in names[:9]] == names[:9]  # type: ignore[union-attr]
    assert found.of("none") is None
    first = Expectations([Expectation("case-*", "glob"), Expectation("case-1", "one")])
    assert first.of("case-1") == Expectation("case-*", "glob")


def test_many_stale_expectations_are_looked_up_and_not_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A case spec is read once, however many names there are that no case has."""
    read: list[Path] = []

    def load(file: Path, relative: str) -> spec_file.CaseSpecFile:
        read.append(file)
        return load_spec(file, relative)

    load_spec = spec_file.load_spec
    monkeypatch.setattr(spec_file, "load_spec", load)
    for cached in (foretold._specs, foretold._ids_of):
        cached.cache_clear()
    names = [f"openvino.GRUCell-3/core/float32/none-{n}" for n in range(50)]
    stale = [Expectation(name, "r") for name in (*names, "*none-*")]
    report = grucible.verify(CELL, right, select="*/float32/*", expectations=stale)
    assert [use.stale for use in report.uses] == ["names no case"] * len(stale)
    assert len(read) == len(set(read)) > 1


def test_long_globs(tmp_path: Path, command: Command) -> None:
    (tmp_path / "e.yaml").write_text(f"- {{cases: '{'*e' * 300}', reason: r}}\n")
    said = command("check", "--runtime", NUMPY, "--expect", tmp_path / "e.yaml").said_in_one_line()
    assert "has more than 400 characters" in said


def test_a_text_of_an_expectation_is_one_and_not_its_letters() -> None:
    one = Expectation("*", "known", message="no such kernel", observed=["float32"])  # type: ignore[arg-type]
    assert (one.message, one.observed) == (("no such kernel",), ("float32",))
    assert not says("an error occurred", one.message)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"message": ("",)}, "message: ('',); expected a text"),
        ({"message": " "}, "message: ' '; expected a text"),
        ({"message": ("a", 7)}, "message: ('a', 7); expected a text"),
        ({"observed": ("flaot32",)}, "there is no class 'flaot32'; did you mean 'float32'?"),
        ({"diagnosis": "clip-ignore"}, "no misreading 'clip-ignore'; did you mean 'clip-ignored'?"),
        ({"diagnosis": 7}, "diagnosis: 7; expected a text"),
        ({"reason": ""}, "the expectation of '*': reason: ''; expected a text"),
        ({"cases": ""}, "cases: ''; expected a text"),
        ({"cases": "*/invalid/*", "observed": "float32"}, "is not said of invalid questions"),
    ],
)
def test_an_expectation_that_none_can_hold_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(GrucibleError, match=re.escape(says)):
        Expectation(**{"cases": "*", "reason": "known", **given})


def test_an_expectation_of_texts_that_come_once() -> None:
    """They were gone when they had been looked at, and nothing was left to hold against an error."""
    one = Expectation("*", "known", message=(text for text in ("clip is not supported",)))  # type: ignore[arg-type]
    assert one.message == ("clip is not supported",)
    with pytest.raises(GrucibleError, match="there is no class 'nonsense'"):
        Expectation("*", "known", observed=(name for name in ("nonsense",)))  # type: ignore[arg-type]
