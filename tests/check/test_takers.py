"""A runtime that returns, copies or leaves untouched anything it was given never conforms."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from shipped import core_cases

from grucible import Case, Question, load_vectors, verify
from grucible.cases.operators import OPERATORS
from grucible.check.observed.child import Child
from grucible.vectors.case import Answer
from grucible.vectors.hdf5 import CORE

from .conftest import HERE, Command
from .made import CELL, SEQUENCE, make_block, write_outputs, write_vectors
from .takers import TAKERS

NAMES = [*TAKERS, "process"]
DTYPES = ("float16", "float32", "float64", "bfloat16")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """A case per taker, operator and dtype; those of sequences touch an ambiguous point."""
    for operator in (CELL, SEQUENCE):
        tier, lengths = ("required", (3, 2)) if operator == CELL else ("ambiguous", (0, 3))
        blocks = [
            make_block(
                NAMES,
                operator=operator, dtype=dtype, tier=tier, lengths=lengths,
            )
            for dtype in DTYPES
        ]  # fmt: skip
        write_vectors(tmp_path / "taken" / f"{operator}.h5", *blocks, operator=operator)
    return tmp_path / "taken"


def is_zero(answer: Answer) -> bool:
    return not any(array.any() for array in answer.outputs.values())


def takes_no_step(case: Case) -> bool:
    lengths = OPERATORS[case.operator].tensor("lengths")
    return lengths is not None and not case.inputs.get(lengths.name, np.ones(1)).any()


def test_no_core_case_whose_answer_is_not_zero_passes_in_this_process() -> None:
    """The takers are asked in turn: each some 230 of the cases. A case whose rows are all empty is zero."""
    turns = itertools.cycle(TAKERS)
    asked: dict[str, str] = {}

    def run(question: Question) -> Any:
        asked[question.id] = next(turns)
        return TAKERS[asked[question.id]](question)

    report = verify(runtime=run, diagnosis=False)
    assert (report.verdict, report.exit_status) == ("does not conform", 1)
    assert set(asked.values()) == set(TAKERS)
    passed = {r.id for r in report.results if r.verdict not in ("failed", "error")}
    zero = {case.id for case in core_cases() if any(map(is_zero, case.answers.values()))}
    assert passed <= zero  # by zeros
    assert zero <= {case.id for case in core_cases() if takes_no_step(case)}


def test_no_case_passes_in_a_process_of_its_own(vectors: Path, command: Command) -> None:
    """Not even by looking through everything that is in that process."""
    arguments = ["check", vectors, "--runtime", f"{HERE / 'takers.py'}:run", "--no-diagnose"]
    ended = command(*arguments, "--json")
    assert ended.status == 1
    assert ended.report["verdict"] == "does not conform"
    found = {case["id"]: case["verdict"] for case in ended.report["cases"]}
    assert len(found) == 2 * len(DTYPES) * len(NAMES)
    assert set(found.values()) == {"failed", "error"}
    failed = {case_id.rpartition("/")[2] for case_id, v in found.items() if v == "failed"}
    assert failed >= {"inputs-shaped", "buffers", "zeros", "reachable", "process"}


def test_no_answer_is_sent_to_that_process(
    vectors: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[bytes] = []
    send = Child.send

    def noted(self: Child, parts: Sequence[bytes], deadline: float) -> None:
        sent.extend(parts)
        send(self, parts, deadline)

    monkeypatch.setattr(Child, "send", noted)
    command("check", vectors, "--runtime", f"{HERE / 'takers.py'}:run", "--no-diagnose")
    everything = b"".join(sent)
    for case in load_vectors(vectors):
        for array in case.inputs.values():
            assert array.tobytes() in everything
        for answer in case.answers.values():
            for array in answer.outputs.values():
                assert array.tobytes() not in everything, case.id
        for array in case.answer.outputs.values():
            for row in (row for row in array.reshape(-1, array.shape[-1]) if row.nbytes >= 8):
                assert row.tobytes() not in everything or not row.any(), case.id
    for word in (b"tolerance", b"answer", b"reading", b"ambiguous"):
        assert word not in everything


def test_a_question_has_no_answer() -> None:
    assert {field.name for field in dataclasses.fields(Question)} == {
        "id", "operator", "dtype", "given", "inputs", "outputs",
    }  # fmt: skip
    for name in ("answer", "answers", "tier", "tolerances", "readings", "probes", "case"):
        assert not hasattr(Question, name)


# from files


def fill(path: Path, make: Any) -> None:
    """Let `make` say what an outputs file holds, of the vector file's block and output."""
    with h5py.File(path, "r+") as outputs, h5py.File(CORE / "openvino/gru_cell/core.h5") as vectors:
        for dtype in ("float16", "float32", "float64", "bfloat16"):
            for name, block in vectors[dtype].items():
                data = outputs[f"{dtype}/{name}/outputs/Ho"]
                data[...] = np.resize(make(block, data), data.shape)


@pytest.mark.parametrize(
    "make",
    [
        lambda block, _: block["inputs/X"][:],
        lambda block, _: block["inputs/initial_hidden_state"][:],
        lambda block, _: block["tolerance/float32/Ho"][:].astype(block["outputs/Ho"].dtype),
        lambda _, data: np.zeros(1, data.dtype),
        lambda _, data: np.full(1, 0x7FC0 if data.dtype == np.uint16 else np.nan, data.dtype),
        lambda block, _: np.roll(block["outputs/Ho"][:], 1, axis=(0, 1)),
    ],
    ids=["X", "initial state", "tolerances", "zeros", "NaN", "answers of other cases"],
)
def test_nothing_that_is_copied_into_an_outputs_file_conforms(
    make: Any, tmp_path: Path, command: Command
) -> None:
    vectors = CORE / "openvino/gru_cell/core.h5"
    write_outputs(tmp_path / "outputs.h5", vectors)
    fill(tmp_path / "outputs.h5", make)
    ended = command(
        "check", vectors, "--outputs", tmp_path / "outputs.h5", "--no-diagnose", "--json"
    )
    assert ended.status == 1
    assert {case["verdict"] for case in ended.report["cases"]} == {"failed"}
