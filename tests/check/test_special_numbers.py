"""Numbers beyond the ordinary, in files, answers and options: one line or a verdict, and no warning."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grucible import Question, load_vectors, verify
from grucible.cases.dtypes import Array
from grucible.vectors.hdf5_writing import write_text_attribute

from .conftest import Command, grucible_in
from .made import CELL
from .signed import changed

SPECIAL = """\
import numpy as np
R = np.random.default_rng(3)
def run(q):
    pick = [np.inf, -np.inf, np.nan, -0.0, 1.0, 0.5, 3.0, 4.0]
    return {name: R.choice(pick, t.shape).astype(t.dtype) for name, t in q.outputs.items()}
"""
PLAIN = "openvino.GRUCell-3/plain/float32/lbr"


def test_special_numbers_make_no_warnings(tmp_path: Path) -> None:
    """Of what decides, no expected number is infinite or NaN: it would be refused."""
    random = np.random.default_rng(0)

    def plant(data: Any, *, finite: bool) -> None:
        array = data[()]
        where = random.random(array.shape) < 0.1
        wild: list[Any] = [0x7F80, 0xFF80, 0x7FC0, 0x7F81]
        pool: list[Any] = [0x7F7F, 1, 0x8000]
        if array.dtype.kind == "f":
            info = np.finfo(array.dtype)
            wild, pool = [np.inf, -np.inf, np.nan], [info.max, info.tiny, -0.0]
        pool += [] if finite else wild
        array[where] = random.choice(np.array(pool, array.dtype), where.sum())
        data[...] = array

    def change(file: Any) -> None:
        for dtype in ("float16", "float32", "float64", "bfloat16"):
            for name in list(file[dtype]):
                block, decides = file[f"{dtype}/{name}"], "noB" not in name
                for data in block["inputs"].values():
                    plant(data, finite=False)
                for data in block["outputs"].values():
                    plant(data, finite=decides)
                if not decides:
                    file.move(f"{dtype}/{name}", f"{dtype}/{name}-nonportable")
                    write_text_attribute(block, "tier", "nonportable")

    path = changed(tmp_path, change)
    (tmp_path / "special.py").write_text(SPECIAL)
    runtime = f"{tmp_path / 'special.py'}:run"
    some = ["--select", "*/lbr-*"]
    for arguments in (["check", path, "--runtime", runtime, *some], ["score", path, *some]):
        environment = os.environ | {"PYTHONWARNINGS": "always"}
        ended = grucible_in(tmp_path, *arguments, env=environment)
        assert (ended.returncode in (0, 1), ended.stderr) == (True, "")


@pytest.mark.parametrize(("dtype", "far", "half"), [("f8", -1e4, 2.0**-53), ("f4", -1e5, 2.0**-24)])
def test_an_answer_that_cannot_be_rounded_is_no_answer(
    dtype: str, far: float, half: float, tmp_path: Path, command: Command
) -> None:
    """It lies between two numbers, nearer to neither than any precision tells."""
    numbers = {"X": [[1]], "initial_hidden_state": [[5]], "W": [[far], [0], [1]],
               "R": [[0], [0], [0]], "B": [0, 0, half]}  # fmt: skip
    (tmp_path / "ties").mkdir()
    tie = tmp_path / "ties/tie.npz"
    arrays: Any = {n: np.array(a, dtype) for n, a in numbers.items()}
    np.savez(tie, **arrays)
    asked = ["--operator", CELL, "--attributes",
             '{"hidden_size": 1, "activations": ["sigmoid", "relu"]}']  # fmt: skip
    why = "an output could not be rounded at the highest precision"
    assert why in command("answer", tie, *asked).said_in_one_line()
    out = tmp_path / "out.h5"
    imported = command("import", tie.parent, "--from", "npz", "-o", out, *asked)
    assert why in imported.said_in_one_line()


def test_what_a_runtime_sets_in_numpy_ends_with_its_answer() -> None:
    """`verify` calls it in this process, where nothing of ours is to raise."""

    def run(question: Question) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            tiny = {n: np.nextafter(np.zeros(t.shape, t.dtype), t.dtype.type(1))
                    for n, t in question.outputs.items()}  # fmt: skip
        np.seterr(all="raise")
        return tiny

    select = ["openvino.GRUCell-3/plain/float32/*", "openvino.GRUSequence-5/plain/float64/*"]
    before = np.geterr()
    assert verify(runtime=run, select=select).verdict == "does not conform"
    assert np.geterr() == before
    with np.errstate(all="raise"):  # and so where the caller set it
        assert verify(runtime=run, select=select).verdict == "does not conform"


def test_the_largest_numbers_end_no_diagnosis(capfd: pytest.CaptureFixture[str]) -> None:
    """A curve was fitted to errors whose sums overflow, which LAPACK does not take."""
    select = "openvino.GRUSequence-5/plain/float64/int32"
    [case] = load_vectors(None, select)
    most = np.finfo(np.float64).max

    def run(_: Question) -> dict[str, Array]:
        return {n: np.where(np.abs(a) > 0.5, most, a) for n, a in case.answer.outputs.items()}

    assert verify(runtime=run, select=select).verdict == "does not conform"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("dtype", "bits"), [("float64", 0x7FEFFFFFFFFFFFFF), ("float32", 0x7FA00001)]
)
@pytest.mark.filterwarnings("error")
def test_no_warning_of_numpy_ends_a_verdict(dtype: str, bits: int) -> None:
    """The largest number, and a NaN that signals."""

    def run(question: Question) -> dict[str, Array]:
        wide = {name: of.dtype.str.replace("f", "u") for name, of in question.outputs.items()}
        return {
            name: np.full(of.shape, bits, wide[name]).view(of.dtype)
            for name, of in question.outputs.items()
        }

    report = verify(runtime=run, select=f"openvino.GRUSequence-5/plain/{dtype}/lbr")
    assert report.verdict == "does not conform"
