"""Foreign cases from ONNX's backend tests: of a folder, or of the installed onnx package.

A test is a model of one GRU node, data sets of inputs, and the outputs expected of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ...cases.apart import Tree
from ...cases.dtypes import Array, dtype_name
from ...cases.errors import GrucibleError, needing
from ...cases.files import files_below
from ...cases.operators.onnx import GRU
from ...cases.pose import QuestionError, pose
from .importing import ForeignCase, NotAsked, Tests, case_id, collect

with needing("onnx", "onnx", "import --from onnx"):
    import onnx
    from onnx import numpy_helper

PACKAGE_THEME = "onnx-node-tests"
FIRST_OPSET = 7
"""The first opset in which GRU means what it means in opset 14."""
_ONNX = ("", "ai.onnx")
_MODEL = "model.onnx"
_SET = "test_data_set_"
"""What the folders of a test's inputs and outputs are called, before their numbers."""


def read_onnx_tests(folder: str | None) -> Tree:
    """Parse the GRU tests in and below a folder, or of the installed onnx package.

    Raises GrucibleError where there is no model.
    """
    if folder is None:
        return collect(f"the node tests of onnx {onnx.__version__}", _of_package())
    root = Path(folder)
    models = sorted(path for path in files_below(root, _MODEL) if path.name == _MODEL)
    if not models:
        raise GrucibleError(f"{folder}: holds no {_MODEL}; expected ONNX's backend tests")
    return collect(f"imported from ONNX's tests in {root.resolve().name}", _of_folder(root, models))


def _of_folder(root: Path, models: Sequence[Path]) -> Tests:
    for path in models:
        sets = sorted(path.parent.glob(f"{_SET}*"), key=lambda one: (len(one.name), one.name))
        yield from (
            partial(_read, root, path, data, alone=len(sets) == 1) for data in sets or [path]
        )


def _of_package() -> Tests:
    with needing("onnx", "onnx", "import --from onnx"):
        from onnx.backend.test.loader import load_node_model_tests

    with np.errstate(all="ignore"):  # other operators' tests overflow and divide by zero
        tests = load_node_model_tests()
    for test in tests:
        if test.model is None or not any(n.op_type == "GRU" for n in test.model.graph.node):
            continue
        for inputs, outputs in test.data_sets or []:
            yield partial(_case, test.model, inputs, outputs, PACKAGE_THEME, test.name)


def _read(root: Path, path: Path, data: Path, *, alone: bool) -> ForeignCase:
    """Read the case of a model and a data set. Raises NotAsked."""
    if data == path:
        raise NotAsked(f"has no {_SET}0")
    name = path.parent.name + ("" if alone else f"-{data.name.removeprefix(_SET)}")
    try:
        tensors = _tensors(data, "input"), _tensors(data, "output")
        return _case(_model(path), *tensors, root.resolve().name, name)
    except NotAsked:
        raise
    except OSError as error:
        raise GrucibleError(f"{data}: cannot be read ({error.strerror or error})") from None
    except Exception as error:  # protobuf's and onnx's own, of many types
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise NotAsked(f"{data.relative_to(root)}: holds what cannot be read ({why})") from None


@cache
def _model(path: Path) -> onnx.ModelProto:
    return onnx.load_model_from_string(path.read_bytes())


def _check_model(model: onnx.ModelProto) -> None:
    """Raise NotAsked for what onnx does not accept as a model."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        why = str(error).strip().partition("\n")[0][:200]
        raise NotAsked(f"is refused by onnx.checker: {why}") from None


def _case(
    model: onnx.ModelProto,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    theme: str,
    name: str,
) -> ForeignCase:
    """Make the case of a model and a data set. Raises NotAsked."""
    node = _gru(model)
    arrays = _fed(model, node, inputs)
    given: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.name in given:
            raise NotAsked(f"gives the attribute {attribute.name[:80]!r} twice")
        given[attribute.name] = _value(attribute)
    tensors = {
        tensor.name: arrays[port]
        for tensor, port in zip(GRU.inputs, node.input, strict=False)
        if port
    }
    wanted = {
        port: tensor.name for tensor, port in zip(GRU.outputs, node.output, strict=False) if port
    }
    asked = [port.name for port in model.graph.output]
    if not set(asked) <= set(wanted):
        raise NotAsked("gives outputs that are not the GRU's")
    if len(set(asked)) < len(asked):
        raise NotAsked("lists an output twice")
    if len(outputs) > len(asked):
        raise NotAsked(f"has {len(outputs)} outputs for {len(asked)} of the model")
    try:
        question = pose(GRU, given, tensors, outputs=[wanted[port] for port in asked])
    except QuestionError as error:
        raise NotAsked(str(error)) from None
    for port in model.graph.input:
        if port.name in arrays:
            _check_declared(port, arrays[port.name].shape, arrays[port.name].dtype)
    for port in model.graph.output:
        output = question.outputs[wanted[port.name]]
        _check_declared(port, output.shape, output.dtype)
    _check_model(model)
    question = replace(question, id=case_id(GRU, theme, question.dtype, name))
    return ForeignCase(
        question,
        {wanted[port]: _numbers(array) for port, array in zip(asked, outputs, strict=False)},
    )


def _fed(model: onnx.ModelProto, node: Any, inputs: Sequence[Array]) -> dict[str, Array]:
    """Return the arrays of a model's inputs and initializers, by name. Raises NotAsked."""
    for one in model.graph.initializer:
        _check_inside(one)
    known = {one.name for one in model.graph.initializer}
    arrays = {
        one.name: numpy_helper.to_array(one)
        for one in model.graph.initializer
        if one.name in node.input
    }
    fed = [port.name for port in model.graph.input if port.name not in known]
    if len(inputs) != len(fed):
        raise NotAsked(f"has {len(inputs)} inputs for {len(fed)} of the model")
    arrays |= {port: _numbers(array) for port, array in zip(fed, inputs, strict=True)}
    if any(port and port not in arrays for port in node.input):
        raise NotAsked("has an input that is neither fed nor an initializer")
    return arrays


def _numbers(array: Any) -> Array:
    """Return an array of a test. Raises NotAsked for one of texts, or for none."""
    found = np.asarray(array)
    if found.dtype.kind not in "biufcV":
        raise NotAsked(f"has a tensor of {found.dtype}")
    return found


def _check_declared(port: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Raise NotAsked where the model declares an input or output of another dtype or shape than it has."""
    if port.type.WhichOneof("value") not in ("tensor_type", None):
        raise NotAsked(f"declares {port.name[:80]!r} as no tensor")
    declared = port.type.tensor_type
    if declared.elem_type:
        kind = onnx.helper.tensor_dtype_to_np_dtype(declared.elem_type)
        if kind != dtype:
            raise NotAsked(f"declares a tensor as {dtype_name(kind)} that is {dtype_name(dtype)}")
    if not declared.HasField("shape"):
        return
    lengths = [one.dim_value if one.HasField("dim_value") else None for one in declared.shape.dim]
    if len(lengths) != len(shape) or any(
        length not in (None, real) for length, real in zip(lengths, shape, strict=True)
    ):
        raise NotAsked("declares a tensor of another shape than it has")


def _gru(model: onnx.ModelProto) -> Any:
    """Return the one node of a model. Raises NotAsked."""
    if model.functions:
        raise NotAsked("defines functions of its own")
    nodes = list(model.graph.node)
    if not any(node.op_type == "GRU" for node in nodes):
        raise NotAsked("is no GRU")
    if len(nodes) > 1:
        raise NotAsked("has other nodes beside the GRU")
    opset = max((one.version for one in model.opset_import if one.domain in _ONNX), default=0)
    if nodes[0].domain not in _ONNX or opset < FIRST_OPSET:
        raise NotAsked(f"is no GRU of ONNX's opset {FIRST_OPSET} or later")
    if opset > (last := onnx.defs.onnx_opset_version()):
        raise NotAsked(f"is of opset {opset}; onnx {onnx.__version__} knows them up to {last}")
    return nodes[0]


def _value(attribute: Any) -> Any:
    """Return the value of an attribute, with texts in place of bytes."""
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "__iter__"):
        return [one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in value]
    return value


def _tensors(folder: Path, kind: str) -> list[Array]:
    """Return the tensors `<kind>_0.pb`, `<kind>_1.pb` … of a data set. Raises NotAsked for others."""
    found = list(_numbered(folder, kind))
    if len(list(folder.glob(f"{kind}_*.pb"))) > len(found):
        raise NotAsked(f"has {kind}s that are not numbered from 0 on")
    return found


def _numbered(folder: Path, kind: str) -> Iterator[Array]:
    number = 0
    while (path := folder / f"{kind}_{number}.pb").is_file():
        proto = onnx.TensorProto()
        proto.ParseFromString(path.read_bytes())
        _check_inside(proto)
        yield numpy_helper.to_array(proto)
        number += 1


def _check_inside(proto: onnx.TensorProto) -> None:
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        raise NotAsked("keeps its data in another file")
