"""Foreign cases from the web platform's tests of WebNN: gru and gruCell, as questions of ONNX GRU.

https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gru. Read are JSON files that hold a test, a list of them, or
`{"tests": [ … ]}`. In the web platform's repository tests stand in JavaScript; vectors/exchange/README.md
says how to get them as JSON.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from ...cases.dtypes import Array, Arrays
from ...cases.errors import GrucibleError
from ...cases.file_model import check_parts
from ...cases.files import files_below
from ...cases.operators.onnx import GRU
from ...cases.pose import QuestionError, pose
from ...cases.question import Question
from ...cases.strict_json import strict_json
from ...vectors.exchange.bounded import bounded_bytes
from ...vectors.exchange.manifest import MANIFEST
from ...vectors.exchange.webnn import ACTIVATIONS, DIRECTIONS
from .foreign import ForeignCase, NotAsked, case_id
from .importing import Suite
from .webnn_models import Arguments, Call, Tensor, Test

MOST_BYTES = 40 << 20
"""The largest file that is read."""
MOST_ELEMENTS = 4 << 20
"""So many numbers may be in all inputs of a case: it has at most 32 MiB in float64."""
_MOST_COMMAS = 5_000_000
"""So many may be in a file: most of its parts are numbers, which take less memory than others."""
_MOST_COLONS = 500_000
"""So many may be in a file: a test has some fifty."""
MOST_TESTS = 10_000
"""So many may be in a file."""
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


def suite_of_webnn(place: Path) -> Suite:
    """The tests in a JSON file, or in those of a folder. Raises GrucibleError where there is none."""
    files = sorted(files_below(place, ".json")) if place.is_dir() else [place]
    files = [file for file in files if file.name != MANIFEST]
    if not files:
        raise GrucibleError(f"{place}: holds no JSON file; expected WebNN's tests")
    cases: list[ForeignCase] = []
    left_out: Counter[str] = Counter()
    for file in files:
        cases += _cases(file, place.resolve().stem, left_out)
    return Suite(f"WebNN's tests in {place.resolve().name}", cases, left_out)


def _cases(file: Path, theme: str, left_out: Counter[str]) -> list[ForeignCase]:
    """The cases of a file, of which nothing else is kept; why others are none goes to `left_out`."""
    cases: list[ForeignCase] = []
    try:
        tests = _tests(file)
    except NotAsked as reason:
        left_out[str(reason)] += 1
        return cases
    for told in tests:
        try:
            cases.append(_case(_test(told, file), theme))
        except NotAsked as reason:
            left_out[str(reason)] += 1
    return cases


def _tests(file: Path) -> Sequence[Any]:
    """What a file has for tests. Raises NotAsked where it is no JSON, GrucibleError for very many."""
    raw = bounded_bytes(file, MOST_BYTES)
    check_parts(file, raw, _MOST_COMMAS + _MOST_COLONS)
    try:
        found = strict_json(raw)
    except (ValueError, RecursionError) as error:
        said = str(error).partition("\n")[0][:200]
        raise NotAsked(f"{file.name}: is not JSON ({said})") from None
    if isinstance(found, dict):
        found = found.get("tests", [found])
    tests = found if isinstance(found, list) else [found]
    if len(tests) > MOST_TESTS:
        raise GrucibleError(f"{file}: has {len(tests):,} tests; expected at most {MOST_TESTS:,}")
    return tests


def _test(told: Any, file: Path) -> Test:
    """A test of a file. Raises NotAsked where it is none."""
    try:
        return Test.model_validate(told)
    except ValidationError as error:
        raise NotAsked(f"{file.name}: is no test of WebNN ({_first(error)})") from None


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, with its place."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))[:80] or "it"
    return f"{place}: {first['msg'].partition(' or instance of ')[0]}"


def _case(test: Test, theme: str) -> ForeignCase:
    """The case of a test. Raises NotAsked."""
    if len(test.graph.operators) != 1 or test.graph.operators[0].name not in ("gru", "gruCell"):
        raise NotAsked("is not one gru or gruCell")
    [call] = test.graph.operators
    try:
        return _asked(test, call, theme)
    except ValidationError as error:
        raise NotAsked(f"arguments: {_first(error)}") from None
    except QuestionError as error:
        raise NotAsked(str(error)) from None
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        said = (str(error).partition("\n")[0])[:200]
        raise NotAsked(f"holds what no GRU takes: {said}") from None


def _asked(test: Test, call: Call, theme: str) -> ForeignCase:
    """The case of a call; its arrays are made again when they are asked for, and not kept, nor is a tensor
    that it does not take."""
    question = _question(test, call)
    _expected(test, call)
    at = case_id(GRU, theme, question.dtype, test.name)
    taken = _names(call, _arguments(call)).values()
    inputs = {name: test.graph.inputs[name] for name in taken}
    kept = test.model_copy(update={"graph": test.graph.model_copy(update={"inputs": inputs})})
    return ForeignCase(
        at, lambda: replace(_question(kept, call), id=at), lambda: _expected(kept, call)
    )


def _question(test: Test, call: Call) -> Question:
    told, cell = _arguments(call), call.name == "gruCell"
    arrays = _arrays(test.graph.inputs, _names(call, told))
    inputs = _inputs(arrays, told.options.layout, cell=cell)
    question = pose(GRU, _given(told), inputs, outputs=list(_outputs(call, told)))
    length = question.inputs["X"].shape[0]
    if not cell and (told.steps is True or told.steps != length):
        raise NotAsked(f"steps is {str(told.steps)[:80]!r}; its input has {length}")
    return question


def _names(call: Call, told: Arguments) -> dict[str, str]:
    """What a call names the tensors that it takes, by their names in ONNX, its biases by W and R."""
    options = told.options
    names = {
        "X": told.input,
        "W": told.weight,
        "R": told.recurrentWeight,
        "Wb": options.bias,
        "Rb": options.recurrentBias,
        "initial_h": told.hiddenState if call.name == "gruCell" else options.initialHiddenState,
    }
    return {ours: name for ours, name in names.items() if name is not None}


def _arguments(call: Call) -> Arguments:
    """What is given to a call, each once. Raises NotAsked for what it does not take."""
    pairs = [pair for argument in call.arguments for pair in argument.items()]
    given = dict(pairs)
    if len(given) != len(pairs):
        raise NotAsked("gives an argument twice")
    told = Arguments.model_validate(given)
    if others := (told.model_fields_set | told.options.model_fields_set) & _NOT_OF[call.name]:
        raise NotAsked(f"gives {min(others)}, which {call.name} does not take")
    if call.name == "gruCell" and told.hiddenState is None:
        raise NotAsked("gives no hiddenState, which gruCell needs")
    if call.name == "gru" and "steps" not in told.model_fields_set:
        raise NotAsked("gives no steps, which gru needs")
    return told


def _outputs(call: Call, told: Arguments) -> dict[str, str]:
    """What a call names its outputs, by their names in ONNX. Raises NotAsked for other than it has."""
    names = ("Y_h", "Y") if told.options.returnSequence else ("Y_h",)
    outputs = [call.outputs] if isinstance(call.outputs, str) else call.outputs
    if len(outputs) != len(names):
        raise NotAsked(f"names {len(outputs)} outputs; expected {len(names)}")
    if len(set(outputs)) != len(names):
        raise NotAsked("names an output twice")
    return dict(zip(names, outputs, strict=True))


def _expected(test: Test, call: Call) -> Arrays:
    told = test.graph.expectedOutputs
    outputs = _outputs(call, _arguments(call))
    if others := told.keys() - set(outputs.values()):
        raise NotAsked(f"expects {min(others)[:80]!r}, which is no output of its {call.name}")
    found = _arrays(told, {ours: name for ours, name in outputs.items() if name in told})
    return _of_one(found) if call.name == "gruCell" else found


def _given(told: Arguments) -> dict[str, Any]:
    """The attributes of ONNX GRU, all written out."""
    options = told.options
    directions = 2 if options.direction == "both" else 1
    unknown = set(options.activations) - set(_ONNX_ACTIVATIONS)
    if unknown:
        raise NotAsked(f"has the activation {min(unknown)!r}")
    return {
        "hidden_size": told.hiddenSize,
        "direction": _ONNX_DIRECTIONS[options.direction],
        "linear_before_reset": int(options.resetAfter),
        "activations": [_ONNX_ACTIVATIONS[one] for one in options.activations] * directions,
    }


def _inputs(arrays: Arrays, layout: str, *, cell: bool) -> Arrays:
    """The inputs of ONNX GRU; a cell is one step in one direction."""
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
    """The tensors of a cell with the axis that they have in a sequence."""
    return {name: array[None] for name, array in arrays.items()}


def _gates(name: str, array: Array, layout: str, axis: int) -> Array:
    """The parts z, r, n along `axis`, in this order."""
    if array.ndim <= axis:
        raise ValueError(f"{_GATED[name]} of {array.ndim} axes; expected {axis + 1} or more")
    parts = np.split(array, 3, axis=axis)
    return np.concatenate([parts[at] for at in _LAYOUTS[layout]], axis=axis)


def _arrays(tensors: Mapping[str, Tensor], names: Mapping[str, str]) -> Arrays:
    """The tensors of the names that are given, and no others; ValueError where they make no case."""
    count = sum(math.prod(tensors[name].descriptor.shape) for name in names.values())
    if count > MOST_ELEMENTS:
        raise ValueError(f"tensors of {count} numbers; expected at most {MOST_ELEMENTS}")
    return {ours: _array(tensors[name]) for ours, name in names.items()}


def _array(tensor: Tensor) -> Array:
    """The numbers of a tensor; one number fills it. ValueError where they do not fit."""
    shape, dtype = tensor.descriptor.shape, tensor.descriptor.dataType
    if dtype not in ("float16", "float32"):
        raise ValueError(f"a tensor of {dtype}")
    with np.errstate(over="ignore"):
        data = np.asarray(tensor.data, np.float64).astype(dtype)
    return np.full(shape, data) if data.ndim == 0 else data.reshape(shape)
