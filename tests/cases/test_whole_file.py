"""Temporary files and folders: held while they are used, removed when nobody holds them."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from grucible.cases import whole_file as module
from grucible.cases.whole_file import (
    remove_leftovers,
    temporary,
    temporary_file,
    temporary_folder,
)


@pytest.fixture
def _seen_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process id says anything, as in another container."""
    monkeypatch.setattr(module, "_runs", lambda _: False)


@pytest.mark.usefixtures("_seen_from_elsewhere")
def test_what_a_process_holds_stays_whatever_its_id_says(tmp_path: Path) -> None:
    place = tmp_path / "x"
    with temporary_file(place) as file, temporary_folder(place) as folder:
        (folder / "inner").touch()
        remove_leftovers(place)
        assert Path(file.name).exists()
        assert (folder / "inner").exists()
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_seen_from_elsewhere")
def test_what_nobody_holds_is_removed(tmp_path: Path) -> None:
    place = tmp_path / "x"
    temporary(place).touch()
    temporary(place).mkdir()
    temporary(tmp_path / "y").touch()
    remove_leftovers(place)
    assert [one.name.split(".")[1] for one in tmp_path.iterdir()] == ["y"]


@pytest.mark.usefixtures("_seen_from_elsewhere")
def test_where_nothing_can_be_locked_nothing_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(fcntl, "flock", none)
    temporary(tmp_path / "x").touch()
    remove_leftovers(tmp_path / "x")
    assert len(list(tmp_path.iterdir())) == 1
    with temporary_file(tmp_path / "x") as file:
        assert Path(file.name).exists()


def test_two_processes_of_one_id_have_places_of_their_own(tmp_path: Path) -> None:
    assert temporary(tmp_path / "x") != temporary(tmp_path / "x")


def test_what_was_removed_before_it_was_held_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def place(path: Path) -> Path:
        made.append(temporary(path))
        return made[-1]

    def removed(*_: object) -> None:
        if len(made) in (1, 3):
            made[-1].rmdir() if made[-1].is_dir() else made[-1].unlink()

    monkeypatch.setattr(module, "temporary", place)
    monkeypatch.setattr(fcntl, "flock", removed)
    with temporary_file(tmp_path / "x") as file, temporary_folder(tmp_path / "x") as folder:
        assert (Path(file.name), folder) == (made[1], made[3])
        assert folder.is_dir()
