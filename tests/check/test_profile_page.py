"""Profiles side by side: the page says what the profiles do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from grucible import GrucibleError
from grucible.check.observed.source import FromRuntime
from grucible.check.profile import AGAIN, Profile, profile
from grucible.check.reports.profile import TITLE, page_lines
from grucible.check.runtimes.runtime import describe_runtime

from .conftest import Command
from .numpy_gru import MISTAKES, run

SELECT = ("openvino.GRUSequence-5/plain/float*/[bcdr]*",)


def _profile(name: str, runtime: object, select: tuple[str, ...] = SELECT) -> Profile:
    return profile(FromRuntime(describe_runtime(name, runtime)), None, select)


def _tables(page: str) -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """Each operator of a page, with its cells: by runtime, then by the name of the row."""
    for section in page.split("\n## ")[1:]:
        operator, _, text = section.partition("\n")
        rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line[:1] == "|"]
        (_, *runtimes), _, *cells = rows
        yield (
            operator,
            {
                runtime: {name: row[at] for name, *row in cells}
                for at, runtime in enumerate(runtimes)
            },
        )


def test_two_side_by_side() -> None:
    both = [_profile("right", run), _profile("clipless", MISTAKES["clip ignored"])]
    page = "\n".join(page_lines(both, "grucible profile"))
    assert page.startswith(f"{TITLE}\n")
    [(operator, table)] = _tables(page)
    assert operator == "openvino.GRUSequence-5"
    assert table["right"]["clip0.5"] == "right"
    assert table["clipless"]["clip0.5"] == "wrong 1"
    assert table["clipless"]["default"] == table["clipless"][AGAIN] == "right"
    assert "\n1. clip ignored\n" in f"{page}\n"
    right = sum(row.dtype == "float64" for row in both[0].rows)
    wrong = sum((row.dtype, row.status) == ("float64", "wrong") for row in both[1].rows)
    assert table["right"]["in float64"] == f"{right} right (float64)"
    assert table["clipless"]["in float64"] == f"{right - wrong} right (float64), {wrong} wrong"


def test_a_text_that_is_no_page_is_kept(tmp_path: Path, command: Command) -> None:
    mine = tmp_path / "notes.md"
    mine.write_text("# My notes\n")
    ended = command("profile", "--runtime", "no:such", "--page", mine)
    assert "notes.md" in ended.said_in_one_line()
    assert mine.read_text() == "# My notes\n"


@pytest.mark.parametrize(
    ("ends", "status"), [(GrucibleError("no such"), 2), (KeyboardInterrupt(), 130)]
)
def test_the_page_has_what_was_found_before_another_runtime_did_not_load(
    ends: BaseException,
    status: int,
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def profile_of(name: str, *_: object) -> Profile:
        if name == "none":
            raise ends
        return _profile(name, run)

    monkeypatch.setattr("grucible.check.profile.profile_of", profile_of)
    page = tmp_path / "profiles.md"
    both = ("profile", "--runtime", "right", "--runtime", "none")
    ended = command(*both, "--page", page)
    assert ended.status == status
    assert ended.err in ("grucible: no such\n", "interrupted\n")
    assert "--runtime right --page" in page.read_text()
    [profile] = json.loads(command(*both, "--json").out)["profiles"]
    assert profile["runtime"]["name"] == "right"
