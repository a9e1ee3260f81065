"""Packed files, as a wheel has them: other bytes, the same vectors, and no stranger's reader takes them."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import pytest

from grucible.cases.errors import VectorFileError
from grucible.vectors import hdf5
from grucible.vectors.block import arrays_by_path
from grucible.vectors.packed import pack
from grucible.vectors.reader import VectorFile, open_vectors

from .conftest import CORE

FILES = {
    "openvino/gru_cell/core_pairs.h5": 0.12,  # weights of two bits
    "onnx/gru/core_magnitudes.h5": 0.7,  # scaled inputs, later draws, lengths
    "keras/gru/core.h5": 0.65,  # masks, and two biases on a coarse grid
    "bnnsgraph/gru/plain.h5": 0.8,  # zeros, and numbers that were planted
}
"""Files, each with the share of its bytes that is left at most."""


def arrays(file: VectorFile) -> dict[tuple[str, str], tuple[str, tuple[int, ...], bytes]]:
    return {
        (",".join(block.ids), path): (array.dtype.name, array.shape, array.tobytes())
        for block in file.blocks()
        for path, array in arrays_by_path(block.inputs, block.answers).items()
    }


@pytest.mark.parametrize("relative", FILES)
def test_a_packed_file_holds_the_same(
    relative: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "core.h5"
    shutil.copy(CORE / relative, path)
    pack(path)
    small = path.read_bytes()
    assert len(small) < FILES[relative] * (CORE / relative).stat().st_size
    pack(path)
    assert path.read_bytes() == small
    with pytest.raises(VectorFileError, match=r"packed vectors'; .*a copy with: grucible gen"):
        open_vectors(path)
    monkeypatch.setattr(hdf5, "CORE", tmp_path)  # as installed
    packed, whole = open_vectors(path), open_vectors(CORE / relative)
    packed.verify_content()
    assert packed.content_sha256 == whole.content_sha256
    assert arrays(packed) == arrays(whole)


def test_what_was_drawn_is_not_stored(tmp_path: Path) -> None:
    path = tmp_path / "core.h5"
    shutil.copy(CORE / "onnx/gru/core_crossed.h5", path)
    pack(path)
    with h5py.File(path) as file:
        left = {
            tensor
            for dtype in ("float16", "float32", "float64", "bfloat16")
            for block in file.get(dtype, {}).values()
            for tensor in block.get("inputs", ())
        }
    assert left == {"sequence_lens"}
