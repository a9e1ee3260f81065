"""Good vector files: what a case holds, where vectors are found, what a file says of itself."""

from __future__ import annotations

import math
from pathlib import Path

import h5py
import ml_dtypes
import numpy as np
import pytest

from grucible import Case, load_vectors
from grucible.cases.errors import VectorFileError
from grucible.cases.operators.readings import STORED
from grucible.vectors import block as block_module
from grucible.vectors.reader import open_vectors
from grucible.vectors.vector_set import open_set

from .conftest import CORE
from .handmade import (
    AMBIGUOUS,
    ARITHMETIC,
    BIDIRECTIONAL,
    BLOCKS,
    READING,
    REQUIRED,
    HandmadeBlock,
)

DTYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float32": np.float32}


def by_id(path: Path) -> dict[str, Case]:
    cases = list(load_vectors(path))
    assert len({case.id for case in cases}) == len(cases)
    return {case.id: case for case in cases}


def test_every_case_as_it_was_written(handmade: Path) -> None:
    cases = by_id(handmade)
    assert set(cases) == {case_id for block in BLOCKS for case_id in block.ids()}
    with h5py.File(handmade) as file:
        for block in BLOCKS:
            group = file[block.path]
            for row, case_id in enumerate(block.ids()):
                case = cases[case_id]
                assert (case.operator, case.dtype, case.tier) == (
                    "openvino.GRUSequence-5",
                    block.dtype,
                    block.tier,
                )
                for name in group["inputs"]:
                    same_bits(case.inputs[name], group["inputs"][name][row])
                for name in group["outputs"]:
                    same_bits(case.answer.outputs[name], group["outputs"][name][row])
                assert set(case.inputs) == set(group["inputs"])
                assert set(case.answer.outputs) == {"Y", "Ho"}
                assert case.inputs["X"].dtype == DTYPES[block.dtype]
                assert case.inputs["sequence_lengths"].dtype == block.lengths
                read = {(block.reading,)} if block.reading else set()
                assert set(case.answers) == {STORED} | read


def same_bits(array: np.ndarray, stored: np.ndarray) -> None:
    assert array.shape == stored.shape
    assert array.tobytes() == stored.tobytes()


def test_outputs_of_a_reading(handmade: Path) -> None:
    case = by_id(handmade)[AMBIGUOUS.ids()[1]]
    with h5py.File(handmade) as file:
        for name in ("Y", "Ho"):
            stored = file[f"{AMBIGUOUS.path}/readings/{READING}/outputs/{name}"][1]
            same_bits(case.answers[(READING,)].outputs[name], stored)
            assert case.answer.outputs[name].tobytes() != stored.tobytes()


def test_tolerances_of_every_class(handmade: Path) -> None:
    """Each answer has its own: of a case, and of a block."""
    cases = by_id(handmade)
    with h5py.File(handmade) as file, open_vectors(handmade) as vectors:
        for block in BLOCKS:
            for row, case_id in enumerate(block.ids()):
                tolerances = cases[case_id].answer.tolerances
                assert set(tolerances) == set(ARITHMETIC[block.dtype])
                for one, arrays in tolerances.items():
                    assert set(arrays) == {"Y", "Ho"}
                    for name, array in arrays.items():
                        same_bits(array, file[f"{block.path}/tolerance/{one}/{name}"][row])
                        assert array.dtype == np.float32
        [ambiguous] = [b for b in vectors.blocks() if b.path == AMBIGUOUS.path]
        held = ambiguous.rows(np.array([1])).answers
        assert set(held) == {STORED, (READING,)}
        case = cases[AMBIGUOUS.ids()[1]]
        for one in ARITHMETIC["float16"]:
            stored = file[f"{AMBIGUOUS.path}/readings/{READING}/tolerance/{one}/Y"][1:2]
            same_bits(held[(READING,)].tolerances[one]["Y"], stored)
            same_bits(case.answers[(READING,)].tolerances[one]["Y"], stored[0])
            assert held[STORED].tolerances[one]["Y"].tobytes() != stored.tobytes()


def test_a_tolerance_may_be_zero_or_infinite(handmade: Path) -> None:
    """Zero where the answer is padding, infinite where nothing can be said."""
    with h5py.File(handmade, "r+") as file:
        file[f"{REQUIRED.path}/tolerance/float32/Ho"][0] = [[[0.0, np.inf]], [[0.0, 1.0]]]
    case = by_id(handmade)[REQUIRED.ids()[0]]
    assert case.answer.tolerances["float32"]["Ho"].ravel().tolist() == [0.0, np.inf, 0.0, 1.0]


@pytest.mark.parametrize(
    ("block", "inside", "bits"),
    [
        (REQUIRED, "outputs/Y", 0x7F800000),
        (BIDIRECTIONAL, "outputs/Ho", 0xFFC0),
        (AMBIGUOUS, "outputs/Ho", 0xFC00),
        (AMBIGUOUS, f"readings/{READING}/outputs/Y", 0x7C01),
    ],
)
def test_an_expected_number_of_a_case_that_decides_is_finite(
    block: HandmadeBlock, inside: str, bits: int, handmade: Path
) -> None:
    with h5py.File(handmade, "r+") as file:
        data = file[f"{block.path}/{inside}"]
        array = data[...]
        array.view(f"u{array.itemsize}")[1, 0, 0] = bits
        data[...] = array
    with pytest.raises(VectorFileError) as refused:
        open_vectors(handmade).block(block.path)
    said = str(refused.value)
    assert said.startswith(f"{handmade}: /{block.path}/{inside}: {block.ids()[1]} expects NaN or")
    assert f"its tier is {block.tier}; expected finite numbers, or the tier nonportable" in said


def test_bfloat16_has_its_values(handmade: Path) -> None:
    case = by_id(handmade)[BIDIRECTIONAL.ids()[0]]
    with h5py.File(handmade) as file:
        bits = file[f"{BIDIRECTIONAL.path}/inputs/X"][0].astype(np.uint32)
    assert np.array_equal(case.inputs["X"].astype(np.float32), (bits << 16).view(np.float32))


def test_attributes_given_and_defaults_filled_in(handmade: Path) -> None:
    first, second, _ = (by_id(handmade)[case_id] for case_id in REQUIRED.ids())
    assert first.given == {"clip": 0.5, "direction": "forward", "hidden_size": 2}
    assert second.given["clip"] == math.inf
    assert first.attributes == {
        "hidden_size": 2,
        "activations": ["sigmoid", "tanh"],
        "clip": 0.5,
        "linear_before_reset": False,
        "direction": "forward",
    }


def test_an_input_left_out_is_not_there() -> None:
    cases = list(load_vectors(CORE / "openvino/gru_cell/core.h5"))
    without = [case for case in cases if "noB" in case.id]
    assert len(without) == 40
    assert all("B" not in case.inputs for case in without)
    assert all("B" in case.inputs for case in cases if "noB" not in case.id)


def test_without_a_path_the_core_vectors() -> None:
    ids = [case.id for case in load_vectors()]
    assert len(ids) == len(set(ids)) == 616 + 376 + 252 + 546 + 115
    assert ids == open_set().ids == open_set(CORE).ids
    cell = CORE / "openvino" / "gru_cell"
    assert [case.id for case in load_vectors(str(cell))] == open_set(cell).ids


def test_a_directory_gives_relative_paths(handmade: Path, tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b" / "inner.h5"
    inner.parent.mkdir(parents=True)
    handmade.rename(inner)
    (tmp_path / "a" / ".inner.h5.1.tmp").write_bytes(b"half")
    for path, relative in ((tmp_path, "a/b/inner.h5"), (inner, "inner.h5")):
        assert [(one.path, one.relative) for one in open_set(path).files] == [(inner, relative)]


def test_blocks_in_slices(handmade: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the slices, the same cases in the same order."""
    whole = [(case.id, case.answer.outputs["Y"].tobytes()) for case in load_vectors(handmade)]
    monkeypatch.setattr(block_module, "SLICE_BYTES", 1)
    with open_vectors(handmade) as vectors:
        assert all(len(rows) == 1 for block in vectors.blocks() for _, rows in block.selected())
    assert [
        (case.id, case.answer.outputs["Y"].tobytes()) for case in load_vectors(handmade)
    ] == whole


@pytest.mark.parametrize("what", ["absent", "directory without .h5"])
def test_nothing_there_says_how_to_make_some(what: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    if what != "absent":
        path.mkdir()
        (path / "notes.txt").write_text("no vectors")
    with pytest.raises(VectorFileError, match="grucible gen -o") as refused:
        list(load_vectors(path))
    assert str(path) in str(refused.value)
