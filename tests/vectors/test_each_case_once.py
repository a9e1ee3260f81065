"""A case stands in one file alone: whatever reads a directory refuses two that hold the same."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest

from grucible import load_vectors, verify
from grucible.cases.errors import VectorFileError
from grucible.vectors.vector_set import open_set

from .conftest import Command
from .handmade import BLOCKS, REQUIRED, fixed, put_texts, sign

FIRST = REQUIRED.ids()[0]
IDS = {case_id for block in BLOCKS for case_id in block.ids()}


def copied(file: Path) -> Path:
    return Path(shutil.copy(file, file.with_name("z.h5")))


def linked(file: Path) -> Path:
    other = file.with_name("z.h5")
    other.symlink_to(file)
    return other


def one_in_common(file: Path) -> Path:
    """Of another file made of the same operator and theme, one case alone is the same."""
    other = copied(file)
    renamed(other, keep=FIRST)
    return other


def renamed(file: Path, keep: str = "") -> None:
    with h5py.File(file, "r+") as opened:
        for block in BLOCKS:
            ids = [case_id if case_id == keep else f"{case_id}-2" for case_id in block.ids()]
            del opened[f"{block.path}/id"]
            put_texts(opened, f"{block.path}/id", ids)
    sign(file)


WAYS = [copied, linked, one_in_common]


@pytest.mark.parametrize("way", WAYS)
def test_the_same_case_in_two_files_is_refused(
    way: Callable[[Path], Path], handmade: Path, tmp_path: Path, command: Command
) -> None:
    other, vectors = way(handmade), handmade.parent
    runtime = ("--runtime", "onnx-reference")
    with pytest.raises(VectorFileError) as refused:
        next(load_vectors(vectors))
    found = re.fullmatch(
        r"(.*): holds (.*), which (.*) holds too; remove one of the files", str(refused.value)
    )
    assert found
    assert found.groups()[::2] == (str(other), str(handmade))
    assert found[2] == FIRST if way is one_in_common else found[2] in IDS
    for arguments in (
        ("check", vectors, "--outputs", tmp_path),
        ("check", vectors, *runtime, "--select", FIRST),
        ("run", vectors, *runtime, "-o", tmp_path / "outputs"),
        ("score", vectors),
        ("show", vectors, FIRST),
    ):
        status, out, err = command(*arguments)
        assert (status, out, err) == (2, "", f"grucible: {refused.value}\n")
    assert not (tmp_path / "outputs").exists()
    with pytest.raises(VectorFileError, match="holds too"):
        verify(vectors, runtime=lambda _: {})


def test_files_of_one_theme_without_a_common_case_go_together(handmade: Path) -> None:
    """As `gen --dtype` makes them in two directories."""
    renamed(copied(handmade))
    ids = [case.id for case in load_vectors(handmade.parent)]
    assert len(ids) == len(set(ids)) == 14


def test_files_that_cannot_hold_what_is_asked_for_are_left_out(
    handmade: Path, tmp_path: Path
) -> None:
    other = copied(handmade)
    with h5py.File(other, "r+") as file:
        file.attrs["theme"] = fixed("elsewhere")  # and its ids are not what it says: nobody looks
    for select in (FIRST, FIRST[:-1] + "?", "openvino.GRUSequence-5/handmade/*", "[o]*/handm*"):
        assert handmade in [file.path for file in open_set(tmp_path, [select]).files]
    for select in (FIRST, "openvino.GRUSequence-5/handmade/*"):
        assert [file.path for file in open_set(tmp_path, [select]).files] == [handmade]
    assert open_set(tmp_path, ["openvino.GRUCell-3/*", "onnx*"]).files == []
    assert len(open_set(tmp_path, ["*forward-a"]).files) == 2
    assert len(open_set(tmp_path).files) == 2


def test_what_is_neither_a_file_nor_a_directory_holds_no_case() -> None:
    with pytest.raises(VectorFileError, match=r"^/dev/null: is neither a file nor a directory; "):
        next(load_vectors("/dev/null"))
