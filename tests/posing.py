"""Random questions of every operator, as a strategy of Hypothesis."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from grucible import GrucibleError, Question
from grucible.cases.dtypes import FLOAT_TYPES, Array, numpy_dtype
from grucible.cases.operators import OPERATORS
from grucible.cases.operators.activations import FUNCTIONS
from grucible.cases.operators.signature import Attribute, Operator
from grucible.cases.question import pose
from grucible.gen.posed import block_key

CLIPS = (0.25, 0.75, 1.5)
RANGES = {"alpha": (0.25, 1.25), "beta": (-0.5, 0.75)}


@st.composite
def questions(draw: Any, functions: Collection[str] = tuple(FUNCTIONS)) -> Question:
    """A small question of any operator and dtype, with activations out of `functions`."""
    able = [o for o in OPERATORS.values() if _fixed(o).issubset(functions)]
    operator = draw(st.sampled_from(able))
    dtype = draw(st.sampled_from(operator.dtypes()))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = {symbol: draw(st.integers(1, 4)) for symbol in operator.sizes}
    given: dict[str, Any] = {}
    for attribute in operator.attributes:
        value = _value(draw, operator, attribute, given, sizes, functions)
        must = attribute.default is None or attribute.sets in ("activations", "f", "g")
        if value is not None and (must or draw(st.booleans())):
            given[attribute.name] = value
    attributes = operator.with_defaults(given)
    for symbol, axis in operator.sizes.items():
        if axis == "direction":
            sizes[symbol] = len(operator.directions(attributes))
    inputs, left_out = {}, set[str]()
    scale = draw(st.sampled_from([0.25, 1.0, 2.0]))
    for tensor in operator.inputs:
        together = operator.beside(tensor)
        if tensor.name == together[0] and not tensor.required and draw(st.booleans()):
            left_out |= {*together}
        if tensor.name in left_out:
            continue
        shape = operator.shape(tensor, attributes, sizes)
        if tensor.role == "lengths":
            [time] = [sizes[symbol] for symbol, axis in operator.sizes.items() if axis == "time"]
            if operator.masked:
                inputs[tensor.name] = _mask(rng, shape)
                continue
            kind = draw(st.sampled_from(operator.types[tensor.type]))
            inputs[tensor.name] = rng.integers(tensor.least, time + 1, shape).astype(
                numpy_dtype(kind)
            )
            continue
        values: Array = scale * rng.normal(size=shape)
        inputs[tensor.name] = values.astype(np.float32).astype(FLOAT_TYPES[dtype].numpy)
    try:
        question = pose(operator, given, inputs, case_id="random/x")
        block_key(question)
    except GrucibleError:  # what no case may ask, such as more ambiguous points than one may touch
        reject()
    return question


def _fixed(operator: Operator) -> set[str]:
    """The functions that no attribute chooses."""
    return {operator.always[one].name for one in ("f", "g") if one in operator.always}


def _mask(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Rows of one run of steps each, anywhere on the time axis; some are empty."""
    first, last = np.sort(rng.integers(0, shape[1] + 1, (2, shape[0])), axis=0)[..., None]
    at = np.arange(shape[1])
    return (first <= at) & (at < last)


def _value(
    draw: Any,
    operator: Operator,
    attribute: Attribute,
    given: dict[str, Any],
    sizes: dict[str, int],
    functions: Collection[str],
) -> Any:
    """A value of an attribute; None where it has to be left out."""
    if attribute.name in sizes:
        return sizes[attribute.name]
    if attribute.sets in ("alpha", "beta"):
        [activations] = [a for a in operator.attributes if a.sets == "activations"]
        names = given.get(activations.name, [])
        takes = [FUNCTIONS[activations.choices[name].name].takes for name in names]
        values = [
            float(np.float32(draw(st.floats(*RANGES[attribute.sets]))))
            for one in takes
            if attribute.sets in one
        ]
        return values or None
    if attribute.sets == "clip":
        return draw(st.sampled_from(CLIPS))
    if attribute.kind == "boolean":
        return draw(st.booleans())
    choices = [
        value
        for value, means in attribute.choices.items()
        if getattr(means, "name", functions) in (functions, *functions)
    ]
    if not choices:
        return None
    if not attribute.is_list:
        return draw(st.sampled_from(choices))
    count = attribute.length or 1
    if attribute.per_direction:
        count *= len(operator.directions(operator.with_defaults(given)))
    return [draw(st.sampled_from(choices)) for _ in range(count)]
