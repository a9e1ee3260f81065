"""The layout `webnn`: JSON as the web platform's tests of WebNN have it.

https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gru. A case becomes a test, with a name and a graph of inputs,
one operator and expectedOutputs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...cases.dtypes import Array
from ...cases.operators.webnn import OPERATORS
from ...cases.question import Question
from ..case import Case
from .manifest import CASES, NotSayable, Place, write_npz


def write_case(
    folder: Path, name: str, case: Case, arrays: Mapping[str, Array]
) -> dict[str, Place]:
    """Write a JSON file for the case, and its tensors as npz."""
    if case.tier != "required":
        raise NotSayable(f"a test has one right answer, and these cases are {case.tier}")
    stored = {name: arrays.get(f"outputs/{name}") for name in case.question.outputs}
    expected = {name: array for name, array in stored.items() if array is not None}
    test = {"name": case.id, "graph": _graph(case.question, expected)}
    (folder / f"{CASES}/{name}.json").write_text(json.dumps(test) + "\n", encoding="utf-8")
    return write_npz(folder, f"{CASES}/{name}.npz", arrays)


def _graph(question: Question, expected: Mapping[str, Array]) -> dict[str, Any]:
    [operator] = [one for one in OPERATORS if one.name == question.operator]
    kind = question.operator.partition(".")[2]

    def named(name: str) -> str:
        return f"{kind}{name[0].upper()}{name[1:]}"

    operands = {name: named(name) for name in question.inputs}
    sizes = {a.name: question.given[a.name] for a in operator.attributes if a.required}
    options: dict[str, Any] = {
        tensor.name: operands[tensor.name]
        for tensor in operator.inputs
        if not tensor.required and tensor.name in operands
    }
    options |= {name: value for name, value in question.given.items() if name not in sizes}
    if "output1" in question.outputs:
        options["returnSequence"] = True
    needed = {t.name: operands[t.name] for t in operator.inputs if t.required}
    arguments = {**needed, **sizes, "options": options}
    call = {
        "name": kind,
        "arguments": [{name: value} for name, value in arguments.items()],
        "outputs": [named(name) for name in question.outputs],
    }
    return {
        "inputs": {operands[name]: _tensor(array) for name, array in question.inputs.items()},
        "operators": [call],
        "expectedOutputs": {named(name): _tensor(array) for name, array in expected.items()},
    }


def _tensor(array: Array) -> dict[str, Any]:
    return {
        "data": array.astype(np.float64).ravel().tolist(),
        "descriptor": {"shape": list(array.shape), "dataType": str(array.dtype.name)},
    }
