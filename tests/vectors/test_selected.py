"""One case of many: files and blocks that cannot hold it are not read; those that do are verified."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import pytest

from .conftest import Command
from .damage import HO, X, attribute, flip_bit
from .handmade import AMBIGUOUS, BLOCKS, REQUIRED, fixed, put_texts, sign

FIRST, SECOND, _ = REQUIRED.ids()
OTHER = FIRST.replace("handmade", "other")


@pytest.fixture
def two(handmade: Path) -> Path:
    """A directory of two files, of the themes `handmade` and `other`."""
    other = handmade.with_name("other.h5")
    shutil.copy(handmade, other)
    with h5py.File(other, "r+") as file:
        file.attrs["theme"] = fixed("other")
        for block in BLOCKS:
            del file[f"{block.path}/id"]
            ids = [case_id.replace("handmade", "other") for case_id in block.ids()]
            put_texts(file, f"{block.path}/id", ids)
    sign(other)
    return handmade.parent


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


def test_what_is_not_selected_may_be_damaged(two: Path, outputs: Path, command: Command) -> None:
    flip_bit(X)(two / "other.h5")
    check = ("check", two, "--outputs", outputs)
    status, out, err = command(*check, "--select", FIRST)
    assert (status, err) == (0, "")
    assert out.startswith("conforms")
    status, out, err = command(*check)
    assert (status, out) == (2, "")
    assert f"other.h5: what {REQUIRED.path} holds does not match its content_sha256" in err


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


def test_a_block_that_is_not_selected_may_be_damaged(
    two: Path, outputs: Path, command: Command
) -> None:
    """But its digest still counts in the file's, which is the one that is published."""
    flip_bit(f"{AMBIGUOUS.path}/outputs/Y")(two / "other.h5")
    check = ("check", two, "--outputs", outputs, "--select", OTHER)
    status, out, err = command(*check)
    assert (status, err) == (0, "")
    assert out.startswith("conforms")
    for name in ("content_sha256", "tolerance_sha256"):
        copy = Path(shutil.copy(two / "other.h5", two / "other.h5.was"))
        attribute(AMBIGUOUS.path, name, "0" * 64)(two / "other.h5")
        status, out, err = command(*check)
        assert (status, out) == (2, "")
        assert f"other.h5: what it holds does not match its {name}" in err
        copy.rename(two / "other.h5")


def test_the_same_result_selected_as_among_all(two: Path, outputs: Path, command: Command) -> None:
    """`conforms` of each case alone, of a slice in the middle of a block, and of several blocks."""
    for select, cases in ((SECOND, 1), ("*-b", 6), ("*/handmade/*", 7), ("*/other/float[13]*", 5)):
        status, out, _ = command("check", two, "--outputs", outputs, "--select", select)
        assert status == 0, out
        assert out.startswith(f"conforms: {cases} of {cases} cases passed")
