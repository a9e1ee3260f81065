"""Foreign cases from the web platform's tests of WebNN: gru and gruCell, as questions of ONNX GRU.

https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gru. Read are JSON files that hold a test, a list of them, or
`{"tests": [ … ]}`. In the web platform's repository tests stand in JavaScript; vectors/exchange/README.md
says how to get them as JSON.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...cases.dtypes import Array, Arrays
from ...cases.errors import GrucibleError
from ...cases.file_model import FIRST_WRONG, FewKeys, json_value
from ...cases.operators.onnx import GRU
from ...cases.pose import QuestionError, pose
from ...vectors.exchange.manifest import MANIFEST
from ...vectors.exchange.webnn import ACTIVATIONS, DIRECTIONS
from .foreign import ForeignCase, NotAsked, case_id
from .importing import Suite

MOST_BYTES = 64 << 20
"""The largest file that is read."""
MOST_ELEMENTS = 4 << 20
"""So many numbers may be in a tensor: a case has at most 32 MiB in float64."""
_MOST_COMMAS = 6_000_000
"""So many may be in a file: a number has less than another part."""
_ONNX_DIRECTIONS = {theirs: ours for ours, theirs in DIRECTIONS.items()}
_ONNX_ACTIVATIONS = {theirs: ours for ours, theirs in ACTIVATIONS.items()}
_LAYOUTS = {"zrn": (0, 1, 2), "rzn": (1, 0, 2)}
"""Where z, r and n stand among the gates, by WebNN's layout."""


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Descriptor(_Lenient):
    shape: Annotated[list[Annotated[int, Field(ge=1, lt=2**24)]], FIRST_WRONG, Field(max_length=8)]
    dataType: str


class _Tensor(_Lenient):
    data: Annotated[list[float], FIRST_WRONG] | float
    descriptor: _Descriptor


class _Call(_Lenient):
    name: str
    arguments: Annotated[list[dict[str, Any]], FIRST_WRONG]
    outputs: Annotated[list[str], FIRST_WRONG] | str


class _Graph(_Lenient):
    inputs: Annotated[dict[str, _Tensor], FewKeys]
    operators: Annotated[list[_Call], FIRST_WRONG]
    expectedOutputs: Annotated[dict[str, _Tensor], FewKeys]


class _Test(_Lenient):
    name: str
    graph: _Graph


class _Options(_Lenient):
    """MLGruOptions and MLGruCellOptions, with their defaults."""

    bias: str | None = None
    recurrentBias: str | None = None
    initialHiddenState: str | None = None
    resetAfter: bool = True
    returnSequence: bool = False
    direction: Literal["forward", "backward", "both"] = "forward"
    layout: Literal["zrn", "rzn"] = "zrn"
    activations: Annotated[list[str], FIRST_WRONG, Field(min_length=2, max_length=2)] = [
        "sigmoid",
        "tanh",
    ]


def suite_of_webnn(place: Path) -> Suite:
    """The tests in a JSON file, or in those of a folder. Raises GrucibleError where there is none."""
    files = sorted(place.rglob("*.json")) if place.is_dir() else [place]
    files = [file for file in files if file.name != MANIFEST]
    if not files:
        raise GrucibleError(f"{place}: holds no JSON file; expected WebNN's tests")
    cases: list[ForeignCase] = []
    left_out: Counter[str] = Counter()
    for file in files:
        for test in _tests(file):
            try:
                cases.append(_case(test, place.resolve().stem))
            except NotAsked as reason:
                left_out[str(reason)] += 1
    return Suite(f"WebNN's tests in {place.resolve().name}", cases, left_out)


def _tests(file: Path) -> list[_Test]:
    try:
        if not file.is_file() or file.stat().st_size > MOST_BYTES:
            raise GrucibleError(f"{file}: is no file of at most {MOST_BYTES >> 20} MiB")
        found = json_value(file, file.read_bytes(), _MOST_COMMAS)
    except (OSError, ValueError) as error:
        said = str(error).partition("\n")[0][:200]
        raise GrucibleError(f"{file}: is not JSON ({said})") from None
    if isinstance(found, dict):
        found = found.get("tests", [found])
    try:
        return [_Test.model_validate(one) for one in found]
    except (ValidationError, TypeError) as error:
        first = error.errors(include_url=False)[0] if isinstance(error, ValidationError) else None
        said = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else str(error)
        raise GrucibleError(f"{file}: is no test of WebNN ({said})") from None


def _case(test: _Test, theme: str) -> ForeignCase:
    """The case of a test. Raises NotAsked."""
    if len(test.graph.operators) != 1 or test.graph.operators[0].name not in ("gru", "gruCell"):
        raise NotAsked("is not one gru or gruCell")
    [call] = test.graph.operators
    try:
        return _asked(test, call, theme)
    except ValidationError as error:
        raise NotAsked(f"options: {error.errors(include_url=False)[0]['msg']}") from None
    except QuestionError as error:
        raise NotAsked(str(error)) from None
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        said = (str(error).partition("\n")[0])[:200]
        raise NotAsked(f"holds what no GRU takes: {said}") from None


def _asked(test: _Test, call: _Call, theme: str) -> ForeignCase:
    told = {name: value for argument in call.arguments for name, value in argument.items()}
    options = _Options.model_validate(told.get("options", {}))
    arrays = {name: _array(tensor) for name, tensor in test.graph.inputs.items()}
    cell = call.name == "gruCell"
    outputs = [call.outputs] if isinstance(call.outputs, str) else call.outputs
    named = dict(zip(("Y_h", "Y"), outputs, strict=False))
    inputs = _inputs(told, options, arrays, cell=cell)
    expected = {
        ours: _array(test.graph.expectedOutputs[theirs])
        for ours, theirs in named.items()
        if theirs in test.graph.expectedOutputs
    }
    expected = {name: array[None] for name, array in expected.items()} if cell else expected
    question = pose(GRU, _given(told, options), inputs, outputs=list(named))
    asked = replace(question, id=case_id(GRU, theme, question.dtype, test.name))
    return ForeignCase(asked.id, lambda: asked, lambda: expected)


def _given(told: Mapping[str, Any], options: _Options) -> dict[str, Any]:
    """The attributes of ONNX GRU, all written out."""
    directions = 2 if options.direction == "both" else 1
    unknown = set(options.activations) - set(_ONNX_ACTIVATIONS)
    if unknown:
        raise NotAsked(f"has the activation {min(unknown)!r}")
    return {
        "hidden_size": told["hiddenSize"],
        "direction": _ONNX_DIRECTIONS[options.direction],
        "linear_before_reset": int(options.resetAfter),
        "activations": [_ONNX_ACTIVATIONS[one] for one in options.activations] * directions,
    }


def _inputs(
    told: Mapping[str, Any], options: _Options, arrays: Mapping[str, Array], *, cell: bool
) -> Arrays:
    """The inputs of ONNX GRU; a cell is one step in one direction."""
    x, w, r = (arrays[told[name]] for name in ("input", "weight", "recurrentWeight"))
    h0 = options.initialHiddenState or told.get("hiddenState")
    layout, axis = options.layout, 0 if cell else 1
    found = {"X": x, "W": _gates(w, layout, axis), "R": _gates(r, layout, axis)}
    halves = [
        _gates(arrays[name], layout, axis) if name else None
        for name in (options.bias, options.recurrentBias)
    ]
    if any(half is not None for half in halves):
        given = next(half for half in halves if half is not None)
        both = [np.zeros_like(given) if half is None else half for half in halves]
        found["B"] = np.concatenate(both, axis=-1)
    if h0:
        found["initial_h"] = arrays[h0]
    return {name: array[None] for name, array in found.items()} if cell else found


def _gates(array: Array, layout: str, axis: int) -> Array:
    """The parts z, r, n along `axis`, in this order."""
    parts = np.split(array, 3, axis=axis)
    return np.concatenate([parts[at] for at in _LAYOUTS[layout]], axis=axis)


def _array(tensor: _Tensor) -> Array:
    """The numbers of a tensor; one number fills it. ValueError where they do not fit."""
    shape, dtype = tensor.descriptor.shape, tensor.descriptor.dataType
    if math.prod(shape) > MOST_ELEMENTS:
        raise ValueError(f"a tensor of {math.prod(shape)} numbers")
    if dtype not in ("float16", "float32"):
        raise ValueError(f"a tensor of {dtype}")
    with np.errstate(over="ignore"):
        data = np.asarray(tensor.data, np.float64).astype(dtype)
    return np.full(shape, data) if data.ndim == 0 else data.reshape(shape)
