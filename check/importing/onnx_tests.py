"""Foreign cases from ONNX's backend tests: of a folder, or of the installed onnx package.

A test is a model of one GRU node, data sets of inputs, and the outputs expected of each.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from ...cases.dtypes import Array, Arrays, dtype_name
from ...cases.errors import GrucibleError
from ...cases.files import files_below
from ...cases.operators.onnx import GRU
from ...cases.packages import needing
from ...cases.pose import QuestionError, pose
from ...cases.question import MOST_CASE_BYTES, Question
from ...vectors.exchange.manifest import MOST_RANK
from ...vectors.exchange.protobuf_size import check_size
from .foreign import ForeignCase, NotAsked, case_id
from .importing import Suite

_Asked = tuple[Question, Arrays]
"""The question of a data set, and the outputs that it expects."""
PACKAGE_THEME = "onnx-node-tests"
FIRST_OPSET = 7
"""The first opset in which GRU means what it means in opset 14."""
_ONNX = ("", "ai.onnx")
MOST_ELEMENTS = MOST_CASE_BYTES // 8
"""So many numbers may be in all inputs of a case, and in all outputs: it has at most 32 MiB in float64."""
MOST_BYTES = MOST_CASE_BYTES + (1 << 20)
"""The largest file of a model or tensor that is read: a case's numbers, and what stands around them."""
_FIELDS = ("int32_data", "int64_data", "uint64_data", "float_data", "double_data")


def suite_of_onnx(folder: Path | None) -> Suite:
    """The GRU tests in and below a folder, or of the installed onnx package. Raises GrucibleError where
    there is no model."""
    if folder is not None:
        return _of_folder(folder)
    return _of_package()


_MODEL = "model.onnx"
_SET = "test_data_set_"
"""What the folders of a test's inputs and outputs are called, before their numbers."""


def _of_folder(folder: Path) -> Suite:
    models = sorted(path for path in files_below(folder, _MODEL) if path.name == _MODEL)
    if not models:
        raise GrucibleError(f"{folder}: holds no {_MODEL}; expected ONNX's backend tests")
    cases: list[ForeignCase] = []
    left_out: Counter[str] = Counter()
    model = functools.lru_cache(1)(
        lambda path: onnx.load_model_from_string(_bytes(path, onnx.ModelProto))
    )
    check = functools.lru_cache(1)(lambda path: _check_model(_bytes(path, onnx.ModelProto)))
    for path in models:
        sets = sorted(path.parent.glob(f"{_SET}*"), key=lambda one: (len(one.name), one.name))
        if not sets:
            left_out[f"has no {_SET}0"] += 1
        for data in sets:
            number = data.name.removeprefix(_SET)
            name = path.parent.name + (f"-{number}" if len(sets) > 1 else "")
            read = functools.partial(_read, model, path, data)
            try:
                case = _case(read, folder.resolve().name, name)
                check(path)
                cases.append(case)
            except NotAsked as reason:
                left_out[str(reason)] += 1
            except OSError as error:
                raise GrucibleError(f"{data}: cannot be read ({error.strerror or error})") from None
            except Exception as error:  # protobuf's and onnx's own, of many types
                said = " ".join(str(error).split())[:200] or type(error).__name__
                left_out[f"{data.relative_to(folder)}: holds what cannot be read ({said})"] += 1
    return Suite(f"imported from ONNX's tests in {folder.resolve().name}", cases, left_out)


def _of_package() -> Suite:
    with needing("onnx", "onnx", "import --from onnx"):
        from onnx.backend.test.loader import load_node_model_tests

    cases: list[ForeignCase] = []
    left_out: Counter[str] = Counter()
    with np.errstate(all="ignore"):  # other operators' tests overflow and divide by zero
        tests = load_node_model_tests()
    for test in tests:
        if test.model is None or not any(n.op_type == "GRU" for n in test.model.graph.node):
            continue
        for inputs, outputs in test.data_sets or []:
            try:
                read = functools.partial(_posed, test.model, inputs, outputs)
                made = _case(read, PACKAGE_THEME, test.name)
                _check_model(test.model)
                cases.append(made)
            except NotAsked as reason:
                left_out[str(reason)] += 1
    return Suite(f"the node tests of onnx {onnx.__version__}", cases, left_out)


def _check_model(model: onnx.ModelProto | bytes) -> None:
    """Raise NotAsked for what onnx does not accept as a model."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        said = str(error).strip().partition("\n")[0][:200]
        raise NotAsked(f"is refused by onnx.checker: {said}") from None


def _read(model: Callable[[Path], onnx.ModelProto], path: Path, data: Path) -> _Asked:
    return _posed(model(path), _tensors(data, "input"), _tensors(data, "output"))


def _case(read: Callable[[], _Asked], theme: str, name: str) -> ForeignCase:
    """The case of a data set, which is read again when it is asked for. Raises NotAsked."""
    question, _ = read()
    at = case_id(GRU, theme, question.dtype, name)
    return ForeignCase(at, lambda: replace(read()[0], id=at), lambda: read()[1])


def _posed(model: onnx.ModelProto, inputs: Sequence[Array], outputs: Sequence[Array]) -> _Asked:
    """What a data set asks and expects. Raises NotAsked."""
    node = _gru(model)
    if any(one.data_location == onnx.TensorProto.EXTERNAL for one in model.graph.initializer):
        raise NotAsked("keeps its data in another file")
    known = {one.name for one in model.graph.initializer}
    held = dict(_bounded(one for one in model.graph.initializer if one.name in node.input))
    fed = [port.name for port in model.graph.input if port.name not in known]
    if len(inputs) != len(fed):
        raise NotAsked(f"has {len(inputs)} inputs for {len(fed)} of the model")
    held |= {port: np.asarray(array) for port, array in zip(fed, inputs, strict=True)}
    given: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.name in given:
            raise NotAsked(f"gives the attribute {attribute.name[:80]!r} twice")
        given[attribute.name] = _value(attribute)
    if any(port and port not in held for port in node.input):
        raise NotAsked("has an input that is neither fed nor an initializer")
    tensors = {
        tensor.name: held[port]
        for tensor, port in zip(GRU.inputs, node.input, strict=False)
        if port
    }
    wanted = {
        port: tensor.name for tensor, port in zip(GRU.outputs, node.output, strict=False) if port
    }
    graph_outputs = [port.name for port in model.graph.output]
    if not set(graph_outputs) <= set(wanted):
        raise NotAsked("gives outputs that are not the GRU's")
    if len(set(graph_outputs)) < len(graph_outputs):
        raise NotAsked("lists an output twice")
    if len(outputs) > len(graph_outputs):
        raise NotAsked(f"has {len(outputs)} outputs for {len(graph_outputs)} of the model")
    try:
        question = pose(GRU, given, tensors, outputs=[wanted[port] for port in graph_outputs])
    except QuestionError as error:
        raise NotAsked(str(error)) from None
    for port in model.graph.input:
        if port.name in held:
            _check_declared(port, held[port.name].shape, held[port.name].dtype)
    for port in model.graph.output:
        asked = question.outputs[wanted[port.name]]
        _check_declared(port, asked.shape, asked.dtype)
    expected = {
        wanted[port]: np.asarray(array) for port, array in zip(graph_outputs, outputs, strict=False)
    }
    return question, expected


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
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (list, tuple)) or hasattr(value, "__iter__"):
        return [one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in value]
    return value


def _tensors(folder: Path, kind: str) -> list[Array]:
    """The tensors `<kind>_0.pb`, `<kind>_1.pb` … of a data set. Raises NotAsked for others."""
    found = [array for _, array in _bounded(_numbered(folder, kind))]
    if len(list(folder.glob(f"{kind}_*.pb"))) > len(found):
        raise NotAsked(f"has {kind}s that are not numbered from 0 on")
    return found


def _numbered(folder: Path, kind: str) -> Iterator[onnx.TensorProto]:
    number = 0
    while (path := folder / f"{kind}_{number}.pb").exists():
        proto = onnx.TensorProto()
        proto.ParseFromString(_bytes(path, onnx.TensorProto))
        if proto.data_location == onnx.TensorProto.EXTERNAL:
            raise NotAsked("keeps its data in another file")
        yield proto
        number += 1


def _bounded(protos: Iterable[onnx.TensorProto]) -> Iterator[tuple[str, Array]]:
    """Names and arrays; NotAsked where they are larger than a case, or a tensor holds more than it says."""
    left = MOST_ELEMENTS
    for proto in protos:
        if len(proto.dims) > MOST_RANK:
            raise NotAsked(f"has a tensor of {len(proto.dims)} axes")
        count = math.prod(proto.dims)
        left -= max(count, 0)
        if left < 0:
            raise NotAsked(f"has tensors of more than {MOST_ELEMENTS} numbers")
        stored = max(len(getattr(proto, field)) for field in _FIELDS)
        if proto.string_data or stored > 2 * count or len(proto.raw_data) > 16 * count:
            raise NotAsked(
                f"has a tensor that says {list(proto.dims)[:9]}, and holds something else"
            )
        yield proto.name, numpy_helper.to_array(proto)


def _bytes(path: Path, kind: Any) -> bytes:
    """A file of a message of this kind. Raises NotAsked for one that is too large, by bytes or by fields."""
    if not path.is_file():
        raise NotAsked("has a model or tensor that is no regular file")
    with path.open("rb") as file:
        raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise NotAsked(f"has a file of more than {MOST_BYTES >> 20} MiB")
    check_size(raw, kind.DESCRIPTOR)
    return raw
