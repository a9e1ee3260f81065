"""Foreign cases from the web platform's tests of WebNN: gru and gruCell, as questions of ONNX GRU.

https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gru. Read are JSON files that hold a test, a list of them, or
`{"tests": [ … ]}`. In the web platform's repository tests stand in JavaScript; vectors/README.md says how to
get them as JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...cases.apart import Tree
from ...cases.dtypes import Array, Arrays
from ...cases.errors import GrucibleError
from ...cases.files import files_below
from ...cases.operators.onnx import GRU
from ...cases.pose import QuestionError, pose
from ...cases.question import MOST_CASE_BYTES
from ...cases.strict_json import strict_json
from ...vectors.exchange.manifest import MANIFEST
from ...vectors.exchange.webnn import ACTIVATIONS, DIRECTIONS
from .importing import ForeignCase, NotAsked, Tests, case_id, collect

_ONNX_DIRECTIONS = {theirs: ours for ours, theirs in DIRECTIONS.items()}
_ONNX_ACTIVATIONS = {theirs: ours for ours, theirs in ACTIVATIONS.items()}
_GATED = {"W": "weight", "R": "recurrentWeight", "Wb": "bias", "Rb": "recurrentBias"}
"""What WebNN calls the tensors that hold the gates one after the other."""
_NOT_OF = {
    "gru": {"hiddenState"},
    "gruCell": {"steps", "initialHiddenState", "returnSequence", "direction"},
}
"""What the other of the two takes alone."""
_LAYOUTS = {"zrn": (0, 1, 2), "rzn": (1, 0, 2)}
"""Where z, r and n stand among the gates, by WebNN's layout."""


class _Lenient(BaseModel):
    """Other fields are allowed: they say to browsers how to run a test."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Descriptor(_Lenient):
    """The shape and type of a tensor."""

    shape: Annotated[list[Annotated[int, Field(ge=1, lt=2**24)]], Field(max_length=8)]
    dataType: str


class WebnnTensor(_Lenient):
    """A tensor; one number fills it."""

    data: list[float] | float
    descriptor: Descriptor


class Call(_Lenient):
    """An operator of a graph."""

    name: str
    arguments: list[dict[str, Any]]
    outputs: list[str] | str


class Graph(_Lenient):
    """Operators, what goes in and what is expected to come out."""

    inputs: dict[str, WebnnTensor]
    operators: list[Call]
    expectedOutputs: dict[str, WebnnTensor]


class Test(_Lenient):
    """A test."""

    name: str
    graph: Graph


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Options(_Closed):
    """MLGruOptions and MLGruCellOptions, with their defaults."""

    label: str = ""
    bias: str | None = None
    recurrentBias: str | None = None
    initialHiddenState: str | None = None
    resetAfter: bool = True
    returnSequence: bool = False
    direction: Literal["forward", "backward", "both"] = "forward"
    layout: Literal["zrn", "rzn"] = "zrn"
    activations: Annotated[list[str], Field(min_length=2, max_length=2)] = Field(
        default=["sigmoid", "tanh"]
    )


class Arguments(_Closed):
    """What gru and gruCell take."""

    input: str
    weight: str
    recurrentWeight: str
    hiddenState: str | None = None
    steps: Any = None
    hiddenSize: Any
    options: Options = Options()


def read_webnn_tests(place: str) -> Tree:
    """Parse the tests in a JSON file, or in those of a folder. Raises GrucibleError where there is none."""
    root = Path(place)
    files = sorted(files_below(root, ".json")) if root.is_dir() else [root]
    files = [file for file in files if file.name != MANIFEST]
    if not files:
        raise GrucibleError(f"{root}: holds no JSON file; expected WebNN's tests")
    return collect(f"WebNN's tests in {root.resolve().name}", _tests(files, root.resolve().stem))


def _tests(files: list[Path], theme: str) -> Tests:
    for file in files:
        if not file.is_file():
            raise GrucibleError(f"{file}: is no regular file")
        try:
            found = strict_json(file.read_bytes())
        except (ValueError, RecursionError) as error:
            yield partial(_refuse, f"{file.name}: is not JSON ({str(error)[:200]})")
            continue
        if isinstance(found, dict):
            found = found.get("tests", [found])
        for one in found if isinstance(found, list) else [found]:
            yield partial(_read, one, file.name, theme)


def _refuse(why: str) -> ForeignCase:
    raise NotAsked(why.partition("\n")[0])


def _read(found: Any, name: str, theme: str) -> ForeignCase:
    """Read the case of a test. Raises NotAsked."""
    try:
        test = Test.model_validate(found)
    except ValidationError as error:
        raise NotAsked(f"{name}: is no test of WebNN ({_first(error)})") from None
    if len(test.graph.operators) != 1 or test.graph.operators[0].name not in ("gru", "gruCell"):
        raise NotAsked("is not one gru or gruCell")
    [call] = test.graph.operators
    try:
        return _case(test, call, theme)
    except ValidationError as error:
        raise NotAsked(f"arguments: {_first(error)}") from None
    except QuestionError as error:
        raise NotAsked(str(error)) from None
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        why = str(error).partition("\n")[0][:200]
        raise NotAsked(f"holds what no GRU takes: {why}") from None


def _first(error: ValidationError) -> str:
    """Return the first thing that is wrong, with its place."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))[:80] or "it"
    return f"{place}: {first['msg'].partition(' or instance of ')[0]}"


def _case(test: Test, call: Call, theme: str) -> ForeignCase:
    """Return the case of a call."""
    taken, cell = _arguments(call), call.name == "gruCell"
    arrays = _arrays(test.graph.inputs, _names(call, taken))
    inputs = _inputs(arrays, taken.options.layout, cell=cell)
    outputs = _outputs(call, taken)
    question = pose(GRU, _given(taken), inputs, outputs=list(outputs))
    length = question.inputs["X"].shape[0]
    if not cell and (taken.steps is True or taken.steps != length):
        raise NotAsked(f"steps is {str(taken.steps)[:80]!r}; its input has {length}")
    expected = test.graph.expectedOutputs
    if others := expected.keys() - set(outputs.values()):
        raise NotAsked(f"expects {min(others)[:80]!r}, which is no output of its {call.name}")
    found = _arrays(expected, {ours: name for ours, name in outputs.items() if name in expected})
    new = case_id(GRU, theme, question.dtype, test.name)
    return ForeignCase(replace(question, id=new), _of_one(found) if cell else found)


def _names(call: Call, taken: Arguments) -> dict[str, str]:
    """Return what a call names the tensors that it takes, by their names in ONNX, its biases by W and R."""
    options = taken.options
    names = {
        "X": taken.input,
        "W": taken.weight,
        "R": taken.recurrentWeight,
        "Wb": options.bias,
        "Rb": options.recurrentBias,
        "initial_h": taken.hiddenState if call.name == "gruCell" else options.initialHiddenState,
    }
    return {ours: name for ours, name in names.items() if name is not None}


def _arguments(call: Call) -> Arguments:
    """Return what is given to a call, each once. Raises NotAsked for what it does not take."""
    pairs = [pair for argument in call.arguments for pair in argument.items()]
    given = dict(pairs)
    if len(given) != len(pairs):
        raise NotAsked("gives an argument twice")
    taken = Arguments.model_validate(given)
    if others := (taken.model_fields_set | taken.options.model_fields_set) & _NOT_OF[call.name]:
        raise NotAsked(f"gives {min(others)}, which {call.name} does not take")
    if call.name == "gruCell" and taken.hiddenState is None:
        raise NotAsked("gives no hiddenState, which gruCell needs")
    if call.name == "gru" and "steps" not in taken.model_fields_set:
        raise NotAsked("gives no steps, which gru needs")
    return taken


def _outputs(call: Call, taken: Arguments) -> dict[str, str]:
    """Return what a call names its outputs, by their names in ONNX. Raises NotAsked for other than it has."""
    names = ("Y_h", "Y") if taken.options.returnSequence else ("Y_h",)
    outputs = [call.outputs] if isinstance(call.outputs, str) else call.outputs
    if len(outputs) != len(names):
        raise NotAsked(f"names {len(outputs)} outputs; expected {len(names)}")
    if len(set(outputs)) != len(names):
        raise NotAsked("names an output twice")
    return dict(zip(names, outputs, strict=True))


def _given(taken: Arguments) -> dict[str, Any]:
    """Return the attributes of ONNX GRU, all written out."""
    options = taken.options
    if unknown := set(options.activations) - set(_ONNX_ACTIVATIONS):
        raise NotAsked(f"has the activation {min(unknown)!r}")
    directions = 2 if options.direction == "both" else 1
    return {
        "hidden_size": taken.hiddenSize,
        "direction": _ONNX_DIRECTIONS[options.direction],
        "linear_before_reset": int(options.resetAfter),
        "activations": [_ONNX_ACTIVATIONS[one] for one in options.activations] * directions,
    }


def _inputs(arrays: Arrays, layout: str, *, cell: bool) -> Arrays:
    """Return the inputs of ONNX GRU; a cell is one step in one direction."""
    axis = 0 if cell else 1
    found = {
        name: _gates(name, array, layout, axis) if name in _GATED else array
        for name, array in arrays.items()
    }
    halves = [found.pop(name, None) for name in ("Wb", "Rb")]
    if any(half is not None for half in halves):
        given = next(half for half in halves if half is not None)
        both = [np.zeros_like(given) if half is None else half for half in halves]
        found["B"] = np.concatenate(both, axis=-1)
    return _of_one(found) if cell else found


def _of_one(arrays: Arrays) -> Arrays:
    """Return the tensors of a cell with the axis that they have in a sequence."""
    return {name: array[None] for name, array in arrays.items()}


def _gates(name: str, array: Array, layout: str, axis: int) -> Array:
    """Return the parts z, r, n along `axis`, in this order."""
    if array.ndim <= axis:
        raise ValueError(f"{_GATED[name]} of {array.ndim} axes; expected {axis + 1} or more")
    parts = np.split(array, 3, axis=axis)
    return np.concatenate([parts[at] for at in _LAYOUTS[layout]], axis=axis)


def _arrays(tensors: Mapping[str, WebnnTensor], names: Mapping[str, str]) -> Arrays:
    """Return the tensors of these names; ValueError where their numbers do not fit."""
    return {ours: _array(tensors[name]) for ours, name in names.items()}


def _array(tensor: WebnnTensor) -> Array:
    shape, dtype = tensor.descriptor.shape, tensor.descriptor.dataType
    if dtype not in ("float16", "float32"):
        raise ValueError(f"a tensor of {dtype}")
    if (count := math.prod(shape)) > MOST_CASE_BYTES // 8:
        raise ValueError(f"a tensor of {count} numbers")
    with np.errstate(over="ignore"):
        data = np.asarray(tensor.data, np.float64).astype(dtype)
    return np.full(shape, data) if data.ndim == 0 else data.reshape(shape)
