"""Finding a runtime by name or place; one that cannot be used is one line and status 2."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from grucible.cases.errors import RuntimeNotUsable
from grucible.check.runtimes import runtime
from grucible.check.runtimes.runtime import (
    RuntimeNotInstalled,
    load_runtime,
    registered_runtimes,
)

from .conftest import Command, strict_json
from .made import IMPORT_ANSWER, make_block, write_vectors

MODULES = {
    "good": f'"""A module."""\n{IMPORT_ANSWER}def run(question):\n    """Answers right.\n\n    More."""\n    return answer(question)\n',
    "imports_nothing": "import a_module_that_is_not_there\n",
    "not_python": "def run(question:\n",
    "raises": "raise RuntimeError('no licence\\nwas found')\n",
    "exits": "import sys\nsys.exit('bye')\n",
    "aborts": "import os\nos.abort()\n",
    "constant": "run = 3\n",
    "a_class": "class Gru:\n    def __call__(self, question):\n        return {}\n",
    "of_models": "def run(path, inputs):\n    return {}\n",
    "ends_tests": "import pytest\npytest.exit('no GPU', returncode=0)\n",
    "lazy": "def __getattr__(name):\n    raise ImportError(f'{name} needs torch')\n",
    "odd": (
        "class Run:\n    def __call__(self, question):\n        return {}\n"
        "    @property\n    def parallel(self):\n        raise SystemExit(0)\nrun = Run()\n"
    ),
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in MODULES.items():
        (tmp_path / f"rt_{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    write_vectors(tmp_path / "cell.h5", make_block(["a", "b"]))
    return tmp_path


UNUSABLE = {
    "nonsense": r"runtime 'nonsense' is unknown; expected one that `grucible runtimes` lists, .{,80}$",
    "Onxruntime": r"\(did you mean 'onnxruntime'\?\); expected .{,120}$",
    "./rt_good.py:walk": r"rt_good\.py:walk: \./rt_good\.py has no 'walk'$",
    "./rt_good.py:rnu": r"has no 'rnu' \(did you mean 'run'\?\)$",
    "rt_of_models:run": r"run: is called here with \(question\), and takes \(path, inputs\); `grucible model` .{,120} call with \(question\)$",
    "rt_a_class:Gru": r"rt_a_class:Gru: is a class; name an instance of it, such as run = Gru\(\)$",
    "rt_constant:run": r"rt_constant:run: names no function",
    "rt_gone:run": r"rt_gone does not import: ModuleNotFoundError: No module named 'rt_gone'; name a file by its path, such as ./rt_gone.py:run$",
    "rt/gone.py:run": r"rt/gone.py:run: there is no file rt/gone\.py; the working directory is /",
    "./rt_god.py:run": r"there is no file \./rt_god\.py \(did you mean 'rt_good\.py'\?\)",
    "./rt_imports_nothing.py:run": r"does not import: ModuleNotFoundError: No module named 'a_module",
    "./rt_not_python.py:run": r"does not import: SyntaxError: ",
    "rt_raises:run": r"does not import: RuntimeError: no licence was found",
    "rt_exits:run": r"rt_exits does not import: SystemExit: bye",
    "rt_ends_tests:run": r"does not import: Exit: no GPU",
    "rt_lazy:run": r"rt_lazy does not import: ImportError: run needs torch \(rt_lazy.py:2\)",
    "rt_odd:run": r"does not import: SystemExit: 0",
    ":run": r"runtime :run: '' does not import: it names no module; expected package.module:function, ",
    "./rt_good:run": r"'\./rt_good' does not import: it names no module; expected .* or \./file\.py:function$",
    "rt good:run": r"does not import: ",
    "rt_good.run": r"'rt_good\.run' is unknown \(did you mean 'rt_good:run'\?\); expected",
    "rt.good.run": r"'rt\.good\.run' is unknown; expected",
    "rt_good.py": r"did you mean \./rt_good.py:run\?",
}


@pytest.mark.parametrize(
    ("name", "remedy"), [("json-x", "install x_backend"), ("x-json", r"install 'grucible\[x\]'")]
)
def test_the_remedy_names_what_is_missing(
    name: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the first package of a chain, such as keras, its second may be missing."""

    def load(_: EntryPoint) -> None:
        raise ModuleNotFoundError("No module named 'x_backend'", name="x_backend.core")

    monkeypatch.setattr(EntryPoint, "load", load)
    point = EntryPoint(name, "grucible.x:y", "grucible.runtimes")
    monkeypatch.setattr(runtime, "registered_runtime", lambda _: point)
    with pytest.raises(RuntimeNotInstalled, match=remedy):
        load_runtime(name)


@pytest.mark.parametrize("spec", UNUSABLE)
@pytest.mark.usefixtures("modules")
def test_unusable(spec: str) -> None:
    with pytest.raises(RuntimeNotUsable) as refused:
        load_runtime(spec)
    assert re.search(UNUSABLE[spec], str(refused.value)), refused.value
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [("exits", "does not import: SystemExit: bye"), ("aborts", "SIGABRT|while loading")],
)
@pytest.mark.usefixtures("modules")
def test_a_module_that_ends_the_process(name: str, says: str, command: Command) -> None:
    """Its own last words may stand on stderr as well."""
    ended = command("check", "cell.h5", "--runtime", f"./rt_{name}.py:run")
    assert (ended.status, ended.out) == (2, "")
    (ours,) = [line for line in ended.err.splitlines() if line.startswith("grucible: ")]
    assert all(part in ours for part in says.split("|"))


@pytest.mark.parametrize("spec", ["rt_good:run", "./rt_good.py:run", "{absolute}:run"])
def test_usable(spec: str, modules: Path, command: Command) -> None:
    spec = spec.format(absolute=modules / "rt_good.py")
    ended = command("check", "cell.h5", "--runtime", spec, "--json")
    assert ended.status == 0
    assert ended.report["runtime"] == {"name": spec, "version": ""}


def test_the_command_lists_them(command: Command) -> None:
    ended = command("runtimes")
    assert ended.status == 0
    names = [line.split()[0] for line in ended.out.splitlines() if line.startswith("  ")]
    rows = strict_json(command("runtimes", "--json").out)
    wanted = [point.name for point in registered_runtimes()]
    assert [row["name"] for row in rows] == sorted(names) == wanted
    assert len({row["about"] for row in rows}) == len(wanted)
    assert all(set(row) == {"name", "version", "about"} and row["about"] for row in rows)
    for row in rows:
        what = ended.out.split(f"\n  {row['name']}")[0].splitlines()
        title = next(line for line in reversed(what) if not line.startswith(" "))
        assert (f", {row['version']}" if row["version"] else "not installed: pip install ") in title


ENDS = {
    "hangs": ("while True:\n    pass\n", "did not load in 5 s"),
    "aborts": ("import os\nos.abort()\n", r"crashed \(SIGABRT\)(; .*)? while loading"),
    "exits": ("import sys\nsys.exit(0)\n", "does not load: SystemExit: 0"),
    "interrupts": ("raise KeyboardInterrupt\n", "does not load: KeyboardInterrupt"),
}


def test_runtimes_goes_on_after_one_that_ends_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """Or that never loads, or prints; each is a line of its own, and so are those after it."""
    for name, (text, _) in ENDS.items():
        (tmp_path / f"rt_at_import_{name}.py").write_text(f"print('\\x1b[2Jfrom {name}')\n{text}")
    (tmp_path / "rt_named.py").write_text(
        "class run:\n    'Is here.'\n    version = '1.2'\n    __init__ = lambda self, question: None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("grucible.check.observed.isolated.LIST_SECONDS", 5.0)
    (tmp_path / "rt-1.dist-info").mkdir()
    places = [*(f"{name} = rt_at_import_{name}:run" for name in ENDS), "z = rt_named:run", ""]
    points = "\n".join(["[grucible.runtimes]", *places])
    (tmp_path / "rt-1.dist-info" / "entry_points.txt").write_text(points)
    ended = command("runtimes")
    assert ended.status == 0
    for name, (_, says) in ENDS.items():
        said = f"^not usable: runtime {name}:? {says}.*\n  {name}$"
        assert re.search(said, ended.out, re.MULTILINE), (name, ended.out)
    assert "Is here., 1.2\n  z\n" in ended.out
    assert "\x1b" not in ended.out + ended.err
