"""Lines of this package, taken over into a script as they stand, with all that they use.

What a script does to a runtime is what grucible does to it, because the lines are the same ones. They are
read from the source, so that no runtime need be installed for it. Annotations of functions are left out.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class _Module(NamedTuple):
    """A module's text, and its top-level statements by the names they bind."""

    text: str
    bound: dict[str, ast.stmt]


class Verbatim:
    """Definitions of this package's modules and the imports they need, each once.

    A name that a definition uses is taken over too where its module defines it, or imports it from another
    module of ours; what is imported from elsewhere becomes an import of the script.
    """

    def __init__(self) -> None:
        self._imports: set[tuple[str, str]] = set()
        self._taken: set[tuple[str, str]] = set()

    def uses(self, *statements: str) -> None:
        """Let the script have these imports, such as `import sys` or `from onnx import helper`."""
        for statement in statements:
            [node] = ast.parse(statement).body
            self._imports.update(_imported(node))

    def definitions(self, module: str, *names: str) -> list[str]:
        """The definitions of `names` in the module at a path below this package, and before each those
        that it uses, as far as they were not given before."""
        return [text for name in names for text in self._of(ROOT / module, name)]

    def _of(self, file: Path, name: str) -> Iterator[str]:
        module = _module(file)
        node = module.bound.get(name)
        if node is None or (str(file), name) in self._taken:
            return
        self._taken.add((str(file), name))
        if isinstance(node, ast.ImportFrom) and node.level:
            parts = (node.module or "").split(".")
            yield from self._of(
                file.parents[node.level - 1].joinpath(*parts).with_suffix(".py"), name
            )
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._imports.update(one for one in _imported(node) if _binds(one) == name)
        else:
            text = _plain(module.text, node)
            for used in sorted(_names(text)):
                yield from self._of(file, used)
            yield text

    def imports(self) -> str:
        """The imports, those of the standard library first."""
        return "\n\n".join(group for group in self.import_groups() if group)

    def import_groups(self) -> tuple[str, str]:
        """The imports of the standard library, and all others."""
        whole, parts = [], []
        for module in sorted({module for module, _ in self._imports}, key=str.lower):
            names = sorted(name for of, name in self._imports if of == module)
            whole += [(module, name) for name in names if name.startswith("import ")]
            if rest := [name for name in names if not name.startswith("import ")]:
                parts.append((module, f"from {module} import {', '.join(rest)}"))
        groups: dict[bool, list[str]] = {True: [], False: []}
        for module, line in [*whole, *parts]:
            groups[module.partition(".")[0] in sys.stdlib_module_names].append(line)
        return "\n".join(groups[True]), "\n".join(groups[False])


def _imported(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """What an import binds: its module, and the name as the statement has it."""
    assert isinstance(node, (ast.Import, ast.ImportFrom))
    for alias in node.names:
        said = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
        if isinstance(node, ast.Import):
            yield alias.name, f"import {said}"
        else:
            yield node.module or "", said


def _binds(imported: tuple[str, str]) -> str:
    """The name that an import binds."""
    return imported[1].removeprefix("import ").rpartition(" as ")[2].partition(".")[0]


@cache
def _module(file: Path) -> _Module:
    text = file.read_text(encoding="utf-8")
    bound: dict[str, ast.stmt] = {}
    left: list[ast.stmt] = list(ast.parse(text).body)
    while left:
        node = left.pop(0)
        if isinstance(node, (ast.If, ast.With)):
            left += node.body
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {_binds(one): node for one in _imported(node)}
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            bound[node.name] = node
        elif isinstance(node, ast.Assign):
            bound |= {one.id: node for one in node.targets if isinstance(one, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            bound[node.target.id] = node
    return _Module(text, bound)


def _names(text: str) -> set[str]:
    """The names that a text reads and does not bind itself."""
    nodes = list(ast.walk(ast.parse(text)))
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names} - bound


def _plain(text: str, node: ast.stmt) -> str:
    """The lines of a function, a class or an assignment; those of a function without annotations."""
    lines = text.splitlines()
    if isinstance(node, ast.AnnAssign):
        assert node.value
        return f"{ast.unparse(node.target)} = {ast.unparse(node.value)}"
    if not isinstance(node, ast.FunctionDef):
        return "\n".join(lines[node.lineno - 1 : node.end_lineno])
    for one in ast.walk(node.args):
        if isinstance(one, ast.arg):
            one.annotation = None
    for one in ast.walk(node):
        if isinstance(one, ast.AnnAssign):
            assert one.annotation.end_lineno == one.lineno
            line = lines[one.lineno - 1].encode()  # columns count bytes
            cut = line[: one.target.end_col_offset] + line[one.annotation.end_col_offset :]
            lines[one.lineno - 1] = cut.decode()
    head = f"def {node.name}({ast.unparse(node.args)}):"
    return "\n".join([head, *lines[node.body[0].lineno - 1 : node.end_lineno]])
