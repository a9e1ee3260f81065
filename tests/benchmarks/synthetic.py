"""Files to be read: a vector file of big blocks, outputs of a runtime that is nearly right, and the
same cases with one HDF5 group each."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from grucible import Question, load_vectors
from grucible.cases.dtypes import FLOAT_TYPES, Arrays
from grucible.cases.expansion.expand import expand
from grucible.cases.operators.readings import STORED
from grucible.cases.specs.spec_file import load_spec
from grucible.check.observed.recording import record
from grucible.check.observed.source import FromRuntime
from grucible.check.runtimes.runtime import Runtime
from grucible.gen.drawing import block_key
from grucible.gen.inputs import draw_inputs
from grucible.gen.tolerances.classes import CLASSES
from grucible.vectors.block import Block
from grucible.vectors.case import Answer
from grucible.vectors.vector_set import open_set
from grucible.vectors.writer import new_vector_file

BIG_SPEC = """\
operator: openvino.GRUSequence-5
about: three big blocks, whose answers nobody works out
dtypes: [float16, float32, float64]
sizes: {batch_size: 4, seq_length: 16, input_size: 16, hidden_size: 32}
cases:
  - product:
      activations: [[sigmoid, tanh], [tanh, relu], [relu, tanh], [sigmoid, relu]]
      clip: [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]
      linear_before_reset: [false]
      direction: [forward, reverse]
      sequence_lengths: [full, ragged, ones, longest-first, longest-middle, longest-last]
"""
ROWS = 48  # of a block that are written at once


def write_big_vectors(directory: Path) -> Path:
    """A valid vector file of some 60 MB; its outputs are numbers of the right size, not answers."""
    source = directory / "big.yaml"
    source.write_text(BIG_SPEC, encoding="utf-8")
    cases = sorted(expand(load_spec(source, "big")), key=lambda case: case.id)
    path = directory / "big.h5"
    with new_vector_file(
        path,
        operator=cases[0].operator,
        theme="big",
        spec_text=BIG_SPEC,
        seed=0,
        generator="grucible benchmark",
        made_from="",
    ) as writer:
        for dtype in ("float16", "float32", "float64"):
            members = [case for case in cases if case.dtype == dtype]
            key = block_key(members[0])
            writer.start_block(key, [c.id for c in members], [c.given for c in members])
            for start in range(0, len(members), ROWS):
                some = members[start : start + ROWS]
                inputs = [draw_inputs(case, 0, 0) for case in some]
                stacked = {name: np.stack([i[name] for i in inputs]) for name in inputs[0]}
                ids, given = [c.id for c in some], [c.given for c in some]
                outputs = _plausible(stacked)
                writer.write(
                    key,
                    start,
                    Block(
                        key.path,
                        key.operator,
                        dtype,
                        key.tier,
                        ids,
                        given,
                        stacked,
                        {STORED: Answer(outputs, _limits(dtype, outputs))},
                    ),
                )
    return path


def _plausible(inputs: Arrays) -> Arrays:
    x, h0 = inputs["X"], inputs["initial_hidden_state"]
    y = np.empty((*x.shape[:2], 1, x.shape[2], h0.shape[-1]), x.dtype)
    y[...] = h0[..., None, :] * np.asarray(0.75, x.dtype)
    return {"Y": y, "Ho": np.ascontiguousarray(y[:, :, :, -1])}


def _limits(dtype: str, outputs: Arrays) -> dict[str, Arrays]:
    """Two units in the last place of every output, for every class of arithmetic."""
    eps = 2.0 ** (1 - FLOAT_TYPES[dtype].precision)
    limits = {name: (2 * eps * np.abs(array)).astype(np.float32) for name, array in outputs.items()}
    return {one.name: limits for one in CLASSES[dtype]}


def write_outputs(vectors: Path, out: Path) -> Path:
    """Outputs that differ from the expected ones in the last place, as those of a good runtime do."""

    answers = {case.id: case.answer.outputs for case in load_vectors(vectors)}

    def nearly(question: Question) -> Arrays:
        right = answers[question.id]
        return {name: np.nextafter(a, np.zeros_like(a)) for name, a in right.items()}

    with open_set(vectors) as opened:
        list(record(opened, FromRuntime(Runtime("nearly", "1", nearly)), out))
    return out


def write_per_case(vectors: Path, outputs: Path, directory: Path) -> tuple[Path, Path]:
    """The expected and the observed outputs, each in a file that has one HDF5 group per case."""
    expected, observed = directory / "expected.h5", directory / "observed.h5"
    with h5py.File(expected, "w") as left, h5py.File(observed, "w") as right:
        with h5py.File(outputs) as stored:
            rows = _rows(stored)
        for number, case in enumerate(load_vectors(vectors)):
            for name, array in case.answer.outputs.items():
                left[f"{number:06}/{name}"] = array
                right[f"{number:06}/{name}"] = rows[case.id][name]
            left[f"{number:06}"].attrs["id"] = case.id
    return expected, observed


def _rows(stored: h5py.File) -> dict[str, Arrays]:
    found: dict[str, Arrays] = {}
    for dtype in stored.values():
        for block in dtype.values():
            arrays = {name: data[()] for name, data in block["outputs"].items()}
            for row, case_id in enumerate(block["id"][()].tolist()):
                found[case_id.decode()] = {name: a[row] for name, a in arrays.items()}
    return found
