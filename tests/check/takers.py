"""Runtimes that compute nothing: they return, copy or leave untouched what they were given.

`TAKERS` has them by name. `run` is the one that the id of a question ends with, so that one process
asks them all: `grucible check VECTORS --runtime tests/check/takers.py:run`.
"""

from __future__ import annotations

import dataclasses
import gc
import types
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from grucible import Question
from grucible.cases.question import TensorType

Array = npt.NDArray[Any]
Taker = Callable[[Question], Any]


def filled(value: float) -> Taker:
    return lambda question: {
        name: np.full(shape, value, dtype) for name, (shape, dtype) in question.outputs.items()
    }


def shaped(arrays: Callable[[Question], Any]) -> Taker:
    """Each output one of the arrays, in turn, brought to the shape and dtype that is asked for."""

    def take(question: Question) -> dict[str, Array]:
        found = [array for array in arrays(question) if array.size]
        return {
            name: np.resize(found[place % len(found)], shape).astype(dtype)
            for place, (name, (shape, dtype)) in enumerate(question.outputs.items())
        }

    return take


def bases(question: Question) -> Iterator[Array]:
    """What the inputs are views of, as far as there is anything."""
    for array in question.inputs.values():
        while isinstance(array.base, np.ndarray):
            array = array.base
        yield array


def reachable(*roots: Any) -> list[Array]:
    """Every array that can be reached from some objects, but through modules, types and functions."""
    seen: dict[int, Any] = {}
    left = list(roots)
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, (types.ModuleType, type, types.FunctionType)):
            continue
        seen[id(one)] = one
        left += gc.get_referents(one)
        if isinstance(one, np.ndarray) and one.base is not None:
            left.append(one.base)
    return [one for one in seen.values() if isinstance(one, np.ndarray)]


def fitting(arrays: Callable[[Question], list[Array]]) -> Taker:
    """For each output an array of just its shape and dtype, where there is one; NaN elsewhere."""

    def take(question: Question) -> dict[str, Array]:
        found, outputs = arrays(question), question.buffers()
        for name, asked in question.outputs.items():
            for array in found:
                if (array.shape, array.dtype) == tuple(asked):
                    outputs[name] = array
        return outputs

    return take


def changed(question: Question, other: Callable[[TensorType], Any]) -> dict[str, Array]:
    """Zeros of another type than was asked for, which the question is made to ask for."""
    outputs = cast(dict[str, TensorType], question.outputs)
    outputs.update({name: TensorType(*other(asked)) for name, asked in outputs.items()})
    return {name: np.zeros(t.shape, t.dtype) for name, t in outputs.items()}


def in_this_process(_: Question) -> list[Array]:
    return [one for one in gc.get_objects() if isinstance(one, np.ndarray)] + reachable(
        *(one for one in gc.get_objects() if isinstance(one, (dict, list, tuple)))
    )


TAKERS: dict[str, Taker] = {
    "outputs": lambda question: question.outputs,
    "outputs-as-arrays": lambda question: {
        n: np.array(t.shape) for n, t in question.outputs.items()
    },
    "inputs": lambda question: question.inputs,
    "inputs-shaped": shaped(lambda question: list(question.inputs.values())),
    "bases-shaped": shaped(lambda question: list(bases(question))),
    "reachable": fitting(lambda question: reachable(question)),
    "buffers": lambda question: question.buffers(),
    "buffers-emptied": lambda question: {
        name: np.zeros_like(array) for name, array in question.buffers().items()
    },
    "zeros": filled(0.0),
    "ones": filled(1.0),
    "nothing": lambda _: {},
    "none": lambda _: None,
    "stored": lambda question: cast(Any, question).answer.outputs,
    "case": lambda question: cast(Any, question).case.answer.outputs,
    "fields": lambda question: dataclasses.asdict(question)["answers"],
    "clears": lambda question: cast(Any, question).outputs.clear() or {},
    "reshapes": lambda question: changed(question, lambda t: ((), t.dtype)),
}
"""By name; each gets a question and returns what it was given, or what it finds there."""


def run(question: Question) -> Any:
    """The taker that the question's id ends with; `process` looks through the whole process."""
    name = question.id.rpartition("/")[2]
    return fitting(in_this_process)(question) if name == "process" else TAKERS[name](question)
