"""Numbers beyond the ordinary, in files, answers and options: one line or a verdict, and no warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grucible import Question, load_vectors, verify
from grucible.cases.dtypes import Array

from .conftest import Command
from .made import CELL


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
