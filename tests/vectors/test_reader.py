"""Good vector files: what a case holds, where vectors are found, what a file says of itself."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import h5py
import ml_dtypes
import numpy as np
import pytest

from grucible import Case, load_vectors
from grucible.cases.errors import VectorFileError
from grucible.cases.operators.readings import STORED
from grucible.vectors import block as block_module
from grucible.vectors import hdf5
from grucible.vectors.block import arrays_by_path
from grucible.vectors.reader import open_vectors
from grucible.vectors.vector_set import open_set

from .conftest import CORE
from .damage import edit, element
from .handmade import (
    AMBIGUOUS,
    ARITHMETIC,
    BIDIRECTIONAL,
    BLOCKS,
    READING,
    REQUIRED,
    HandmadeBlock,
    sign,
)

SEQUENCE = "openvino.GRUSequence-5"
DTYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float32": np.float32}


def by_id(path: Path) -> dict[str, Case]:
    cases = list(load_vectors(path))
    assert len({case.id for case in cases}) == len(cases)
    return {case.id: case for case in cases}


def test_every_case_as_it_was_written(handmade: Path) -> None:
    """Bit by bit: inputs, outputs and tolerances of every class, of both answers of an ambiguous case."""
    cases = by_id(handmade)
    assert set(cases) == {case_id for block in BLOCKS for case_id in block.ids()}
    with h5py.File(handmade) as file:
        for block in BLOCKS:
            group, stored = file[block.path], dict[str, Any]()
            group.visititems(lambda name, node, stored=stored: stored.update({name: node}))
            arrays = {n: d for n, d in stored.items() if isinstance(d, h5py.Dataset)}
            for row, case_id in enumerate(block.ids()):
                case = cases[case_id]
                assert (case.operator, case.dtype, case.tier) == (SEQUENCE, block.dtype, block.tier)
                found = arrays_by_path(case.inputs, case.answers)
                assert found.keys() == arrays.keys() - {"id", "attributes"}
                for name, array in found.items():
                    assert array.shape == arrays[name].shape[1:]
                    assert array.tobytes() == arrays[name][row].tobytes()
                    assert array.dtype == (
                        block.lengths if "lengths" in name
                        else "f4" if "tolerance" in name else DTYPES[block.dtype]
                    )  # fmt: skip
                assert set(case.answers) == {STORED} | ({(READING,)} if block.reading else set())
                assert set(case.answer.tolerances) == set(ARITHMETIC[block.dtype])
        bits = file[f"{BIDIRECTIONAL.path}/inputs/X"][0].astype(np.uint32)
    values = cases[BIDIRECTIONAL.ids()[0]].inputs["X"].astype(np.float32)
    assert np.array_equal(values, (bits << 16).view(np.float32))


def test_texts_of_variable_length_are_read(handmade: Path) -> None:
    """As h5py writes a str."""
    with h5py.File(handmade, "r+") as file:
        for where, name in (("/", "theme"), (REQUIRED.path, "tier")):
            file[where].attrs[name] = file[where].attrs[name].decode()
    assert len(by_id(handmade)) == 7


@pytest.mark.parametrize("value", [0.0, np.inf])
def test_a_tolerance_may_be_zero_or_infinite(value: float, handmade: Path) -> None:
    """Zero where the answer is padding, infinite where nothing can be said."""
    element(f"{REQUIRED.path}/tolerance/float32/Ho", 0, value)(handmade)
    sign(handmade)
    case = by_id(handmade)[REQUIRED.ids()[0]]
    assert case.answer.tolerances["float32"]["Ho"].flat[0] == value


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
    def change(file: Any) -> None:
        array = file[f"{block.path}/{inside}"][...]
        array.view(f"u{array.itemsize}")[1, 0, 0] = bits
        file[f"{block.path}/{inside}"][...] = array

    edit(change)(handmade)
    with pytest.raises(VectorFileError) as refused:
        open_vectors(handmade).block(block.path)
    said = f"{handmade}: /{block.path}/{inside}: {block.ids()[1]} expects NaN or an infinity"
    assert str(refused.value).startswith(said)


def test_attributes_given_and_defaults_filled_in(handmade: Path) -> None:
    first, second, _ = (by_id(handmade)[case_id] for case_id in REQUIRED.ids())
    assert first.given == {"clip": 0.5, "direction": "forward", "hidden_size": 2}
    assert second.given["clip"] == math.inf
    defaults = {"activations": ["sigmoid", "tanh"], "linear_before_reset": False}
    nothing = {"activations_alpha": None, "activations_beta": None}
    assert first.attributes == {**first.given, **defaults, **nothing}


def test_an_input_left_out_is_not_there() -> None:
    cases = list(load_vectors(CORE / "openvino/gru_cell/core.h5"))
    assert {"noB" in case.id: "B" in case.inputs for case in cases} == {True: False, False: True}
    assert all(("B" in case.inputs) != ("noB" in case.id) for case in cases)


def test_without_a_path_the_core_vectors() -> None:
    ids = [case.id for case in load_vectors()]
    assert len(ids) == len(set(ids)) == 3_965
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


def test_the_core_vectors_are_those_that_a_path_leads_to(
    handmade: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All others are a stranger's, however their path is spelled."""
    apart: list[str] = []
    monkeypatch.setattr(
        hdf5, "parse_apart", lambda parse, *asked: apart.append(asked[0]) or parse(*asked)
    )
    (tmp_path / "link").symlink_to(CORE)
    open_vectors(tmp_path / "link/openvino/gru_cell/core.h5")
    spelled = CORE / os.path.relpath(handmade, CORE)
    open_vectors(spelled)
    assert apart == [str(spelled)]


def test_blocks_in_slices(handmade: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the slices, the same cases in the same order."""

    def answers() -> list[tuple[str, bytes]]:
        return [(case.id, case.answer.outputs["Y"].tobytes()) for case in load_vectors(handmade)]

    whole = answers()
    monkeypatch.setattr(block_module, "SLICE_BYTES", 1)
    blocks = open_vectors(handmade).blocks()
    assert all(len(rows) == 1 for block in blocks for _, rows in block.selected())
    assert answers() == whole


def test_nothing_there_says_how_to_make_some(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(VectorFileError, match=f"^{path}: .*grucible gen -o"):
            list(load_vectors(path))


@pytest.mark.parametrize(
    ("missing", "folder"), [("nothere.h5", "out"), ("a/b.h5", "a"), ("a", "a")]
)
def test_what_is_missing_is_made_in_a_folder(missing: str, folder: str) -> None:
    with pytest.raises(VectorFileError, match=f"make vectors with: grucible gen -o {folder}$"):
        open_set(Path(missing))
