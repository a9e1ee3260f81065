"""Measure the power of the tests: change one thing in a module that decides; a test must fail.

python tests/power.py --sample 20 --seed 1 [--area judging] [--jobs 2] [--tree FOLDER] [--to FILE]

A mutant differs from the package by one operator, constant, condition, return value or statement. Mutants are
sorted by a hash of the change, so code that is the same in two trees gives the same sample. Each runs with the
tests of its area in a copy of the tree, whose modules have lost their comments, as mutants have.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import queue
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

AREAS = {
    "exact": "gen/exact: balls elementary round_ball trace exact",
    "tolerances": "gen/tolerances gen/gru.py gen/formula.py: error_arithmetic gate error_bounds clips exact"
    " trace tolerances oracles format_page",
    "reading": "vectors vectors/hdf5: writer reader digest between hostile seal selected each_case_once not_read"
    " format_2 format_page links odd_ids large_files outputs",
    "judging": "check/judging check/judging.py check/verdict.py: compare tolerance holding nonportable"
    " impossible_expectations reach infinite_tolerances verdict demanded expecting expectations one_reading"
    " one_case grade stated",
}
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
    fields = dict(ast.iter_fields(node))
    match node:
        case ast.Compare() | ast.BinOp() | ast.BoolOp():
            ops = fields.get("ops", [fields.get("op")])
            for at, op in enumerate(ops):
                for name in OTHERS.get(type(op).__name__, []):
                    new = getattr(ast, name)()
                    several = {"ops": [*ops[:at], new, *ops[at + 1 :]]}
                    yield type(node)(**fields | (several if "ops" in fields else {"op": new}))
        case ast.Name() | ast.Attribute():
            field = "id" if "id" in fields else "attr"
            for name in OTHERS.get(fields[field], []):
                yield type(node)(**fields | {field: name})
        case ast.UnaryOp():
            yield node.operand
        case ast.Constant(value) if isinstance(value, int | float):
            values = [not value] if isinstance(value, bool) else [value + 1, value - 1]
            yield from map(ast.Constant, values)
        case ast.Slice():
            for side, op in (("lower", ast.Add()), ("upper", ast.Sub())):
                if fields[side]:
                    yield ast.Slice(**fields | {side: ast.BinOp(fields[side], op, ast.Constant(1))})
        case ast.Return(value) if value and not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case (
            ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Break() | ast.Continue()
            | ast.Assign([ast.Subscript() | ast.Attribute()])
        ):  # fmt: skip
            yield ast.Pass()
        case ast.If(test=ast.Compare()) | ast.While(test=ast.Compare()):
            pass
        case ast.If() | ast.While() | ast.IfExp():
            yield type(node)(**fields | {"test": ast.UnaryOp(ast.Not(), node.test)})


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
        (below / "tmp").mkdir()
        found = [self.root / name for name in AREAS[area].partition(":")[0].split()]
        files = [file for one in found for file in (one.glob("*.py") if one.is_dir() else [one])]
        self.modules = [file for file in sorted(files) if file.is_file()]
        self.names = [str(file.relative_to(self.root)) for file in self.modules]
        for file, name in zip(self.modules, self.names, strict=True):
            self.write(name, ast.unparse(ast.parse(file.read_text(encoding="utf-8"))))

    def write(self, name: str, source: str) -> None:
        """Replace a module, and what was compiled of it."""
        file = self.root / name
        file.write_text(source, encoding="utf-8")
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
            compiled.unlink()

    def test(self, *arguments: str, seconds: int = 1800) -> tuple[int, str]:
        """Run pytest, with a limit of seconds on the CPU: its status, and the first file that failed."""
        command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--tb=no"]
        path = {"PYTHONPATH": str(self.below), "TMPDIR": str(self.below / "tmp")}
        with (self.below / "said").open("w+", encoding="utf-8") as said:
            status = subprocess.run(
                [*command, *arguments],
                cwd=self.root,
                env=os.environ | path,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.DEVNULL,
                check=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5)),
            ).returncode
            said.seek(0)
            failed = re.search(r"^(?:FAILED|ERROR) ([^:\s]+)", said.read(), re.MULTILINE)
        return status, failed[1] if failed else "time or start"


class Tests:
    """The tests of an area that pass without a mutant; those first that kill most in a second."""

    def __init__(self, copy: Copy, area: str) -> None:
        """Run all once, and leave out those that fail."""
        self.seconds: dict[str, float] = defaultdict(float)
        self.kills = Counter[str]()
        self.left_out: list[str] = []
        names = AREAS[area].partition(":")[2].split()
        files = [file for name in names for file in copy.root.glob(f"tests/**/test_{name}.py")]
        report = copy.below / "report.xml"
        copy.test(f"--junitxml={report}", "-ojunit_family=xunit1", *map(str, files))
        for case in ET.parse(report).iter("testcase"):
            self.seconds[case.attrib["file"]] += float(case.attrib["time"])
            if case.find("failure") is not None or case.find("error") is not None:
                self.left_out.append(f"--deselect={case.attrib['file']}::{case.attrib['name']}")
        if failed := self.run(copy):
            sys.exit(f"{area}: {failed} fails without a mutant")

    def run(self, copy: Copy) -> str:
        """Run them until one fails: say where, or "" if all passed."""
        files = sorted(self.seconds, key=lambda f: -(self.kills[f] + 0.1) / (self.seconds[f] + 1))
        limit = int(3 * sum(self.seconds.values())) + 30
        status, failed = copy.test("-x", *self.left_out, *files, seconds=limit)
        self.kills[failed] += status != 0
        return failed if status else ""


def measure(area: str, asked: argparse.Namespace, folder: Path) -> list[str]:
    """Run the sample of one area: say how many mutants were killed, and which survived."""
    copies: queue.Queue[Copy] = queue.Queue()
    for job in range(asked.jobs):
        copies.put(Copy(asked.tree.resolve(), folder / f"{area}{job}", area))
    first = copies.queue[0]
    sources = {
        name: file.read_text() for name, file in zip(first.names, first.modules, strict=True)
    }
    tests = Tests(first, area)
    every = [m for name in first.names for m in mutants(asked.tree / name, name, asked.seed)]
    sample = sorted(every)[: asked.sample]

    def run(mutant: Mutant) -> str:
        _, name, source, what = mutant
        copy = copies.get()
        copy.write(name, source)
        ended = tests.run(copy)
        copy.write(name, sources[name])
        copies.put(copy)
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
    parser.add_argument("--to", type=Path, help="a file for the result, too")
    asked, lines = parser.parse_args(), list[str]()
    with tempfile.TemporaryDirectory(prefix="power-") as folder:
        for area in asked.area or AREAS:
            lines += measure(area, asked, Path(folder))
            print(*lines, sep="\n", flush=True)
            if asked.to:
                asked.to.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
