"""What an attribute or a factor accepts, the words of an error and the JSON Schema are one and the same."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from grucible.cases.operators import OPERATORS
from grucible.cases.operators.signature import Attribute
from grucible.cases.operators.values import type_of_values
from grucible.cases.specs.factors import factors
from grucible.cases.specs.spec_file import SHIPPED, Listing, spec_model, spec_schema
from grucible.cases.specs.yaml_source import parse

SCHEMA = json.loads(spec_schema())
VALIDATOR = Draft202012Validator(SCHEMA)
LARGEST32 = float(np.finfo(np.float32).max)
BEYOND32 = 2.0**128 - 2.0**103  # a tie between the largest float32 and what would follow
SPECS = sorted(SHIPPED.rglob("*.yaml"))

NUMBERS: list[Any] = [
    0, 1, 2, 3, -1, 4096, 4097, 2**31, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**400, -(10**400),
    0.0, -0.0, 1.0, 2.0, 4096.0, 0.5, -0.5, 1.5, 1e-5, 1e-45, 2.0**-150, math.nextafter(2.0**-150, 1),
    1e-50, 5e-324, LARGEST32, BEYOND32, math.nextafter(BEYOND32, 0), 1e39, -1e39, sys.float_info.max,
    math.inf, -math.inf, math.nan,
]  # fmt: skip
WORDS: list[Any] = [
    "", "absent", "present", "before", "zeros", "drawn", "inf", "0.5", "1", "true", "relu", "Relu", "tanh",
    "forward", "reverse", "bidirectional", "sideways", "full", "ragged", "with-zero", "int32",
    "float32", "ordinary", "nan", "x8", None, True, False, {}, {"a": 1},
]  # fmt: skip
LISTS: list[Any] = [
    [], ["relu"], ["relu", "tanh"], ["relu", "tanh", "relu"], ["relu", "tanh"] * 2,
    ["Relu", "Tanh"], ["Relu", "Tanh", "Relu"], ["Relu", "Tanh"] * 2, ["Relu", "Tanh"] * 3,
    ["relu", "selu"], ["ReLU", "tanh"], [["relu", "tanh"]], ["absent"], [None], [True], [4, 1, 2],
    [0, 0, 0], [1.5, 1], *([number] for number in NUMBERS),
]  # fmt: skip
VALUES = NUMBERS + WORDS + LISTS


def spec(operator: str, entry: dict[str, Any]) -> dict[str, Any]:
    head = {"operator": operator, "about": "x", "dtypes": ["float32"], "sizes": {}}
    return head | {"cases": [entry]}


def loads(document: dict[str, Any]) -> bool:
    try:
        spec_model(document["operator"]).model_validate(document)
    except ValidationError:
        return False
    return True


def known_difference(operator: str, factor: str, value: Any) -> bool:
    """What JSON Schema accepts and the loader refuses, and no schema could tell."""
    entries = value if isinstance(value, list) else [value]
    floats = [entry for entry in entries if isinstance(entry, float)]
    if any(map(math.isnan, floats)):
        return True  # no bound excludes NaN, which is no number of JSON
    if '"integer"' in json.dumps(factors(operator)[factor].values.schema):
        return any(v.is_integer() for v in floats)  # 1.0 is an integer to JSON Schema
    # infinity is no number of JSON either, so there is no upper bound where it is allowed
    largest = math.nextafter(BEYOND32, 0) if operator == "onnx.GRU-14" else sys.float_info.max
    return factor == "clip" and any(
        isinstance(entry, int | float) and largest < entry < math.inf for entry in entries
    )


@pytest.mark.parametrize("file", SPECS, ids=lambda f: "-".join(f.parts[-3:]))
def test_every_shipped_spec_follows_the_schema(file: Any) -> None:
    document = parse(str(file), file.read_text(encoding="utf-8"))
    assert [error.message for error in VALIDATOR.iter_errors(document.value)] == []


def test_the_schema_is_one_and_refuses() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    good = spec("onnx.GRU-14", {"list": [{"direction": "forward"}]})
    assert VALIDATOR.is_valid(good)
    twice: dict[str, Any] = {"dtypes": ["float32"] * 2}
    others: tuple[dict[str, Any], ...] = ({"operator": "x"}, {"colour": 1}, twice, {"cases": [{}]})
    for other in others:
        assert not VALIDATOR.is_valid(good | other)


KINDS = {
    json.dumps(factor.values.schema): (operator, name)
    for operator in OPERATORS
    for name, factor in factors(operator).items()
}
"""A factor of each schema."""


@pytest.mark.parametrize(("operator", "factor"), KINDS.values())
def test_the_loader_and_the_schema_accept_the_same(operator: str, factor: str) -> None:
    schemas = {
        name: VALIDATOR.evolve(
            schema={"$ref": f"#/$defs/{operator}.{name}", "$defs": SCHEMA["$defs"]}
        )
        for name in ("Single", "Values", "Match")
    }
    accepted = 0
    for value in VALUES:
        accepted += factors(operator)[factor].values.accepts(value)
        for entry, name, told in (
            ({"list": [{factor: value}]}, "Single", value),
            ({"product": {factor: [value]}}, "Values", [value]),
            ({"product": {factor: [value, value]}}, "Values", [value, value]),
            ({"product": {}, "exclude": [{factor: value}]}, "Match", value),
            ({"product": {}, "exclude": [{factor: [value, value]}]}, "Match", [value, value]),
        ):
            valid = schemas[name].is_valid({factor: told})
            loaded = loads(spec(operator, entry))
            if known_difference(operator, factor, value):
                assert valid or not loaded, entry  # too mild, never too strict
            else:
                assert loaded == valid, entry
            if name == "Single":
                assert factors(operator)[factor].values.accepts(value) == loaded
    assert 0 < accepted < len(VALUES)


def test_a_float32_number_is_what_numpy_says_it_is() -> None:
    clip = OPERATORS["onnx.GRU-14"].attribute("clip")
    alpha = OPERATORS["onnx.GRU-14"].attribute("activation_alpha")
    assert clip
    assert alpha
    around = [
        math.nextafter(bound, toward)
        for bound in (2.0**-150, LARGEST32, BEYOND32, 1.0, 0.0)
        for toward in (-math.inf, bound, math.inf)
    ]
    for value in [*around, 1e300, math.inf, *(-v for v in around)]:
        with np.errstate(over="ignore"):
            held = np.float32(value)
        assert type_of_values(clip).accepts(value) == (
            held > 0 and (np.isfinite(held) or value == math.inf)
        )
        assert type_of_values(alpha).accepts([value]) == np.isfinite(held)


def test_numbers_become_floats_and_integers_stay() -> None:
    entry = {"list": [{"clip": 2, "activation_alpha": [1, 0.5], "layout": 1, "hidden_size": 3}]}
    [listing] = spec_model("onnx.GRU-14").model_validate(spec("onnx.GRU-14", entry)).cases
    assert isinstance(listing, Listing)
    found = {name: repr(value) for name, value in listing.list[0].items()}
    numbers = {"clip": "2.0", "activation_alpha": "[1.0, 0.5]"}
    assert found == numbers | {"layout": "1", "hidden_size": "3"}


@pytest.mark.parametrize(("attribute", "words"), [
    (Attribute("a", "int", ""), "an integer from -9223372036854775808 to 9223372036854775807"),
    (Attribute("a", "int", "", choices={0: False, 1: True}), "one of 0, 1"),
    (Attribute("a", "float", ""), "a finite number"),
    (Attribute("a", "float", "", positive=True, single=True), "a positive finite float32 number"),
    (Attribute("a", "strings", "", choices={"x": 1}, length=3), "a list of 3 values, each x"),
    (Attribute("a", "strings", "", choices={"x": 1, "y": 2}, length=2, per_direction=True),
     "a list of 2 or 4 values, each one of x, y"),
])  # fmt: skip
def test_words(attribute: Attribute, words: str) -> None:
    assert type_of_values(attribute).expected == words
