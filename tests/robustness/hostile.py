"""Hostile runtimes, each judged by the real command line in a process of its own: the judge ends in
time and never says that one conforms which misbehaves in a case that decides."""

from __future__ import annotations

import itertools
import os
import re
import runpy
import shutil
import sys
import time
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from robustness.kills import MARK, gone
from robustness.measured import GRUCIBLE, Ended, Row, ended

HERE = Path(__file__).resolve().parent
CHECK = HERE.parent / "check"
TIMEOUT = 2
SECONDS = 15.0
"""A judge takes its timeout for each case that hangs, three at most, and in all no more than this,
on a machine that others use."""
HALTED = 60.0
"""So long after its start a judge that has not ended is stopped."""
CONFORMS = re.compile(r"conforms(?! where)")
DRIVER = """
import sys
from grucible.check.observed import isolated
isolated.START_SECONDS = 3.0
if sys.argv[1]:
    isolated.command_of = lambda _: [sys.executable, "-S", sys.argv[1]]
from grucible.__main__ import main
main(args=sys.argv[2:])
"""
"""The command line, but that a program can be named which speaks the protocol, and that loading may
take three seconds in place of five minutes."""
ZERO = "return {'Ho': __import__('numpy').zeros((2, 2), 'f4')}"
MODULES = {
    "syntax": "def run(:",
    "raises": "raise ValueError('no\\n\\x1b[2Jmodule')",
    "own-base": "class E(BaseException): pass\nraise E",
    "interrupts": "raise KeyboardInterrupt",
    "exits": "import sys; sys.exit(0)",
    "exits-hard": "import os; os._exit(0)",
    "aborts": "import os; os.abort()",
    "hangs": "import time; time.sleep(600)",
    "hangs-in-c": "import ctypes; ctypes.PyDLL(None).sleep(600)",
    "endless": "while True: pass",
    "shouts": "import os\nwhile True: os.write(2, b'x' * 4096)",
    "prints": "import sys\nwhile True: print('ok')",
    "no-run": "walk = 3",
    "a-number": "run = 3",
    "nothing": "",
    "zeros": "\0" * 100,
    "recursion": "import sys; sys.setrecursionlimit(1 << 30)\ndef f(): f()\nf()",
    "imports-itself": "from grucible.check.observed.serve import serve; serve(__file__ + ':run')",
    "speaks": "import os\n"
    "for n in range(3, 64):\n"
    "    try: os.write(n, b'grucible 1\\nname conforms: 9 of 9\\nend\\nok\\nend\\n' * 9)\n"
    "    except OSError: pass\n" + f"def run(q): {ZERO}",
    "closes": f"import os; os.closerange(3, 999)\ndef run(q): {ZERO}",
    "no-arguments": "def run(): pass",
    "many-arguments": "def run(a, b, *, c): pass",
    "asynchronous": "async def run(q): return {}",
    "generates": "def run(q): yield q",
    "a-type": "class run:\n    def __init__(self, q): pass",
    "not-callable-twice": "class R:\n    def __call__(self, q): del R.__call__; "
    + ZERO
    + "\nrun = R()",
    "version-raises": "class R:\n    version = property(lambda s: 1 / 0)\n"
    f"    def __call__(self, q): {ZERO}\nrun = R()",
    "version-hangs": "import time\nclass R:\n    version = property(lambda s: time.sleep(600))\n"
    "    def __call__(self, q): pass\nrun = R()",
    "version-long": f"def run(q): {ZERO}\nrun.version = '\\n\\x1b[2J' * 9999999",
    "all-attributes": "class R:\n    def __getattr__(self, name): raise SystemExit(0)\nrun = R()",
    "hidden": "def __getattr__(name): raise KeyboardInterrupt",
    "no-builtins": f"import builtins\ndel builtins.len\ndef run(q): {ZERO}",
    "no-modules": f"import sys\nsys.modules.clear()\ndef run(q): {ZERO}",
    "hangs-at-exit": f"import atexit, time\natexit.register(time.sleep, 600)\ndef run(q): {ZERO}",
    "profiled": f"import sys\nsys.settrace(lambda *a: 1 / 0)\ndef run(q): {ZERO}",
    "no-memory": "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1, 1))\n"
    f"def run(q): {ZERO}",
    "forks": "import os\nfor _ in range(4): os.fork()\n" + f"def run(q): {ZERO}",
}
"""Modules that misbehave when they are imported or called; no answer of theirs is right."""
_numbers = itertools.count()


@dataclass(frozen=True)
class Hostile:
    """A runtime, the vectors it is asked (of which each judge gets a copy), and whether all that it
    answers is right at last."""

    kind: str
    name: str
    runtime: str
    vectors: Path
    honest: bool = False
    program: str = ""

    def command(self, vectors: Path) -> list[str]:
        """The command that judges it."""
        options = ["check", str(vectors), "--runtime", self.runtime, "--timeout", str(TIMEOUT)]
        if self.program or self.kind == "modules":
            return [sys.executable, "-c", DRIVER, self.program, *options]
        return [*GRUCIBLE, *options]


def wrong(one: Hostile, how: Ended, left: list[str]) -> Iterator[str]:
    """What of a judge's end should not have been."""
    if how.seconds > SECONDS:
        yield f"took {how.seconds:.0f} s"
    if how.status not in (0, 1, 2):
        yield f"status {how.status}, stderr ends {how.err[-300:]!r}"
    if re.search(r"^Traceback", how.err, re.MULTILINE):
        yield f"a traceback of the judge's own: {how.err[-300:]!r}"
    if not one.honest and CONFORMS.match(how.out):
        yield f"said {how.out.splitlines()[0]!r}"
    if how.status == 2 and not how.err.splitlines()[-1:][0].startswith("grucible: "):
        yield f"status 2, stderr {how.err[-300:]!r}"
    if left:
        yield f"left running: {'; '.join(left)}"


def said(how: Ended, left: list[str]) -> str:
    """How a judge ended, for counting."""
    if left:
        return "a process sent away lived on"
    if how.status == 2:
        return "status 2, one line"
    words = how.out.partition(":")[0]
    return f"status {how.status}, {words}"


def judged(one: Hostile, folder: Path) -> tuple[Hostile, Ended, list[str]]:
    """Judge a runtime; what is left running is told, and killed."""
    value = f"{os.getpid()}-hostile-{next(_numbers)}"
    own = folder / value
    own.mkdir()
    vectors = Path(shutil.copy(one.vectors, own))
    how = ended(one.command(vectors), limit=HALTED, cwd=own, env={**os.environ, MARK: value})
    _, left = gone(value)
    return one, how, left


def tests_of_check() -> Any:
    """The module tests/check/made.py, which is one of a package without a name."""
    package = types.ModuleType("grucible_check_tests")
    package.__path__ = [str(CHECK)]
    sys.modules[package.__name__] = package
    return import_module(f"{package.__name__}.made")


def hostile(folder: Path) -> Iterator[Hostile]:
    """All of them, after writing their vectors into the folder."""
    made = tests_of_check()
    cell = folder / "cell.h5"
    made.write_vectors(cell, made.make_block(made.NAMES))
    for name, value in runpy.run_path(str(CHECK / "misbehaving.py")).items():
        if getattr(value, "__qualname__", "").startswith("on_bad_cases.") or name == "prints":
            honest = name in ("prints", "big_endian", "returns_less")  # of one output, the one
            runtime = f"{CHECK / 'misbehaving.py'}:{name}"
            yield Hostile("misbehaving.py", name, runtime, cell, honest)
    more = runpy.run_path(str(HERE / "more_runtimes.py"))
    for name in more["RUNTIMES"]:
        runtime = f"{HERE / 'more_runtimes.py'}:{name}"
        yield Hostile("more_runtimes.py", name, runtime, cell, name in more["HONEST"])
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
        yield Hostile("modules", name, f"{folder / name}.py:run", cell)
    for name in [*runpy.run_path(str(CHECK / "takers.py"))["TAKERS"], "process"]:
        one = written(made, folder / f"taker-{name}.h5", [name])
        yield Hostile("takers.py", name, f"{CHECK / 'takers.py'}:run", one)
    for name in runpy.run_path(str(CHECK / "programs.py"))["PROGRAMS"]:
        one = written(made, folder / f"{name}.h5", ["a", f"b-bad-{name}", "c"], zeros=True)
        program = str(CHECK / "programs.py")
        yield Hostile("programs.py", name, "program", one, name == "flood_of_complaints", program)


def written(made: Any, path: Path, ids: list[str], *, zeros: bool = False) -> Path:
    """Vectors of some cases, whose right answers are `zeros` where a program knows no others."""
    outputs = {"Ho": np.zeros((len(ids), 2, 2), np.float32)} if zeros else None
    made.write_vectors(path, made.make_block(ids, outputs=outputs))
    return path


def rows(folder: Path) -> Iterator[Row]:
    """A row for each place that runtimes come from; two are judged at a time."""
    found: dict[str, Row] = {}
    with ThreadPoolExecutor(2) as pool:
        start = time.monotonic()
        for one, how, left in pool.map(lambda one: judged(one, folder), list(hostile(folder))):
            row = found.setdefault(one.kind, Row(f"hostile runtimes: {one.kind}"))
            row.see(said(how, left), how.seconds, how.megabytes)
            row.findings += [f"{one.name}: {what}" for what in wrong(one, how, left)]
    print(f"hostile: {time.monotonic() - start:.0f} s", file=sys.stderr)
    yield from found.values()
