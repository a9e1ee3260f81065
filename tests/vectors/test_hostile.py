"""Bad vector files: each gives VectorFileError, and on the command line one line and status 2."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import pytest

from grucible import load_vectors
from grucible.cases.errors import VectorFileError
from grucible.cases.specs.expand import MOST_CASES
from grucible.vectors.hdf5 import MOST_ROWS
from grucible.vectors.reader import open_vectors

from .conftest import CORE, Command
from .damage import FLIPS, PLAIN, SIGNED, Spoil, put, stored_as
from .handmade import BIDIRECTIONAL, REQUIRED, sign

RUN = Path(__file__).parents[1] / "robustness/run.py"


@pytest.mark.parametrize(
    ("kind", "says", "spoil"),
    [
        pytest.param(kind, says, spoil, id=f"{says or 'other'}-{number}")
        for kind, table in (("plain", PLAIN), ("signed", SIGNED), ("flip", FLIPS))
        for says, spoils in table.items()
        for number, spoil in enumerate(spoils, 1)
    ],
)
def test_refused_in_one_line(
    kind: str, says: str, spoil: Spoil, handmade: Path, command: Command
) -> None:
    spoil(handmade)
    if kind == "signed":
        sign(handmade)
    with pytest.raises(VectorFileError, match=says or "^"):
        list(load_vectors(handmade) if kind == "flip" else open_vectors(handmade).blocks())
    (handmade.parent / "none").mkdir()
    status, out, err = command("check", handmade, "--outputs", handmade.parent / "none")
    assert (status, out) == (2, "")
    assert re.fullmatch(r"grucible: [^\n]+\n", err), err
    assert str(handmade) in err
    if kind != "plain":
        assert re.search(says, err), err


def test_show_reads_one_case_of_a_file_that_is_damaged_elsewhere(
    handmade: Path, command: Command
) -> None:
    stored_as(f"{BIDIRECTIONAL.path}/inputs/X", lambda array: array.view("f2"))(handmade)
    status, out, err = command("show", handmade, REQUIRED.ids()[0])
    assert (status, out.splitlines()[0], err) == (0, REQUIRED.ids()[0], "")


def test_a_spec_makes_no_more_rows_than_are_read() -> None:
    assert MOST_ROWS >= MOST_CASES


@pytest.mark.parametrize("layout", [
    {"compression": "gzip", "shuffle": True, "fletcher32": True}, {"compression": "lzf", "shuffle": True},
    {"chunks": (2, 1, 3, 4)},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("repeated", [False, True], ids=["random", "repeated"])
def test_filtered_numbers_are_read(repeated: bool, layout: dict[str, Any], handmade: Path) -> None:
    """Random ones become no shorter, and then HDF5 leaves the filter out."""
    with h5py.File(handmade) as file:
        values = file[f"{REQUIRED.path}/inputs/X"][()]
    values[...] = 0.5 if repeated else values
    options = {"chunks": (2, *values.shape[1:]), **layout}
    put(
        f"{REQUIRED.path}/inputs/X",
        lambda file, at: file.create_dataset(at, data=values, **options),
    )(handmade)
    sign(handmade)
    cases = [case for case in load_vectors(handmade) if case.id in REQUIRED.ids()]
    assert [case.inputs["X"].tolist() for case in cases] == values.tolist()


HOLDER = """
import h5py, sys
with h5py.File(sys.argv[1], "r+"):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_file_that_another_program_writes(handmade: Path, command: Command) -> None:
    words = [sys.executable, "-c", HOLDER, str(handmade)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"open\n"
        cell = CORE / "openvino/gru_cell/core.h5"
        for asked in ((handmade, "--runtime", "no:such"), (cell, "--outputs", handmade)):
            status, _, err = command("check", *asked)
            assert (status, err.startswith(f"grucible: {handmade}: ")) == (2, True)
            assert "is it open in another program?" in err
        program.communicate()


def test_mutants_and_flips_are_refused_or_judged_rightly() -> None:
    words = [sys.executable, str(RUN), "--share", "0.002", "mutants", "flips"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count(" refused") >= 8
    assert "otherwise" not in ended.stdout
