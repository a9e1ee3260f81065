"""Small vector and outputs files, most of them made with grucible's own writers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from grucible import Question, load_vectors
from grucible.cases.dtypes import numpy_dtype
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.readings import STORED
from grucible.cases.question import pose
from grucible.check.again import other_rows
from grucible.gen.posed import block_key
from grucible.gen.tolerances.classes import CLASSES
from grucible.vectors.block import Block, BlockKey, block_of
from grucible.vectors.case import Answer, Case
from grucible.vectors.writer import new_vector_file

from .numpy_gru import keeps_h0
from .numpy_gru import run as numpy_gru

Array = npt.NDArray[Any]
IMPORT_ANSWER = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from numpy_gru import run as answer
"""
"""The beginning of a runtime's module: `answer` gives the right outputs, those of `make_block`."""
NEGATED = f"""{IMPORT_ANSWER}
def run(question):
    return {{name: -array for name, array in answer(question).items()}}
"""
CELL, SEQUENCE = "openvino.GRUCell-3", "openvino.GRUSequence-5"
KEEPS_H0 = "len-zero.initial-state"
SIZES = {"batch_size": 2, "seq_length": 3, "input_size": 4, "hidden_size": 2, "num_directions": 1}
THREE_CASES = """\
operator: openvino.GRUCell-3
about: three cases
dtypes: [float32]
sizes: {batch_size: 2, input_size: 3, hidden_size: 4}
cases:
  - list: [{}, {linear_before_reset: true}, {clip: 0.5}]
"""


def write_negated(module: Path) -> str:
    """Write a runtime that gives every number the other sign; return what `--runtime` takes."""
    module.write_text(NEGATED)
    return f"{module}:run"


def make_block(
    ids: Sequence[str],
    *,
    operator: str = CELL,
    dtype: str = "float32",
    tier: str = "required",
    lengths: Sequence[int] = (3, 2),
    outputs: Mapping[str, Array] | None = None,
    **sizes: int,
) -> tuple[BlockKey, Block]:
    """A block of cases of equal attributes and random inputs; the answers are numpy's.

    Each id is `ids`' behind `<operator>/made/<dtype>/`; `name_of` takes that off again.

    An `ambiguous` block, one with a length of 0, has the reading that keeps the initial state of such a row.
    `outputs` replaces the answers, of every case alike. `sizes` are others than SIZES.
    """
    described, sizes = OPERATORS[operator], {**SIZES, **sizes}
    given: dict[str, Any] = {"hidden_size": sizes["hidden_size"], "clip": 0.5}
    if operator == SEQUENCE:
        given["direction"] = "reverse"
    attributes = described.with_defaults(given)
    random = np.random.default_rng(7)
    inputs = {
        t.name: np.array([lengths] * len(ids), np.int64)
        if t.role == "lengths"
        else random.uniform(-1, 1, (len(ids), *described.shape(t, attributes, sizes))).astype(
            numpy_dtype(dtype)
        )
        for t in described.inputs
    }
    named = [f"{operator}/made/{dtype}/{one}" for one in ids]
    questions = [
        pose(described, given, {n: array[row] for n, array in inputs.items()}, case_id=case_id)
        for row, case_id in enumerate(named)
    ]
    key = block_key(questions[0], nonportable=tier == "nonportable")
    assert key.tier == tier
    expected = {STORED: _stacked(numpy_gru, questions) if outputs is None else dict(outputs)}
    expected |= {names: _stacked(keeps_h0, questions) for names in key.readings}
    answers = {names: Answer(found, limits(dtype, found)) for names, found in expected.items()}
    return key, Block(key.path, operator, dtype, tier, named, [given] * len(ids), inputs, answers)


def _stacked(
    run: Callable[[Question], Mapping[str, Array]], questions: Sequence[Question]
) -> dict[str, Array]:
    answers = [run(question) for question in questions]
    return {name: np.stack([answer[name] for answer in answers]) for name in answers[0]}


def name_of(case_id: str) -> str:
    """What a case of `make_block` was called."""
    prefix, made, rest = case_id.partition("/made/")
    assert prefix
    assert made
    return rest.partition("/")[2]


def limits(dtype: str, answers: Mapping[str, Array]) -> dict[str, dict[str, Array]]:
    """Tolerances of answers of order one, by class and output: sixteen of the class's largest unit.

    Where an answer is zero, as padding is, nothing is admitted.
    """
    units = {c.name: 16 * max(c.unit, c.elementwise, c.state, c.operands) for c in CLASSES[dtype]}
    return {
        one: {name: np.where(a == 0, 0, unit).astype("f4") for name, a in answers.items()}
        for one, unit in units.items()
    }


def answering(vectors: Path | None = None) -> Callable[[Question], dict[str, Array]]:
    """A runtime that was told the answers: those of the vectors at a path, whatever it is asked."""
    cases = {case.id: case for case in load_vectors(vectors)}
    return lambda question: dict(answer_to(question, cases[question.id]).outputs)


def answer_to(question: Question, case: Case) -> Answer:
    """A case's answer to its question, also where that is asked again with other rows of the batch."""
    for block, _ in other_rows(block_of(case)):
        if all(a[0].tobytes() == question.inputs[n].tobytes() for n, a in block.inputs.items()):
            return block.case(0).answer
    raise AssertionError(f"{question}: is not of the case")


def write_vectors(path: Path, *blocks: tuple[BlockKey, Block], operator: str = CELL) -> None:
    """Write a vector file of the blocks."""
    about: Any = {"spec_text": "", "seed": 0, "generator": "test", "made_from": "test"}
    with new_vector_file(path, operator=operator, theme="made", **about) as writer:
        for key, block in blocks:
            writer.write_block(key, [block])


NAMES = ["a-good", "b-bad", "c-good"]
"""The float32 cells of `write_some_vectors`."""


def write_some_vectors(root: Path) -> None:
    """A directory with a cell file (a case of it `bad`), and in a folder a sequence file."""
    (root / "deep").mkdir(parents=True)
    write_vectors(
        root / "cell.h5",
        make_block(NAMES),
        make_block(["d-bfloat16"], dtype="bfloat16"),
        make_block(["n-bad"], tier="nonportable"),
    )
    zero = make_block(["s-zero"], operator=SEQUENCE, tier="ambiguous", lengths=(0, 3))
    write_vectors(root / "deep" / "seq.h5", zero, operator=SEQUENCE)


def write_outputs(
    path: Path, vectors: Path, *, text: Callable[[str], Any] = np.bytes_, **layout: Any
) -> None:
    """Write an outputs file with h5py alone, as FORMAT.md describes it: every answer is expected.

    With `text=str` its attributes are of variable length, as h5py writes a str, and a process reads them.
    `layout` says how numbers are stored.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(vectors) as expected, h5py.File(path, "w") as outputs:
        texts = {"format": text("grucible outputs"), "runtime": text("mine")}
        outputs.attrs.update({**texts, "format_version": 2})
        for dtype in ("float16", "bfloat16", "float32", "float64"):
            for name, block in expected.get(dtype, {}).items():
                made = outputs.create_group(f"{dtype}/{name}")
                made["id"] = block["id"][:]
                for output, answers in block["outputs"].items():
                    data = made.create_dataset(f"outputs/{output}", data=answers[:], **layout)
                    data.attrs.update(answers.attrs)
