"""Vector files that are too large, or say so, are refused before they are read."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from grucible.vectors.hdf5 import CORE
from grucible.vectors.writer import write_digests, write_text_attribute

from .conftest import HERE, Command

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"


def large(path: Path, size: int) -> None:
    """A vector file of one case with an input_size that no case has."""
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        for name, text in {"format": "grucible vectors", "operator": "openvino.GRUCell-3",
                           "theme": "core", "generator": "x"}.items():  # fmt: skip
            write_text_attribute(file, name, text)
        file.attrs["format_version"], file.attrs["seed"] = 2, 0
        file["spec"] = np.frombuffer(b"x", np.uint8)
        block = file.create_group("float32/b")
        for name, length in (("batch_size", 1), ("input_size", size), ("hidden_size", 1)):
            block.attrs[name] = length
        write_text_attribute(block, "tier", "required")
        block["id"] = np.array([b"openvino.GRUCell-3/core/float32/x"])
        block["attributes"] = np.array([b'{"hidden_size":1}'])
        for name, shape in {"inputs/X": (1, 1, size), "inputs/initial_hidden_state": (1, 1, 1),
                            "inputs/W": (1, 3, size), "inputs/R": (1, 3, 1)}.items():  # fmt: skip
            block.create_dataset(name, shape, "<f4", chunks=shape, compression="gzip")
            block[name][...] = 0.5
        block["outputs/Ho"] = np.full((1, 1, 1), 0.5, "f4")
        for name in ("float32", "float16-state", "bfloat16-gemm", "tf32", "bfloat16-operands"):
            block[f"tolerance/{name}/Ho"] = np.full((1, 1, 1), 1e-6, "f4")
        write_digests(file)


def test_a_case_too_large_to_be_answered_is_refused(tmp_path: Path, command: Command) -> None:
    large(tmp_path / "large.h5", 1_100_000)
    for arguments in (
        ["check", tmp_path / "large.h5", "--runtime", NUMPY],
        ["show", tmp_path / "large.h5", "openvino.GRUCell-3/core/float32/x"],
        ["score", tmp_path / "large.h5"],
    ):
        assert (
            "input_size is 1100000; expected at most 4096" in command(*arguments).said_in_one_line()
        )
