"""A case stands in one file alone; files and blocks that cannot hold what is selected are not read."""

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
from .damage import HO, X, attribute, flip_bit
from .handmade import AMBIGUOUS, BLOCKS, REQUIRED, fixed, put_texts, sign

FIRST, SECOND, _ = REQUIRED.ids()
OTHER = FIRST.replace("handmade", "other")


def renamed(file: Path, rename: Callable[[str], str], theme: str = "handmade") -> Path:
    """A copy of a file whose cases are renamed."""
    other = Path(shutil.copy(file, file.with_name("other.h5")))
    with h5py.File(other, "r+") as opened:
        opened.attrs["theme"] = fixed(theme)
        for block in BLOCKS:
            del opened[f"{block.path}/id"]
            put_texts(opened, f"{block.path}/id", [*map(rename, block.ids())])
    sign(other)
    return other


def linked(file: Path) -> Path:
    other = file.with_name("z.h5")
    other.symlink_to(file)
    return other


def one_in_common(file: Path) -> Path:
    return renamed(file, lambda case_id: case_id if case_id == FIRST else f"{case_id}-2")


@pytest.mark.parametrize("way", [linked, one_in_common])
def test_the_same_case_in_two_files_is_refused(
    way: Callable[[Path], Path], handmade: Path, tmp_path: Path, command: Command
) -> None:
    other, vectors = way(handmade), handmade.parent
    runtime = ("--runtime", "onnx-reference")
    with pytest.raises(VectorFileError) as refused:
        next(load_vectors(vectors))
    says = r"(.*): holds (.*), which (.*) holds too; remove one of the files"
    found = re.fullmatch(says, str(refused.value))
    assert found
    assert found.groups()[::2] == (str(other), str(handmade))
    assert way is linked or found[2] == FIRST
    for arguments in (
        ("check", vectors, "--outputs", tmp_path),
        ("check", vectors, *runtime, "--select", FIRST),
        ("run", vectors, *runtime, "-o", tmp_path / "outputs"),
        ("score", vectors),
        ("show", vectors, FIRST),
    ):
        assert command(*arguments) == (2, "", f"grucible: {refused.value}\n")
    assert not (tmp_path / "outputs").exists()
    with pytest.raises(VectorFileError, match="holds too"):
        verify(vectors, runtime=lambda _: {})


def test_files_of_one_theme_without_a_common_case_go_together(handmade: Path) -> None:
    """As `gen --dtype` makes them in two directories."""
    renamed(handmade, lambda case_id: f"{case_id}-2")
    ids = [case.id for case in load_vectors(handmade.parent)]
    assert len(ids) == len(set(ids)) == 14


def test_files_that_cannot_hold_what_is_asked_for_are_left_out(
    handmade: Path, tmp_path: Path
) -> None:
    renamed(handmade, str, "elsewhere")  # and its ids are not what it says: nobody looks
    for select in (FIRST, "openvino.GRUSequence-5/handmade/*"):
        assert [file.path for file in open_set(tmp_path, [select]).files] == [handmade]
    assert open_set(tmp_path, ["openvino.GRUCell-3/*", "onnx*"]).files == []
    for both in (["*forward-a"], ["[o]*/*e/*"], []):
        assert len(open_set(tmp_path, both).files) == 2


def test_what_is_neither_a_file_nor_a_directory_holds_no_case() -> None:
    with pytest.raises(VectorFileError, match=r"^/dev/null: is neither a file nor a directory; "):
        next(load_vectors("/dev/null"))


@pytest.fixture
def two(handmade: Path) -> Path:
    """A directory of two files, of the themes `handmade` and `other`."""
    return renamed(handmade, lambda case_id: case_id.replace("handmade", "other"), "other").parent


@pytest.fixture
def outputs(two: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The expected outputs of both files."""
    root = tmp_path_factory.mktemp("outputs")
    for name in ("handmade.h5", "other.h5"):
        with h5py.File(two / name) as vectors, h5py.File(root / name, "w") as made:
            made.attrs.update({"format": "grucible outputs", "format_version": 2})
            for block in BLOCKS:
                group = made.create_group(block.path)
                group["id"] = vectors[f"{block.path}/id"][:]
                vectors.copy(f"{block.path}/outputs", group)
    return root


@pytest.mark.parametrize("select", [OTHER, "*/other/*-b"])
def test_a_selected_case_s_whole_block_is_verified(
    select: str, two: Path, outputs: Path, command: Command
) -> None:
    with h5py.File(two / "other.h5", "r+") as file:
        file[HO][-1] += 1  # not of the selected cases
        file[f"{AMBIGUOUS.path}/outputs/Y"][0] += 1
    status, out, err = command("check", two, "--outputs", outputs, "--select", select)
    assert (status, out) == (2, "")
    path = AMBIGUOUS.path if "*" in select else REQUIRED.path
    assert f"other.h5: what {path} holds does not match its content_sha256" in err


def test_what_is_not_selected_may_be_damaged(two: Path, outputs: Path, command: Command) -> None:
    """But the digest of a block still counts in the file's, which is the one that is published."""
    check = ("check", two, "--outputs", outputs, "--atol", "0")  # the answers are no GRU's
    flip_bit(f"{AMBIGUOUS.path}/outputs/Y")(two / "other.h5")
    assert command(*check, "--select", OTHER)[0] == 0
    for name in ("content_sha256", "tolerance_sha256"):
        copy = Path(shutil.copy(two / "other.h5", two / "other.h5.was"))
        attribute(AMBIGUOUS.path, name, "0" * 64)(two / "other.h5")
        status, out, err = command(*check, "--select", OTHER)
        assert (status, out) == (2, "")
        assert f"other.h5: what it holds does not match its {name}" in err
        copy.rename(two / "other.h5")
    flip_bit(X)(two / "other.h5")
    assert command(*check, "--select", FIRST)[0] == 0
    status, out, err = command(*check)
    assert (status, out) == (2, "")
    assert "does not match its content_sha256" in err


def test_the_same_result_selected_as_among_all(two: Path, outputs: Path, command: Command) -> None:
    """`conforms` of each case alone, of a slice in the middle of a block, and of several blocks."""
    for select, cases in ((SECOND, 1), ("*-b", 6), ("*/handmade/*", 7), ("*/other/float[13]*", 5)):
        check = ("check", two, "--outputs", outputs, "--atol", "0")  # the answers are no GRU's
        status, out, _ = command(*check, "--select", select)
        assert status == 0, out
        assert out.startswith(f"conforms: {cases} of {cases} cases passed")
