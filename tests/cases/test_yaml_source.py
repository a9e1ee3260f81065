"""YAML as it is read: values, places, and what is refused."""

from __future__ import annotations

import math

import pytest

from grucible.cases.errors import SpecError
from grucible.cases.specs.yaml_source import parse

CORE_SCHEMA = [  # YAML 1.2.2, 10.3.2, and what YAML 1.1 would make of the rest
    ("0", 0), ("-12", -12), ("+12", 12), ("017", 17), ("0o17", 15), ("0x1F", 31),
    ("1.", 1.0), (".5", 0.5), ("-0.5", -0.5), ("1e-5", 1e-5), ("1E3", 1000.0), ("+12e03", 12000.0),
    (".inf", math.inf), ("-.Inf", -math.inf), ("+.INF", math.inf),
    ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
    ("yes", "yes"), ("off", "off"), ("y", "y"), ("1:30", "1:30"), ("190:20:30.15", "190:20:30.15"),
    ("1_000", "1_000"), ("0b11", "0b11"), ("2001-12-14", "2001-12-14"), ("inf", "inf"), ("=", "="),
    ("nan", "nan"), ("- .5", [0.5]), ("'1'", "1"), ('"true"', "true"), ("|\n 1", "1\n"), (".e3", ".e3"),
    ("-", [None]), ("1e", "1e"), ("tRUE", "tRUE"), ("+0x1", "+0x1"), ("1.5.2", "1.5.2"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), CORE_SCHEMA)
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    found = parse("f", "a:\n  " + text + "\n").value["a"]
    assert (found, type(found)) == (value, type(value))


def test_nan() -> None:
    assert math.isnan(parse("f", "a: .nan").value["a"])


def test_every_value_has_its_place() -> None:
    text = "a: 1\n# a comment\nb:\n  - [x, 'y z']   # more\n\n  - {k: é, l: [\n     1]}\nc: last\n"
    document = parse("f", text)
    assert [document.place(at) for at in (("a",), ("b", 0, 1), ("b", 1), ("b", 1, "l", 0))] == [
        "f:1", "f:4", "f:6", "f:7"
    ]  # fmt: skip
    assert document.place(("b", 1, "m", 0)) == "f:6"


@pytest.mark.parametrize(("text", "pattern"), [
    ("a: 1\nb:\n  c: 2\n  c: 3\n", r"f:4: duplicate key 'c'"),
    ("a: &x 1\n", r"f:1: anchors and aliases"),
    ("&x a: 1\n", r"f:1: anchors and aliases"),
    ("a: 1\nb: ! 2\n", r"f:2: tags are not allowed"),
    ("a: !!set {b}\n", r"f:1: tags are not allowed"),
    ("a: " + "[" * 15 + "1" + "]" * 15, None),
    ("a: " + "[" * 16 + "1" + "]" * 16, r"f:1: is nested deeper than 16 levels"),
    ("a: [\n" + "b, " * 250_000 + "]", r"f:2: more than 250,000 values; split the file"),
    ("a: " + "9" * 5000, r"f:1: not YAML: .*4300 digits"),
    ("b: 1\na: 1e400", r"f:2: not YAML: 1e400 is beyond float64; infinity is written .inf"),
    ("a: -1e400", r"f:1: not YAML: -1e400 is beyond float64"),
    ("a: \x07\n", r"f.*: not YAML"),
    ("a: [1\nb: 2\n", r"f:2: not YAML"),
])  # fmt: skip
def test_what_is_refused(text: str, pattern: str | None) -> None:
    if pattern is None:
        parse("f", text)
        return
    with pytest.raises(SpecError, match=pattern):
        parse("f", text)
