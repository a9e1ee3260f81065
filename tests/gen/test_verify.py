"""What `gen --verify` says is computed from the bytes in the files, not read from their attributes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from click.testing import CliRunner, Result
from edited import edited

from grucible.cases.specs.spec_file import find_specs
from grucible.gen.cli import gen_command
from grucible.vectors.digest import file_digest
from grucible.vectors.hdf5 import Folder, tree_of
from grucible.vectors.reader import open_vectors

RELATIVE = "openvino/gru_cell/core.h5"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made")
    assert gen(out).exit_code == 0
    return out


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    """A directory with the file as it was made, of this test's own."""
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def gen(out: Path, *options: str) -> Result:
    [core] = [s.document.name for s in find_specs() if f"{s.path}.h5" == RELATIVE]
    return CliRunner().invoke(gen_command, [core, "-o", str(out), "--jobs", "1", *options])


def one_more(name: str) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        block = next(iter(file["float32"].values()))
        block[name][...] = block[name][...] + np.float32(1)

    return change


def no_digest(file: Any) -> None:
    file.attrs["content_sha256"] = np.bytes_("0" * 64)


SPOILT: dict[str, tuple[Callable[[Any], None], str]] = {
    "an input": (one_more("inputs/X"), "content_sha256"),
    "an output": (one_more("outputs/Ho"), "content_sha256"),
    "a tolerance": (one_more("tolerance/float32/Ho"), "tolerance_sha256"),
    "the digest": (no_digest, "content_sha256"),
}


def test_a_sound_file_is_left_alone(out: Path) -> None:
    before = (out / RELATIVE).stat().st_mtime_ns
    result = gen(out, "--verify")
    assert result.exit_code == 0
    assert "made 0 files with 0 cases" in result.output
    assert "content digests: all 1 equal the published ones" in result.output
    assert (out / RELATIVE).stat().st_mtime_ns == before


@pytest.mark.parametrize(("change", "digest"), SPOILT.values(), ids=SPOILT.keys())
def test_bytes_that_are_not_what_a_digest_says_do_not_verify(
    change: Callable[[Any], None], digest: str, out: Path
) -> None:
    with edited(out / RELATIVE) as file:
        change(file)
    result = gen(out, "--verify")
    assert result.exit_code == 1
    assert f"{out / RELATIVE}: what " in result.output
    assert f" does not match its {digest}" in result.output
    assert "all 1 equal" not in result.output


@pytest.mark.parametrize("change", [one_more("outputs/Ho"), one_more("tolerance/float32/Ho")])
def test_without_verify_it_is_made_again(change: Callable[[Any], None], out: Path) -> None:
    with edited(out / RELATIVE) as file:
        change(file)
    result = gen(out)
    assert (result.exit_code, "made 1 file with 248 cases" in result.output) == (0, True)
    with open_vectors(out / RELATIVE) as vectors:
        vectors.verify_content()
    assert gen(out, "--verify").exit_code == 0


def test_wider_tolerances_with_digests_that_fit_them(out: Path) -> None:
    with edited(out / RELATIVE) as file:
        one_more("tolerance/float32/Ho")(file)
        whole, blocks = file_digest(Folder(tree_of(file), ""), "tolerance_sha256")
        for group, digest in ((file, whole), *((file[path], one) for path, one in blocks.items())):
            stored = np.array(digest.encode(), h5py.string_dtype("utf-8", len(digest)))
            group.attrs.create("tolerance_sha256", stored)
    result = gen(out, "--verify")
    assert result.exit_code == 1
    assert f"{RELATIVE}: tolerances differ from the published digest" in result.output
    assert "all 1 equal" not in result.output
    result = gen(out)
    assert "made 1 file with 248 cases" in result.output
    assert "all 1 equal the published ones, and so do those of tolerances" in result.output
