"""A case of ONNX GRU as a model of one node; and the layout `onnx`.

The layout has a folder for each case, as the backend tests of ONNX have it:

    cases/test_00017_float32_reverse/model.onnx
                                    /data.json      rtol and atol, for onnx.backend.test
                                    /config.txt     the same, for onnx_test_runner of ONNX Runtime
                                    /test_data_set_0/input_0.pb … output_0.pb …

In this layout, weights are inputs of the model. A test has one right answer, so ambiguous and nonportable
cases cannot be written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from ...cases.dtypes import Array, dtype_name
from ...cases.operators.onnx import GRU
from ...cases.operators.onnx import OPERATORS as OPERATORS
from ..case import REQUIRED, Case
from .manifest import CASES, NotSayable, Place, place_of, write_npz
from .node import (
    IR_VERSION,
    TYPE_NAMES,
    NodeType,
    node_type,
    opset_for,
    ports_of,
)
from .rtol_atol import Pair, smallest_pair

if TYPE_CHECKING:
    from onnx import ModelProto


_ATTRIBUTE_TYPES = {"float": AttributeProto.FLOAT, "floats": AttributeProto.FLOATS}
"""The types of attributes whose values alone do not show the type."""


def model(
    asked: NodeType, opset: int, constants: Mapping[str, npt.NDArray[Any]] | None = None
) -> ModelProto:
    """Make the model of one GRU node; inputs in `constants` become initializers.

    Only attributes that the case sets are written, with the types that the operator gives them.
    """
    constants = constants or {}
    node = helper.make_node("GRU", *ports_of(asked))
    for name, value in json.loads(asked.attributes).items():
        attribute = GRU.attribute(name)
        assert attribute
        kind = _ATTRIBUTE_TYPES.get(attribute.kind)
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    types = {name: (_type(dtype), shape) for name, dtype, shape in asked.ports}
    types |= {name: (types["X"][0], shape) for name, shape in asked.outputs}
    values = {name: helper.make_tensor_value_info(name, *of) for name, of in types.items()}
    graph = helper.make_graph(
        [node],
        "gru",
        [values[name] for name in asked.inputs if name not in constants],
        [values[name] for name in asked.asked],
        [_tensor(name, array) for name, array in constants.items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION
    )


def _type(dtype: np.dtype[Any]) -> int:
    number: int = TensorProto.DataType.Value(TYPE_NAMES[dtype_name(dtype)])
    return number


def _tensor(name: str, array: npt.NDArray[Any]) -> TensorProto:
    return helper.make_tensor(name, _type(array.dtype), array.shape, array.tobytes(), raw=True)


def read_tensor(data: bytes) -> Array:
    """Read a serialized TensorProto; ValueError if its numbers are in another file."""
    proto = TensorProto.FromString(data)
    if proto.data_location == TensorProto.EXTERNAL:
        raise ValueError("keeps its data in another file")
    array: Array = numpy_helper.to_array(proto)
    return array


def write_case(
    folder: Path, name: str, case: Case, arrays: Mapping[str, Array]
) -> dict[str, Place]:
    """Write a folder for the case: a model, its tensors as TensorProto, and the tolerances as npz."""
    if case.tier != "required":
        raise NotSayable(f"a test has one right answer, and these cases are {case.tier}")
    tolerances = {path: a for path, a in arrays.items() if path.startswith("tolerance/")}
    pair: Pair | None = None
    if tolerances:
        required = REQUIRED[case.dtype]
        if required not in case.answer.tolerances:
            raise NotSayable(f"the file has no tolerances of the required class {required}")
        try:
            pair = smallest_pair(case.answer, required)
        except ValueError:
            raise NotSayable("a tolerance is infinite, which no rtol and atol admit") from None
    test = f"{CASES}/test_{name}"
    (folder / test / "test_data_set_0").mkdir(parents=True)
    asked = node_type(case.question)
    made = model(asked, opset_for(case.dtype))
    (folder / test / "model.onnx").write_bytes(made.SerializeToString())
    places = write_npz(folder, f"{test}/tolerance.npz", tolerances) if tolerances else {}
    for kind, names in (("input", asked.inputs), ("output", asked.asked)):
        for number, tensor in enumerate(names):
            array = arrays.get(f"{kind}s/{tensor}")
            if array is not None:
                file = f"{test}/test_data_set_0/{kind}_{number}.pb"
                (folder / file).write_bytes(_tensor(tensor, array).SerializeToString())
                places[f"{kind}s/{tensor}"] = place_of(array, file)
    if pair:
        (folder / test / "data.json").write_text(json.dumps(pair._asdict()) + "\n")
        (folder / test / "config.txt").write_text(
            f"per_sample_tolerance: {pair.atol!r}\nrelative_per_sample_tolerance: {pair.rtol!r}\n"
        )
    return places
