"""Writing: the same content again, whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from grucible import load_vectors
from grucible.cases.errors import GrucibleError
from grucible.gen.posed import block_key
from grucible.vectors.block import arrays_by_path
from grucible.vectors.hdf5 import FORMAT_VERSION, OUTPUTS, VECTORS
from grucible.vectors.reader import open_vectors
from grucible.vectors.writer import new_file, new_vector_file

from .conftest import CORE
from .handmade import content_sha256, tolerance_sha256

PROVENANCE: dict[str, Any] = {
    "spec_text": "about: ü\n", "seed": 3, "generator": "test 1", "made_from": "{}",
}  # fmt: skip


@pytest.mark.parametrize(
    ("relative", "rows"),
    [("openvino/gru_cell/core.h5", 7), ("openvino/gru_sequence/core.h5", 1000), ("", 1)],
)
def test_read_and_written_again_is_the_same(
    relative: str, rows: int, handmade: Path, tmp_path: Path
) -> None:
    """The core vectors, and ambiguous blocks, some rows at a time."""
    source, again = CORE / relative if relative else handmade, tmp_path / "again.h5"
    vectors = open_vectors(source)
    operator, theme = vectors.operator.name, vectors.theme
    with new_vector_file(again, operator=operator, theme=theme, **PROVENANCE) as writer:
        for block in vectors.blocks():
            parts = [np.arange(len(block))[start:][:rows] for start in range(0, len(block), rows)]
            writer.write_block(block_key(block.question(0)), [block.rows(part) for part in parts])
    before, after = (list(load_vectors(path)) for path in (source, again))
    for one, other in zip(before, after, strict=True):
        assert (one.id, one.given, one.tier) == (other.id, other.given, other.tier)
        arrays, written = (arrays_by_path(case.inputs, case.answers) for case in (one, other))
        assert arrays.keys() == written.keys()
        for path, array in arrays.items():
            assert (array.tobytes(), array.dtype) == (written[path].tobytes(), written[path].dtype)
    if relative:
        digests = content_sha256(source), tolerance_sha256(source)
        assert (content_sha256(again), tolerance_sha256(again)) == digests
        with h5py.File(again) as file:
            assert dict(file.attrs) == {
                "format": b"grucible vectors",
                "format_version": 2,
                "operator": operator.encode(),
                "theme": theme.encode(),
                "generator": b"test 1",
                "seed": 3,
                "made_from": b"{}",
                "content_sha256": digests[0].encode(),
                "tolerance_sha256": digests[1].encode(),
            }
            assert bytes(file["spec"][()]).decode() == "about: ü\n"


OLD = b"grucible vectors\n".ljust(512, b"\n") + b"\x89HDF\r\n\x1a\nwhat was there"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_what_fails_leaves_what_was_there(error: type[BaseException], tmp_path: Path) -> None:
    path = tmp_path / "kept.h5"
    path.write_bytes(OLD)  # of grucible 0.1
    for place in (path, tmp_path / "deep" / "er" / "new.h5"):
        made = new_vector_file(place, operator="openvino.GRUCell-3", theme="t", **PROVENANCE)
        with pytest.raises(error, match="in the middle"), made:
            raise error("in the middle")
    assert path.read_bytes() == OLD
    assert [p for p in tmp_path.rglob("*") if not p.is_dir()] == [path]


@pytest.mark.parametrize("kind", [VECTORS, OUTPUTS])
def test_a_file_of_a_later_format_version_is_replaced_by_force_alone(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "later.h5"
    with new_file(path, kind) as file:
        file.attrs["format_version"] = FORMAT_VERSION + 1
    before = path.read_bytes()
    with pytest.raises(GrucibleError, match="from a later grucible"), new_file(path, kind):
        pass
    assert path.read_bytes() == before
    with new_file(path, kind, force=True):
        pass
    with new_file(path, kind):
        pass


def test_what_grucible_did_not_write_is_replaced_by_force_alone(tmp_path: Path) -> None:
    path, weights = tmp_path / "kept.h5", tmp_path / "weights.h5"
    with h5py.File(weights, "w") as file:
        file["kernel"] = np.ones(1000)
    for was_there in (b"what was there", weights.read_bytes()):
        path.write_bytes(was_there)
        for kind in (VECTORS, OUTPUTS):
            with pytest.raises(GrucibleError, match="something else"), new_file(path, kind):
                pass
        assert path.read_bytes() == was_there
        with new_file(path, VECTORS, force=True):
            pass
        for _ in range(2):  # and by itself
            with new_file(path, VECTORS):
                pass
        with pytest.raises(GrucibleError), new_file(path, OUTPUTS):
            pass
