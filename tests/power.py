"""Measure the power of the tests: change one thing in a module that decides, and see whether a test fails.

python tests/power.py --sample 40 --seed 1 [--jobs 2] [--area judging] [--tree FOLDER] [--to FILE]

A mutant differs from the package by one operator, constant, condition, return value or statement. Mutants are
sorted by a hash of what changes, so that code which stays the same gives the same sample in another tree.
Each runs against the tests of its area, in a copy of the tree. The tests of an area are those that pass in a
copy whose modules have lost their comments, as mutants have; so none fails for that alone.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

AREAS = {
    "judging": (
        "check/judging/*.py check/judging.py check/verdict.py",
        "compare tolerance holding nonportable impossible_expectations reach infinite_tolerances verdict "
        "demanded expecting expectations one_reading one_case grade",
    ),
    "exact": (
        "gen/exact/*.py",
        "balls elementary error_free round_ball decided trace exact ledger",
    ),
    "tolerances": (
        "gen/tolerances/*.py gen/gru.py gen/formula.py",
        "error_arithmetic gate vacuity error_bounds clips exact readings trace tolerances oracle onnx_oracle "
        "bnnsgraph_oracle format_page",
    ),
    "reading": (
        "vectors/*.py vectors/hdf5/*.py",
        "writer reader digest between hostile seal selected each_case_once not_read format_2 format_page links "
        "odd_ids large_files",
    ),
}
"""For each area the globs of its modules, and the names of its files of tests. What a tree lacks is left out."""

_OTHERS = (
    "Lt:LtE,GtE LtE:Lt,Gt Gt:GtE,LtE GtE:Gt,Lt Eq:NotEq NotEq:Eq Is:IsNot IsNot:Is In:NotIn NotIn:In "
    "Add:Sub Sub:Add Mult:Div Div:Mult FloorDiv:Mult Mod:Mult Pow:Mult LShift:RShift RShift:LShift "
    "BitAnd:BitOr BitOr:BitAnd And:Or Or:And min:max max:min any:all all:any minimum:maximum "
    "maximum:minimum floor:ceil ceil:floor fmin:fmax fmax:fmin lower:upper upper:lower"
)
OTHERS = {one: others.split(",") for one, _, others in (s.partition(":") for s in _OTHERS.split())}
"""What stands in place of an operator of Python's syntax, or of a function."""
UNREAD = ("annotation", "returns", "decorator_list", "exc", "msg", "type_params")
"""Fields of the syntax tree without mutants: types, decorators and the messages of errors."""


class Mutant(NamedTuple):
    """A changed module. `key` is its place in the order of the sample."""

    path: str
    source: str
    key: str
    what: str


class Outcome(NamedTuple):
    """How tests ended: "passed", "failed" or "timeout"; seconds in all and of the CPU; the file that failed."""

    ended: str
    wall: float
    cpu: float
    file: str


def others(op: ast.AST) -> list[Any]:
    """The operators that may stand in place of one."""
    return [getattr(ast, name)() for name in OTHERS.get(type(op).__name__, ())]


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in place of a node of the syntax tree."""
    match node:
        case ast.Compare(left, ops, comparators):
            for at, op in enumerate(ops):
                for other in others(op):
                    yield ast.Compare(left, [*ops[:at], other, *ops[at + 1 :]], comparators)
        case ast.BinOp(left, op, right):
            yield from (ast.BinOp(left, other, right) for other in others(op))
        case ast.BoolOp(op, values):
            yield from (ast.BoolOp(other, values) for other in others(op))
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.Constant(value) if isinstance(value, bool):
            yield ast.Constant(not value)
        case ast.Constant(value) if isinstance(value, int | float):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Name(name, context) if name in OTHERS:
            yield ast.Name(OTHERS[name][0], context)
        case ast.Attribute(value, name, context) if name in OTHERS:
            yield ast.Attribute(value, OTHERS[name][0], context)
        case ast.Slice(lower, upper, step):
            one = ast.Constant(1)
            if lower:
                yield ast.Slice(ast.BinOp(lower, ast.Add(), one), upper, step)
            if upper:
                yield ast.Slice(lower, ast.BinOp(upper, ast.Sub(), one), step)
        case ast.Return(value) if value and not (isinstance(value, ast.Constant)):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Break() | ast.Continue():
            yield ast.Pass()
        case ast.Assign([ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case ast.If(test=ast.Compare()) | ast.While(test=ast.Compare()):
            pass
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            fields = {name: value for name, value in ast.iter_fields(node) if name != "test"}
            yield type(node)(test=ast.UnaryOp(ast.Not(), test), **fields)


def places(node: ast.AST, where: str = "") -> Iterator[tuple[str, ast.AST, Callable[[Any], None]]]:
    """The nodes that may change: the name of the function around, the node, and how to replace it."""
    named = ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef
    where = f"{where}.{node.name}".strip(".") if isinstance(node, named) else where
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


def mutants(tree: Path, path: Path, seed: int) -> Iterator[Mutant]:
    """All mutants of a module."""
    module, name = ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(tree))
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
            yield Mutant(name, source, key, f"{name}:{getattr(node, 'lineno', 0)} {change}")


def modules_of(tree: Path, area: str) -> list[Path]:
    """The modules of an area that a tree has."""
    return sorted(path for one in AREAS[area][0].split() for path in tree.glob(one))


def tests_of(tree: Path, area: str) -> list[str]:
    """The files of tests of an area that a tree has."""
    found = [tree.glob(f"tests/**/test_{name}.py") for name in AREAS[area][1].split()]
    return [str(path.relative_to(tree)) for paths in found for path in paths]


class Copy:
    """A copy of the tree as the package `grucible`, before all others on Python's path."""

    def __init__(self, tree: Path, below: Path) -> None:
        self.root = below / "grucible"
        unwanted = shutil.ignore_patterns(
            ".git", ".venv", ".*_cache", "__pycache__", "build", "out"
        )
        shutil.copytree(tree, self.root, ignore=unwanted)
        (below / "tmp").mkdir()
        self.environment = os.environ | {"PYTHONPATH": str(below), "TMPDIR": str(below / "tmp")}

    def write(self, path: str, source: str) -> None:
        """Replace a module, and forget what was compiled of it."""
        place = self.root / path
        place.write_text(source, encoding="utf-8")
        for compiled in (place.parent / "__pycache__").glob(f"{place.stem}.*"):
            compiled.unlink(missing_ok=True)

    def test(
        self, tests: list[str], *options: str, limits: tuple[float, float] = (3600, 7200)
    ) -> Outcome:
        """Run tests, in a process group of their own, within limits in seconds: of the CPU, and in all."""
        command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "--tb=no"]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        cpu = (int(limits[0]), int(limits[0]) + 5)
        process = subprocess.Popen(
            [*command, *options, *tests],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, cpu),
        )
        try:
            said, _ = process.communicate(timeout=limits[1])
        except subprocess.TimeoutExpired:
            said = ""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        ended = "passed" if status == 0 else "failed" if status > 0 else "timeout"
        failed = re.search(r"^(?:FAILED|ERROR) ([^:\s]+)", said, re.MULTILINE)
        return Outcome(ended, time.monotonic() - start, used, failed[1] if failed else "")


class Tests:
    """The tests of an area, those first that have killed most in a second."""

    def __init__(self, copy: Copy, area: str) -> None:
        """Run all in a tree without comments, and leave out those that fail there."""
        for path in modules_of(copy.root, area):
            source = ast.unparse(ast.parse(path.read_text(encoding="utf-8")))
            copy.write(str(path.relative_to(copy.root)), source)
        report = copy.root.parent / "report.xml"
        options = (f"--junitxml={report}", "-ojunit_family=xunit1")
        self.plain = copy.test(tests_of(copy.root, area), *options)
        self.seconds: Counter[str] = Counter()
        self.kills: Counter[str] = Counter()
        self.left_out: list[str] = []
        for case in ET.parse(report).iter("testcase"):
            self.seconds[case.attrib["file"]] += float(case.attrib["time"])
            if case.find("failure") is not None or case.find("error") is not None:
                self.left_out.append(f"--deselect={case.attrib['file']}::{case.attrib['name']}")
        times = ", ".join(f"{Path(file).stem} {s:.0f} s" for file, s in self.seconds.most_common())
        print(f"{area}: {self.plain.wall:.0f} s: {times}; left out: {self.left_out}", flush=True)

    def run(self, copy: Copy) -> Outcome:
        """Run them until one fails; more than twice their time is as if one failed."""
        files = sorted(
            self.seconds, key=lambda one: -(self.kills[one] + 0.1) / (self.seconds[one] + 1)
        )
        limits = (2 * self.plain.cpu + 20, 10 * self.plain.wall + 60)
        outcome = copy.test([*files, *self.left_out], "-x", limits=limits)
        self.kills[outcome.file] += 1
        return outcome


def measure(area: str, asked: argparse.Namespace, copies: queue.Queue[Copy]) -> str:
    """Run the sample of one area, and describe it in lines."""
    start, copy = time.monotonic(), copies.get()
    tests = Tests(copy, area)
    paths = modules_of(asked.tree, area)
    names = [str(path.relative_to(asked.tree)) for path in paths]
    plain = {name: (copy.root / name).read_text(encoding="utf-8") for name in names}
    assert tests.run(copy).ended == "passed", f"{area}: a test fails without a mutant"
    copies.put(copy)
    population = [mutant for path in paths for mutant in mutants(asked.tree, path, asked.seed)]
    sample = sorted(population, key=lambda mutant: mutant.key)[: asked.sample]

    def run(mutant: Mutant) -> str:
        copy = copies.get()
        for path, source in plain.items():
            copy.write(path, mutant.source if path == mutant.path else source)
        outcome = tests.run(copy)
        for path in plain:
            copy.write(path, plain[path])
        copies.put(copy)
        print(
            f"    {outcome.ended:8}{outcome.wall:4.0f} s  {mutant.what}  {outcome.file}", flush=True
        )
        return outcome.ended

    with ThreadPoolExecutor(asked.jobs) as threads:
        ends = list(threads.map(run, sample))
    survivors = [mutant.what for mutant, end in zip(sample, ends, strict=True) if end == "passed"]
    killed, minutes = len(sample) - len(survivors), (time.monotonic() - start) / 60
    head = f"{area}: {killed} of {len(sample)} killed ({killed / len(sample):.0%}), of {len(population)} mutants"
    return "\n".join(
        [f"{head}; {minutes:.0f} minutes", *(f"  survived  {one}" for one in survivors)]
    )


def main() -> None:
    """Measure each area, print what was killed, and list what survived."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=40, help="mutants for each area")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="mutants at the same time")
    parser.add_argument(
        "--area", action="append", choices=AREAS, help="this area alone; repeatable"
    )
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--to", type=Path, help="a file to write the result to as well")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="power-") as folder:
        copies: queue.Queue[Copy] = queue.Queue()
        for job in range(asked.jobs):
            copies.put(Copy(asked.tree.resolve(), Path(folder) / str(job)))
        results = []
        for area in asked.area or AREAS:
            results.append(measure(area, asked, copies))
            print(results[-1], flush=True)
            if asked.to:
                asked.to.write_text("\n".join(results) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
