"""Measure the power of the tests: change one thing in a module that decides; a test must fail.

python tests/power.py --sample 20 --seed 1 [--area judging] [--jobs 2] [--tree FOLDER]

A mutant differs from the package by one operator, constant, condition, return value or statement. Mutants are
sorted by a hash of the change, so code that is the same in two trees gives the same sample. Each runs with the
tests of its area in a copy of the tree.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from pathlib import Path
from typing import Any

AREAS = {
    "exact": "gen/exact: balls elementary round_ball trace exact",
    "tolerances": "gen/tolerances gen/gru.py gen/formula.py: error_arithmetic gate error_bounds clips exact"
    " trace tolerances oracles format_page",
    "reading": "vectors: writer reader digest between hostile selected each_case_once format_page outputs",
    "judging": "check/judging check/verdict.py: compare reach verdict demanded expecting one_reading one_case grade stated",
}  # fmt: skip
"""For each area its modules or folders, and the names of its files of tests; what a tree lacks is left out."""
_OTHERS = (
    "Lt:LtE,GtE LtE:Lt,Gt Gt:GtE,LtE GtE:Gt,Lt Eq:NotEq NotEq:Eq Is:IsNot IsNot:Is In:NotIn NotIn:In Add:Sub"
    " Sub:Add Mult:Div Div:Mult FloorDiv:Mult Mod:Mult Pow:Mult LShift:RShift RShift:LShift BitAnd:BitOr"
    " BitOr:BitAnd And:Or Or:And min:max max:min any:all all:any minimum:maximum maximum:minimum floor:ceil"
    " ceil:floor fmin:fmax fmax:fmin lower:upper upper:lower"
)
OTHERS = {one: others.split(",") for one, _, others in (s.partition(":") for s in _OTHERS.split())}
"""What stands in place of an operator of Python's syntax, or of a function."""
UNREAD = ("annotation", "returns", "decorator_list", "exc", "msg", "type_params")
"""Fields of the syntax tree without mutants: types, decorators and the messages of errors."""


Mutant = tuple[str, str, str, str]
"""The place in the order of the sample, the module's name and text, and what changed."""


def changed(node: Any) -> Iterator[ast.AST]:
    """List what may stand in place of a node of the syntax tree."""

    def having(**fields: Any) -> ast.AST:
        made = copy(node)
        vars(made).update(fields)
        return made

    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                for name in OTHERS.get(type(op).__name__, []):
                    yield having(ops=[*ops[:at], getattr(ast, name)(), *ops[at + 1 :]])
        case ast.BinOp(op=op) | ast.BoolOp(op=op):
            yield from (
                having(op=getattr(ast, name)()) for name in OTHERS.get(type(op).__name__, [])
            )
        case ast.Name(id=name) | ast.Attribute(attr=name):
            field = "id" if isinstance(node, ast.Name) else "attr"
            yield from (having(**{field: other}) for other in OTHERS.get(name, []))
        case ast.UnaryOp():
            yield node.operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield from map(ast.Constant, (value + 1, value - 1))
        case ast.Return(value) if value and not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case (
            ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Break() | ast.Continue()
            | ast.Assign([ast.Subscript() | ast.Attribute()])
        ):  # fmt: skip
            yield ast.Pass()
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if not isinstance(test, ast.Compare) or isinstance(node, ast.IfExp):
                yield having(test=ast.UnaryOp(ast.Not(), test))


def places(node: ast.AST, where: str = "") -> Iterator[tuple[str, ast.AST, Callable[[Any], None]]]:
    """List the nodes that may change, with the function around each, and how to replace it."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        where = f"{where}.{node.name}".strip(".")
    for field, value in ast.iter_fields(node):
        if field in UNREAD or isinstance(value, ast.JoinedStr):
            continue
        if isinstance(value, ast.AST):
            yield where, value, lambda new, field=field: setattr(node, field, new)
            yield from places(value, where)
        for at, child in enumerate(value if isinstance(value, list) else []):
            if isinstance(child, ast.AST) and getattr(child, "arg", "") != "strict":
                yield where, child, lambda new, at=at, value=value: value.__setitem__(at, new)
                yield from places(child, where)


def mutants(path: Path, name: str, seed: int) -> Iterator[Mutant]:
    """Make all mutants of a module."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    seen: Counter[str] = Counter()
    for where, node, put in places(module):
        for other in changed(node):
            old, new = (ast.unparse(one).partition("\n")[0] for one in (node, other))
            change = f"{where}: {old}  ->  {new}"
            seen[change] += 1
            key = hashlib.sha256(f"{seed} {change} {seen[change]}".encode()).hexdigest()
            put(other)
            source = ast.unparse(ast.fix_missing_locations(module))
            put(node)
            yield key, name, source, f"{name}:{getattr(node, 'lineno', 0)} {change}"


class Copy:
    """A copy of the tree as the package `grucible`, the first on Python's path."""

    def __init__(self, tree: Path, below: Path, area: str) -> None:
        """Copy, and take the comments from the modules of an area."""
        self.root, self.below = below / "grucible", below
        hidden = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "build", "out")
        shutil.copytree(tree, self.root, ignore=hidden)
        modules, _, tests = AREAS[area].partition(":")
        found = [self.root / name for name in modules.split()]
        files = [file for one in found for file in (one.glob("*.py") if one.is_dir() else [one])]
        self.names = [str(f.relative_to(self.root)) for f in sorted(files) if f.is_file()]
        self.tests = [
            *map(str, (f for name in tests.split() for f in self.root.rglob(f"test_{name}.py")))
        ]
        for name in self.names:
            self.write(name, ast.unparse(ast.parse((self.root / name).read_text("utf-8"))))

    def write(self, name: str, source: str) -> None:
        """Replace a module, and what was compiled of it."""
        file = self.root / name
        file.write_text(source, encoding="utf-8")
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            compiled.unlink()

    def fails(self, seconds: float) -> str:
        """Run the tests until one fails, with a limit on the time: say which, or "" if all passed."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-qx",
            "-n0",
            "-p",
            "no:cacheprovider",
            "--tb=no",
        ]
        environment = os.environ | {"PYTHONPATH": str(self.below), "TMPDIR": str(self.below)}
        try:
            ended = subprocess.run([*command, *self.tests], cwd=self.root, env=environment, text=True,
                                   capture_output=True, check=False, timeout=seconds)  # fmt: skip
        except subprocess.TimeoutExpired:
            return "time"
        failed = re.search(r"^(?:FAILED|ERROR) ([^:\s]+)", ended.stdout, re.MULTILINE)
        return "" if ended.returncode == 0 else failed[1] if failed else "start"


def measure(area: str, asked: argparse.Namespace, folder: Path) -> list[str]:
    """Run the sample of one area: say how many mutants were killed, and which survived."""
    copies: queue.Queue[Copy] = queue.Queue()
    for job in range(asked.jobs):
        copies.put(Copy(asked.tree.resolve(), folder / f"{area}{job}", area))
    first, start = copies.queue[0], time.monotonic()
    if failed := first.fails(3600):
        sys.exit(f"{area}: {failed} fails without a mutant")
    seconds = 3 * (time.monotonic() - start) + 30
    sources = {name: (first.root / name).read_text("utf-8") for name in first.names}
    every = [m for name in first.names for m in mutants(asked.tree / name, name, asked.seed)]
    sample = sorted(every)[: asked.sample]

    def run(mutant: Mutant) -> str:
        _, name, source, what = mutant
        tree = copies.get()
        tree.write(name, source)
        ended = tree.fails(seconds)
        tree.write(name, sources[name])
        copies.put(tree)
        print(f"{area}: {what}: {ended or 'survived'}", flush=True)
        return "" if ended else f"  survived  {what}"

    with ThreadPoolExecutor(asked.jobs) as threads:
        alive = [one for one in threads.map(run, sample) if one]
    killed = len(sample) - len(alive)
    share = f"{killed} of {len(sample)} killed ({killed / len(sample):.0%})"
    return [f"{area}: {share}, of {len(every)} mutants", *alive]


def main() -> None:
    """Measure the areas, and print each when it is done."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=20, help="mutants of each area")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="mutants at the same time")
    parser.add_argument("--area", action="append", choices=AREAS, help="an area; repeatable")
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1])
    asked, lines = parser.parse_args(), list[str]()
    with tempfile.TemporaryDirectory(prefix="power-") as folder:
        for area in asked.area or AREAS:
            lines += measure(area, asked, Path(folder))
            print(*lines, sep="\n", flush=True)


if __name__ == "__main__":
    main()
