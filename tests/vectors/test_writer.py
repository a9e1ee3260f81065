"""Writing: the same content again, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from grucible import load_vectors
from grucible.cases.errors import GrucibleError
from grucible.check.observed.outputs_file import new_outputs_file
from grucible.gen.posed import block_key
from grucible.vectors.block import arrays_by_path
from grucible.vectors.hdf5 import OUTPUTS, VECTORS
from grucible.vectors.reader import open_vectors
from grucible.vectors.writer import new_file, new_vector_file

from .conftest import CORE
from .handmade import content_sha256, tolerance_sha256

PROVENANCE: dict[str, Any] = {
    "spec_text": "about: ü\n",
    "seed": 3,
    "generator": "test 1",
    "made_from": "{}",
}


def written_again(source: Path, path: Path, rows: int) -> None:
    """The vectors in `source`, written by grucible, some rows at a time."""
    vectors = open_vectors(source)
    with new_vector_file(
        path, operator=vectors.operator.name, theme=vectors.theme, **PROVENANCE
    ) as writer:
        for block in vectors.blocks():
            parts = [np.arange(len(block))[start:][:rows] for start in range(0, len(block), rows)]
            writer.write_block(block_key(block.question(0)), [block.rows(part) for part in parts])


@pytest.mark.parametrize(
    ("relative", "rows"),
    [("openvino/gru_cell/core.h5", 7), ("openvino/gru_sequence/core.h5", 1000)],
)
def test_read_and_written_again_is_the_same(relative: str, rows: int, tmp_path: Path) -> None:
    again = tmp_path / "again.h5"
    written_again(CORE / relative, again, rows)
    digest = content_sha256(CORE / relative)
    assert content_sha256(again) == digest
    assert tolerance_sha256(again) == tolerance_sha256(CORE / relative)
    with h5py.File(again) as file, h5py.File(CORE / relative) as core:
        assert dict(file.attrs) == {
            "format": b"grucible vectors",
            "format_version": 2,
            "operator": core.attrs["operator"],
            "theme": core.attrs["theme"],
            "generator": b"test 1",
            "seed": 3,
            "made_from": b"{}",
            "content_sha256": digest.encode(),
            "tolerance_sha256": core.attrs["tolerance_sha256"],
        }
        assert bytes(file["spec"][()]).decode() == "about: ü\n"
        assert file["spec"].dtype == np.uint8


def test_ambiguous_blocks_are_written_again(handmade: Path, tmp_path: Path) -> None:
    written_again(handmade, tmp_path / "again.h5", 1)
    before, after = (list(load_vectors(path)) for path in (handmade, tmp_path / "again.h5"))
    for one, other in zip(before, after, strict=True):
        assert (one.id, one.given, one.tier) == (other.id, other.given, other.tier)
        arrays, again = (arrays_by_path(case.inputs, case.answers) for case in (one, other))
        assert arrays.keys() == again.keys()
        for path, array in arrays.items():
            assert (array.tobytes(), array.dtype) == (again[path].tobytes(), again[path].dtype)


WAS_THERE = b"grucible vectors\n".ljust(512, b"\n") + b"\x89HDF\r\n\x1a\nwhat was there"


def write_and_fail(path: Path, kind: str, error: type[BaseException]) -> None:
    made = (
        new_vector_file(path, operator="openvino.GRUCell-3", theme="t", **PROVENANCE)
        if kind == "vectors"
        else new_outputs_file(path, "runtime", "1")
    )
    with made:
        raise error("in the middle")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("kind", ["vectors", "outputs"])
def test_what_fails_leaves_what_was_there(
    kind: str, error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "kept.h5"
    path.write_bytes(WAS_THERE)  # damaged vectors, which outputs do not replace
    if kind == "outputs":
        path.unlink()
        with new_outputs_file(path, "earlier", "1"):
            pass
    before = path.read_bytes()
    for place in (path, tmp_path / "deep" / "er" / "new.h5"):
        with pytest.raises(error, match="in the middle"):
            write_and_fail(place, kind, error)
    assert path.read_bytes() == before
    assert [p for p in tmp_path.rglob("*") if not p.is_dir()] == [path]


def test_what_grucible_did_not_write_is_replaced_by_force_alone(tmp_path: Path) -> None:
    for was_there in (b"what was there", weights(tmp_path / "weights.h5")):
        path = tmp_path / "kept.h5"
        path.write_bytes(was_there)
        for kind in (VECTORS, OUTPUTS):
            with (
                pytest.raises(GrucibleError, match="not written by grucible"),
                new_file(path, kind),
            ):
                pass
        assert path.read_bytes() == was_there
        with new_file(path, VECTORS, force=True):
            pass
        for _ in range(2):  # and by itself
            with new_file(path, VECTORS):
                pass
        with pytest.raises(GrucibleError), new_file(path, OUTPUTS):
            pass


def weights(path: Path) -> bytes:
    """Somebody's HDF5 file."""
    with h5py.File(path, "w") as file:
        file["kernel"] = np.ones(1000)
        file.attrs["keras_version"] = "3"
    return path.read_bytes()
