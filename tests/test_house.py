"""The house: rooms and modules use each other one way, and each is of a size that can be read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("cases", "vectors", "gen", "check")
MODULES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts): file
    for room in ROOMS
    for file in sorted((ROOT / room).rglob("*.py"))
    if file.name != "__init__.py"
}
MOST_LINES, LONGEST_FUNCTION = 300, 50
SAY_NOTHING = {"utils", "util", "common", "helpers", "misc"}


def imports(module: str) -> Iterator[str]:
    """The modules of the four rooms that a module imports, at its head or inside a function; what is
    imported for type checkers alone counts too."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            above = module.split(".")[: -node.level]
            target = ".".join([*above, *([node.module] if node.module else [])])
            if target in MODULES:
                yield target
            else:
                named = (f"{target}.{alias.name}" for alias in node.names)
                yield from (name for name in named if name in MODULES)


@cache
def graph() -> dict[str, list[str]]:
    """By module, the modules that it imports; not made where the tests are only collected."""
    return {module: sorted(set(imports(module))) for module in MODULES}


def circle(nodes: dict[str, list[str]]) -> list[str]:
    """The nodes of some circle, the first one at the end too; nothing where there is none."""
    done: set[str] = set()

    def visit(node: str, way: list[str]) -> list[str]:
        if node in way:
            return [*way[way.index(node) :], node]
        if node in done:
            return []
        for other in nodes.get(node, []):
            if found := visit(other, [*way, node]):
                return found
        done.add(node)
        return []

    return next((found for node in nodes if (found := visit(node, []))), [])


def folders() -> dict[str, list[str]]:
    """Which folder imports from which: a module directly in a room is a folder of its own."""
    found: dict[str, set[str]] = {}
    for module, others in graph().items():
        here = _folder(module)
        found.setdefault(here, set()).update(_folder(other) for other in others)
    return {here: sorted(there - {here}) for here, there in found.items()}


def _folder(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[:2]) if len(parts) > 2 else module


def test_the_graph_is_that_of_the_code() -> None:
    assert len(graph()) > 60
    assert "cases.errors" in graph()["cases.specs.spec_file"]
    assert "gen.gru" in graph()["gen.exact.answers"]
    assert circle({"a": ["b"], "b": ["c"], "c": ["b"]}) == ["b", "c", "b"]
    assert not circle({"a": ["b", "c"], "b": ["c"], "c": []})


def test_no_circle_of_modules() -> None:
    assert circle(graph()) == []


def test_no_circle_of_folders() -> None:
    assert circle(folders()) == []


def test_rooms_are_used_from_above_alone() -> None:
    order = {room: place for place, room in enumerate(ROOMS)}
    for module, others in graph().items():
        for other in others:
            here, there = (name.partition(".")[0] for name in (module, other))
            assert order[there] <= order[here], f"{module} imports {other}"


@pytest.mark.parametrize("module", MODULES)
def test_modules_and_functions_can_be_read(module: str) -> None:
    text = MODULES[module].read_text(encoding="utf-8")
    assert text.count("\n") <= MOST_LINES
    assert not SAY_NOTHING & set(module.split("."))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name} is {length} lines long"


def test_a_room_with_many_entries_has_rooms_of_its_own() -> None:
    for room in ROOMS:
        files = [m for m in MODULES if m.startswith(f"{room}.") and m.count(".") == 1]
        assert len(files) <= 14, files
