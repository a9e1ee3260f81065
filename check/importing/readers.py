"""Readers of others' tests, each in a process of its own: exports, .npz files, ONNX's and WebNN's tests.

A test of ONNX is a model of one GRU node, data sets of inputs, and the outputs expected of each. WebNN's gru
and gruCell, https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gru, become questions of ONNX GRU;
vectors/README.md says how to get its tests as JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...cases.apart import Tree
from ...cases.dtypes import FLOAT_TYPES, Array, Arrays
from ...cases.errors import GrucibleError, needing
from ...cases.files import files_below
from ...cases.operators import operator_named
from ...cases.operators.onnx import GRU
from ...cases.operators.signature import Operator
from ...cases.question import MOST_CASE_BYTES, pose
from ...cases.strict_json import strict_json
from ...vectors.block import attributes_from_json
from ...vectors.exchange.export import open_export
from ...vectors.exchange.manifest import MANIFEST
from ...vectors.exchange.webnn import ACTIVATIONS, DIRECTIONS
from .suite import ForeignCase, NotAsked, Tests, collect

if TYPE_CHECKING:
    from onnx import ModelProto, TensorProto

FIRST_OPSET = 7
"""The first opset in which ONNX's GRU means what it means in opset 14."""
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


def read_export(folder: str) -> Tree:
    """Parse an export of ours, in any format. Raises ExportError."""
    export = open_export(Path(folder))
    about = f"imported from an export to {export.manifest.layout}, {export.root_sha256}"
    tests: Tests = (
        ("", partial(ForeignCase, one.question, one.expected, one.tier == "nonportable"))
        for one in export.cases()
    )
    return collect(about, "", tests)


def _files(place: str, ending: str, expected: str) -> tuple[Path, list[Path]]:
    """Find the files of a folder that end so, or the file at `place`; GrucibleError where there is none."""
    root = Path(place)
    files = sorted(files_below(root, ending)) if root.is_dir() else [root]
    if not files:
        raise GrucibleError(f"{root}: holds no {expected}")
    for file in files:
        if not file.is_file():
            raise GrucibleError(f"{file}: is no regular file; expected {expected}")
    return root.resolve(), files


def read_npz_files(place: str, operator: str | None, attributes: str | None) -> Tree:
    """Parse .npz files, whose arrays are named as an operator's inputs and outputs.

    `NAME.json` beside `NAME.npz` may hold `{"operator": …, "attributes": {…}}`; else both are given for all.
    Raises GrucibleError where neither is there.
    """
    root, files = _files(place, ".npz", ".npz file")
    found: Tests = (
        (f.stem, partial(_npz_case, f, *_asked(f, operator, attributes))) for f in files
    )
    return collect(f"imported from .npz files in {root.name}", root.stem, found)


def _npz_case(file: Path, operator: Operator, given: Mapping[str, Any]) -> ForeignCase:
    arrays = read_npz(str(file))
    known = {tensor.name for tensor in operator.outputs}
    expected = {name: array for name, array in arrays.items() if name in known}
    inputs = {name: array for name, array in arrays.items() if name not in known}
    return ForeignCase(pose(operator, given, inputs, outputs=list(expected) or None), expected)


def read_npz(place: str) -> Tree:
    """Parse the arrays of an .npz file, in the machine's byte order; uint16 as bfloat16."""
    path = Path(place)
    if not path.is_file():
        raise GrucibleError(f"{path}: is no regular file; expected an .npz file")
    found: Arrays = {}
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it holds one array, without a name")
            if len(set(archive.files)) < len(archive.files):
                raise ValueError("it has two arrays of one name")
            for name in archive.files:
                array = archive[name].astype(archive[name].dtype.newbyteorder("="))
                found[name] = array.view(_BFLOAT16) if array.dtype == np.uint16 else array
    except Exception as error:  # of zipfile, zlib and numpy, of many types
        why = str(error).partition("\n")[0][:200] or type(error).__name__
        raise GrucibleError(f"{path}: is no .npz file that can be read ({why})") from None
    return found


def _asked(
    file: Path, operator: str | None, attributes: str | None
) -> tuple[Operator, dict[str, Any]]:
    """Return the operator and attributes of a file: of the JSON beside it, else those given for all."""
    beside, text = file.with_suffix(".json"), attributes or "{}"
    if beside.is_file():
        try:
            read = strict_json(beside.read_bytes())
            if not isinstance(read, dict) or read.keys() != {"operator", "attributes"}:
                raise ValueError("it has other keys")
        except (OSError, ValueError) as error:
            wanted = "expected an object with operator and attributes alone"
            raise GrucibleError(f"{beside}: {error}; {wanted}") from None
        operator, text = str(read["operator"]), json.dumps(read["attributes"])
    if operator is None:
        raise GrucibleError(
            f"{file}: of which operator? Give --operator, or {beside.name} beside it"
        )
    found = operator_named(operator)
    return found, attributes_of(f"{file}: attributes", found, text)


def attributes_of(place: str, operator: Operator, attributes: str) -> dict[str, Any]:
    """Read attributes as people write them, a JSON text; GrucibleError, with the place, for others."""
    try:
        return attributes_from_json(attributes, operator, as_written=True)
    except ValueError as error:
        raise GrucibleError(f"{place}: {error}") from None


def read_onnx_tests(place: str | None) -> Tree:
    """Parse the GRU tests in and below a folder, or of the installed onnx package.

    Raises GrucibleError where there is no model.
    """
    with needing("onnx", "onnx", "import --from onnx"):
        import onnx
    if place is None:
        return collect(
            f"the node tests of onnx {onnx.__version__}", "onnx-node-tests", _of_package()
        )
    root, models = _files(place, "model.onnx", "model.onnx; expected ONNX's backend tests")
    return collect(f"imported from ONNX's tests in {root.name}", root.name, _of_folder(models))


def _of_package() -> Tests:
    from onnx.backend.test.loader import load_node_model_tests

    with np.errstate(all="ignore"):  # other operators' tests overflow and divide by zero
        tests = load_node_model_tests()
    for test in tests:
        if test.model is not None and any(n.op_type == "GRU" for n in test.model.graph.node):
            for inputs, outputs in test.data_sets or []:
                yield test.name, partial(_onnx_case, test.model, inputs, outputs)


def _of_folder(models: Sequence[Path]) -> Tests:
    for path in models:
        sets = sorted(
            path.parent.glob("test_data_set_*"), key=lambda one: (len(one.name), one.name)
        )
        if not sets:
            yield path.parent.name, partial(_leave_out, "has no test_data_set_0")
        for data in sets:
            number = data.name.removeprefix("test_data_set") if len(sets) > 1 else ""
            yield path.parent.name + number, partial(_onnx_files, path, data)


def _leave_out(why: str) -> ForeignCase:
    raise NotAsked(why)


def _onnx_files(path: Path, data: Path) -> ForeignCase:
    return _onnx_case(_model(path), _tensors(data, "input"), _tensors(data, "output"))


@cache
def _model(path: Path) -> ModelProto:
    import onnx

    return onnx.load_model_from_string(path.read_bytes())


def _tensors(folder: Path, kind: str) -> list[Array]:
    """Return the tensors `<kind>_0.pb`, `<kind>_1.pb` … of a data set. Raises NotAsked for others."""
    from onnx import TensorProto

    files = list(folder.glob(f"{kind}_*.pb"))
    numbered = [folder / f"{kind}_{number}.pb" for number in range(len(files))]
    if set(files) != set(numbered) or not all(file.is_file() for file in files):
        raise NotAsked(f"has {kind}s that are not numbered from 0 on")
    return [_numbers(TensorProto.FromString(file.read_bytes())) for file in numbered]


def _numbers(given: TensorProto | Array) -> Array:
    """Return an array of a test. Raises NotAsked for one of texts, and for one in another file."""
    from onnx import TensorProto, numpy_helper

    if isinstance(given, TensorProto):
        if given.data_location == TensorProto.EXTERNAL:
            raise NotAsked("keeps its data in another file")
        given = numpy_helper.to_array(given)
    found = np.asarray(given)
    if found.dtype.kind not in "biufcV":
        raise NotAsked(f"has a tensor of {found.dtype}")
    return found


def _onnx_case(model: ModelProto, inputs: Sequence[Array], outputs: Sequence[Array]) -> ForeignCase:
    """Make the case of a model and a data set. Raises NotAsked."""
    import onnx

    node, graph = _gru(model), model.graph
    arrays = {one.name: _numbers(one) for one in graph.initializer}
    fed = [port for port in graph.input if port.name not in arrays]
    if len(inputs) != len(fed):
        raise NotAsked(f"has {len(inputs)} inputs for {len(fed)} of the model")
    arrays |= {port.name: _numbers(one) for port, one in zip(fed, inputs, strict=True)}
    if any(port and port not in arrays for port in node.input):
        raise NotAsked("has an input that is neither fed nor an initializer")
    given = {one.name: _value(one) for one in node.attribute}
    if len(given) < len(node.attribute):
        raise NotAsked("gives an attribute twice")
    named = zip(GRU.inputs, node.input, strict=False)
    tensors = {tensor.name: arrays[port] for tensor, port in named if port}
    wanted = {
        port: tensor.name for tensor, port in zip(GRU.outputs, node.output, strict=False) if port
    }
    asked = [port.name for port in graph.output]
    if not set(asked) <= set(wanted) or len(set(asked)) < len(asked):
        raise NotAsked("gives outputs that are not the GRU's, or lists one twice")
    if len(outputs) > len(asked):
        raise NotAsked(f"has {len(outputs)} outputs for {len(asked)} of the model")
    question = pose(GRU, given, tensors, outputs=[wanted[port] for port in asked])
    for port in fed:
        _check_declared(port, arrays[port.name].shape, arrays[port.name].dtype)
    for port in graph.output:
        output = question.outputs[wanted[port.name]]
        _check_declared(port, output.shape, output.dtype)
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        why = str(error).strip().partition("\n")[0][:200]
        raise NotAsked(f"is refused by onnx.checker: {why}") from None
    expected = zip(asked, outputs, strict=False)
    return ForeignCase(question, {wanted[port]: _numbers(array) for port, array in expected})


def _gru(model: ModelProto) -> Any:
    """Return the one node of a model. Raises NotAsked."""
    import onnx

    nodes, ours = list(model.graph.node), ("", "ai.onnx")
    if model.functions:
        raise NotAsked("defines functions of its own")
    if [node.op_type for node in nodes] != ["GRU"]:
        raise NotAsked("is not one GRU")
    opset = max((one.version for one in model.opset_import if one.domain in ours), default=0)
    last = onnx.defs.onnx_opset_version()
    if nodes[0].domain not in ours or not FIRST_OPSET <= opset <= last:
        raise NotAsked(
            f"is no GRU of ONNX's opset {FIRST_OPSET} to {last}; onnx knows no later one"
        )
    return nodes[0]


def _value(attribute: Any) -> Any:
    """Return the value of an attribute, with texts in place of bytes."""
    from onnx.helper import get_attribute_value

    value = get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if hasattr(value, "__iter__"):
        return [one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in value]
    return value


def _check_declared(port: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Raise NotAsked where the model declares an input or output of another dtype or shape than it has."""
    from onnx.helper import tensor_dtype_to_np_dtype

    declared = port.type.tensor_type
    lengths = [one.dim_value if one.HasField("dim_value") else None for one in declared.shape.dim]
    fits = [length in (None, real) for length, real in zip(lengths, shape, strict=False)]
    if (
        port.type.WhichOneof("value") not in ("tensor_type", None)
        or (declared.elem_type and tensor_dtype_to_np_dtype(declared.elem_type) != dtype)
        or (declared.HasField("shape") and not (len(lengths) == len(shape) and all(fits)))
    ):
        raise NotAsked(f"declares {port.name[:80]!r} as something else than it is")


class _Lenient(BaseModel):
    """Other fields are allowed: they say to browsers how to run a test."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class _Descriptor(_Lenient):
    shape: Annotated[list[Annotated[int, Field(ge=1, lt=2**24)]], Field(max_length=8)]
    dataType: Literal["float16", "float32"]


class _WebnnTensor(_Lenient):
    """A tensor; one number fills it."""

    data: list[float] | float
    descriptor: _Descriptor


class _Call(_Lenient):
    name: Literal["gru", "gruCell"]
    arguments: list[dict[str, Any]]
    outputs: list[str] | str


class _Graph(_Lenient):
    inputs: dict[str, _WebnnTensor]
    operators: Annotated[list[_Call], Field(min_length=1, max_length=1)]
    expectedOutputs: dict[str, _WebnnTensor]


class _Test(_Lenient):
    name: str
    graph: _Graph


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _CellOptions(_Closed):
    label: str = ""
    bias: str | None = None
    recurrentBias: str | None = None
    resetAfter: bool = True
    layout: Literal["zrn", "rzn"] = "zrn"
    activations: Annotated[
        list[Literal["relu", "sigmoid", "tanh"]], Field(min_length=2, max_length=2)
    ] = Field(default=["sigmoid", "tanh"])


class _GruOptions(_CellOptions):
    initialHiddenState: str | None = None
    returnSequence: bool = False
    direction: Literal["forward", "backward", "both"] = "forward"


class _Weights(_Closed):
    input: str
    weight: str
    recurrentWeight: str
    hiddenSize: Any


class _Cell(_Weights):
    hiddenState: str
    options: _CellOptions = _CellOptions()


class _Gru(_Weights):
    steps: int
    options: _GruOptions = _GruOptions()


def read_webnn_tests(place: str) -> Tree:
    """Parse the tests in a JSON file, or in those of a folder. Raises GrucibleError where there is none."""
    root, files = _files(place, ".json", "JSON file; expected WebNN's tests")
    return collect(f"WebNN's tests in {root.name}", root.stem, _webnn_tests(files))


def _webnn_tests(files: Sequence[Path]) -> Tests:
    for file in files:
        if file.name == MANIFEST:
            continue
        try:
            found = strict_json(file.read_bytes())
        except ValueError as error:
            yield file.name, partial(_leave_out, f"{file.name}: is not JSON ({str(error)[:200]})")
            continue
        if isinstance(found, dict):
            found = found.get("tests", [found])
        for one in found if isinstance(found, list) else [found]:
            name = one.get("name") if isinstance(one, dict) else None
            yield str(name or file.name), partial(_webnn_case, one)


def _webnn_case(found: Any) -> ForeignCase:
    """Make the case of a test. Raises NotAsked."""
    try:
        graph = _Test.model_validate(found).graph
        [call] = graph.operators
        cell, pairs = call.name == "gruCell", [p for one in call.arguments for p in one.items()]
        if len(dict(pairs)) != len(pairs):
            raise NotAsked("gives an argument twice")
        given = (_Cell if cell else _Gru).model_validate(dict(pairs)).model_dump()
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:80] or "it"
        raise NotAsked(
            f"is no test of one gru or gruCell of WebNN ({place}: {first['msg']})"
        ) from None
    given |= given.pop("options")
    names = ("Y_h", "Y") if given.get("returnSequence") else ("Y_h",)
    outputs = [call.outputs] if isinstance(call.outputs, str) else call.outputs
    if len(outputs) != len(names) or len(set(outputs)) != len(names):
        raise NotAsked(f"names the outputs {outputs}"[:200] + f"; expected {len(names)} names")
    if others := graph.expectedOutputs.keys() - set(outputs):
        raise NotAsked(f"expects {min(others)[:80]!r}, which is no output of its {call.name}")
    question = pose(GRU, _attributes(given), _inputs(graph, given, cell=cell), outputs=names)
    length = question.inputs["X"].shape[0]
    if not cell and given["steps"] != length:
        raise NotAsked(f"steps is {str(given['steps'])[:80]}; its input has {length}")
    expected = {
        ours: _array(graph.expectedOutputs[name])
        for ours, name in zip(names, outputs, strict=True)
        if name in graph.expectedOutputs
    }
    return ForeignCase(question, _of_one(expected) if cell else expected)


def _attributes(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of ONNX GRU, all written out."""
    directions = {theirs: ours for ours, theirs in DIRECTIONS.items()}
    activations = {theirs: ours for ours, theirs in ACTIVATIONS.items()}
    direction = given.get("direction", "forward")
    used = [activations[one] for one in given["activations"]]
    return {
        "hidden_size": given["hiddenSize"],
        "direction": directions[direction],
        "linear_before_reset": int(given["resetAfter"]),
        "activations": used * 2 if direction == "both" else used,
    }


def _inputs(graph: _Graph, given: Mapping[str, Any], *, cell: bool) -> Arrays:
    """Return the inputs of ONNX GRU; a cell is one step in one direction."""

    def gates(name: str) -> Array:
        """Return the parts z, r, n, in this order."""
        parts = np.split(_array(graph.inputs[name]), 3, axis=0 if cell else 1)
        return np.concatenate(parts if given["layout"] == "zrn" else [parts[i] for i in (1, 0, 2)],
                              axis=0 if cell else 1)  # fmt: skip

    found = {"X": _array(graph.inputs[given["input"]])}
    found |= {"W": gates(given["weight"]), "R": gates(given["recurrentWeight"])}
    biases = [gates(one) if one else None for one in (given["bias"], given["recurrentBias"])]
    if there := [one for one in biases if one is not None]:
        both = [np.zeros_like(there[0]) if one is None else one for one in biases]
        found["B"] = np.concatenate(both, axis=-1)
    if state := given.get("hiddenState") or given.get("initialHiddenState"):
        found["initial_h"] = _array(graph.inputs[state])
    return _of_one(found) if cell else found


def _of_one(arrays: Arrays) -> Arrays:
    """Return the tensors of a cell with the axis that they have in a sequence."""
    return {name: array[None] for name, array in arrays.items()}


def _array(tensor: _WebnnTensor) -> Array:
    shape = tensor.descriptor.shape
    if (count := math.prod(shape)) > MOST_CASE_BYTES // 8:
        raise NotAsked(f"has a tensor of {count} numbers")
    with np.errstate(over="ignore"):
        data = np.asarray(tensor.data, np.float64).astype(tensor.descriptor.dataType)
    return np.full(shape, data) if data.ndim == 0 else data.reshape(shape)
