"""Bad vector files: each gives VectorFileError, and on the command line one line and status 2."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import h5py
import pytest

from grucible import load_vectors
from grucible.cases.errors import VectorFileError
from grucible.cases.specs.spec_file import MOST_CASES
from grucible.vectors.hdf5 import MOST_ROWS

from .conftest import Command
from .damage import DAMAGES, FLIPS, LAST, Damage, stored_as
from .handmade import BIDIRECTIONAL, REQUIRED


def ids_of(damages: list[Damage]) -> list[str]:
    return [damage.name for damage in damages]


def check_one_line(status: int, out: str, err: str, path: Path, says: str) -> None:
    assert (status, out) == (2, "")
    assert re.fullmatch(r"grucible: [^\n]+\n", err), err
    assert str(path) in err
    assert re.search(says, err), err


def test_undamaged(handmade: Path, command: Command) -> None:
    assert len(list(load_vectors(handmade))) == 7
    status, out, err = command("check", handmade, "--outputs", handmade.parent / "none")
    assert (status, out) == (2, "")
    assert err == f"grucible: {handmade.parent}/none: no such file or directory; expected outputs\n"


@pytest.mark.parametrize("damage", DAMAGES + LAST + FLIPS, ids=ids_of(DAMAGES + LAST + FLIPS))
def test_refused_in_one_line(damage: Damage, handmade: Path, command: Command) -> None:
    damage(handmade)
    if damage not in FLIPS:  # which a digest alone sees
        with pytest.raises(VectorFileError, match=damage.says):
            list(load_vectors(handmade))
    says = damage.says if damage.signed or damage in FLIPS else ""
    none = handmade.parent / "none"
    none.mkdir()
    check_one_line(*command("check", handmade, "--outputs", none), handmade, says)


def test_show_reads_one_case_of_a_file_that_is_damaged_elsewhere(
    handmade: Path, command: Command
) -> None:
    elsewhere = f"{BIDIRECTIONAL.path}/inputs/X"
    stored_as(elsewhere, lambda array: array.view("f2"))(handmade)
    status, out, err = command("show", handmade, REQUIRED.ids()[0])
    assert (status, out.splitlines()[0], err) == (0, REQUIRED.ids()[0], "")


def test_a_spec_makes_no_more_rows_than_are_read() -> None:
    assert MOST_ROWS >= MOST_CASES


def test_texts_of_variable_length_are_read(handmade: Path) -> None:
    """As h5py writes a str."""
    with h5py.File(handmade, "r+") as file:
        for where, name in (("/", "theme"), (REQUIRED.path, "tier")):
            file[where].attrs[name] = file[where].attrs[name].decode()
    assert len(list(load_vectors(handmade))) == 7


@pytest.mark.parametrize(
    "layout",
    [
        {"compression": "gzip"},
        {"compression": "gzip", "shuffle": True, "fletcher32": True},
        {"compression": "lzf"},
        {"compression": "lzf", "shuffle": True, "fletcher32": True},
        {"shuffle": True, "fletcher32": True},
        {"chunks": (2, 1, 3, 4)},
    ],
    ids=str,
)
@pytest.mark.parametrize("repeated", [False, True], ids=["random", "repeated"])
def test_filtered_numbers_are_read(repeated: bool, layout: dict[str, Any], handmade: Path) -> None:
    """Random ones become no shorter, and then HDF5 leaves the filter out."""
    with h5py.File(handmade, "r+") as file:
        values = file[f"{REQUIRED.path}/inputs/X"][()]
        values[...] = 0.5 if repeated else values
        del file[f"{REQUIRED.path}/inputs/X"]
        chunks = {"chunks": (2, *values.shape[1:])}
        file.create_dataset(f"{REQUIRED.path}/inputs/X", data=values, **{**chunks, **layout})
    cases = [case for case in load_vectors(handmade) if case.id in REQUIRED.ids()]
    assert [case.inputs["X"].tolist() for case in cases] == values.tolist()
