"""The layout `onnx`: a folder for each case, as the backend tests of ONNX have it.

    cases/test_00017_float32_reverse/model.onnx
                                    /data.json      rtol and atol, for onnx.backend.test
                                    /config.txt     the same, for onnx_test_runner of ONNX Runtime
                                    /test_data_set_0/input_0.pb … output_0.pb …

A model has its weights as inputs. A test has one right answer, so what more than one reading admits, and what
is not portable, cannot be said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from onnx import TensorProto, helper

from ...cases.dtypes import Array, dtype_name
from ...cases.operators.onnx import GRU
from ..case import REQUIRED, Case
from .layout import CASES, NotSayable, Written
from .manifest import Place
from .onnx_model import TYPES, model
from .onnx_node import node_type, opset_for
from .rtol_atol import Pair, smallest_pair
from .tensors import write_npz


def write(folder: Path, name: str, case: Case, arrays: Mapping[str, Array]) -> Written:
    """Write a folder for the case: a model, its tensors as TensorProto, and the tolerances as npz."""
    if case.operator != GRU.name:
        raise NotSayable("is no operator of ONNX")
    if case.tier != "required":
        raise NotSayable(f"a test has one right answer, and these cases are {case.tier}")
    rest = {path: a for path, a in arrays.items() if path.startswith("tolerance/")}
    pair = _pair(case) if rest else None
    test = f"{CASES}/test_{name}"
    data = folder / test / "test_data_set_0"
    data.mkdir(parents=True)
    asked = node_type(case.question)
    made = model(asked, opset_for(case.dtype))
    (folder / test / "model.onnx").write_bytes(made.SerializeToString())
    places = write_npz(folder, f"{test}/tolerance.npz", rest) if rest else {}
    for kind, names in (("input", asked.inputs), ("output", asked.asked)):
        for number, tensor in enumerate(names):
            array = arrays.get(f"{kind}s/{tensor}")
            if array is not None:
                file = f"{test}/test_data_set_0/{kind}_{number}.pb"
                _write(folder / file, tensor, array)
                places[f"{kind}s/{tensor}"] = Place(
                    dtype=dtype_name(array.dtype), shape=list(array.shape), file=file
                )
    beside = ["model.onnx"]
    if pair:
        beside += _write_pair(folder / test, pair)
    return Written(places, [f"{test}/{one}" for one in beside])


def _write(path: Path, name: str, array: Array) -> None:
    made: TensorProto = helper.make_tensor(
        name, TYPES[dtype_name(array.dtype)], array.shape, array.tobytes(), raw=True
    )
    path.write_bytes(made.SerializeToString())


def _pair(case: Case) -> Pair:
    """The pair that admits what the required class does. Raises NotSayable where none does."""
    required = REQUIRED[case.dtype]
    if required not in case.answer.tolerances:
        raise NotSayable(f"the file has no tolerances of the class {required}, which is required")
    try:
        return smallest_pair(case.answer, required)
    except ValueError:
        raise NotSayable("a tolerance is infinite, which no rtol and atol admit") from None


def _write_pair(test: Path, pair: Pair) -> list[str]:
    """Write the pair in both forms; returns what the files are called."""
    (test / "data.json").write_text(json.dumps(pair._asdict()) + "\n", encoding="utf-8")
    (test / "config.txt").write_text(
        f"per_sample_tolerance: {pair.atol!r}\nrelative_per_sample_tolerance: {pair.rtol!r}\n",
        encoding="utf-8",
    )
    return ["data.json", "config.txt"]
