"""A directory of case specs is read as one of vectors is, and no further than a bound."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grucible.cases.errors import GrucibleError
from grucible.cases.files import files_below
from grucible.cases.specs.spec_file import SHIPPED, find_specs
from grucible.vectors.find import find_vectors

SPEC = (SHIPPED / "openvino" / "gru_cell" / "core.yaml").read_text(encoding="utf-8")


def test_a_directory_of_very_many_files_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "note.txt").touch()
    (tmp_path / "a.yaml").write_text(SPEC)
    monkeypatch.setattr("grucible.cases.specs.spec_file.MOST_NAMES", 7)
    assert [spec.path for spec in find_specs((tmp_path,))] == ["a"]
    monkeypatch.setattr("grucible.cases.specs.spec_file.MOST_NAMES", 6)
    with pytest.raises(GrucibleError, match="more than 6 files and directories are below it; name"):
        find_specs((tmp_path,))


def test_one_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.yaml").write_text(SPEC)
    scan = os.scandir

    def refuses(place: str) -> object:
        if place == str(tmp_path / "deep"):
            raise PermissionError(13, "Permission denied", place)
        return scan(place)

    monkeypatch.setattr(os, "scandir", refuses)
    with pytest.raises(PermissionError) as refused:
        find_specs((tmp_path,))
    assert refused.value.filename == str(tmp_path / "deep")


def test_only_files_are_specs_and_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").mkdir()
    (tmp_path / "x.yaml" / "b.yml").write_text(SPEC)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert [spec.path for spec in find_specs((tmp_path,))] == ["x.yaml/b"]
    assert len(list(files_below(tmp_path, ".yml"))) == 1


def test_vectors_and_outputs_are_not_looked_for_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    for module, look in (("vectors.vector_set", find_vectors),):
        monkeypatch.setattr(f"grucible.{module}.MOST_NAMES", 2)
        with pytest.raises(GrucibleError) as refused:
            look(tmp_path)
        says = "more than 2 files and directories are below it; name a directory of fewer"
        assert str(refused.value) == f"{tmp_path}: {says}"
