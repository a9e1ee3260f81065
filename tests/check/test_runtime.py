"""Finding a runtime by name or place; one that cannot be used is one line and status 2."""

from __future__ import annotations

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from grucible.cases.errors import RuntimeNotUsable
from grucible.check.runtimes import runtime
from grucible.check.runtimes.runtime import load_runtime, registered_runtimes

from .conftest import Command, strict_json
from .made import IMPORT_ANSWER, make_block, write_vectors

MODULES = {
    "good": f'"""A module."""\n{IMPORT_ANSWER}def run(question):\n    """Answers right.\n\n    More."""\n    return answer(question)\n',
    "imports_nothing": "import a_module_that_is_not_there\n",
    "not_python": "def run(question:\n",
    "raises": "raise RuntimeError('no licence\\nwas found')\n",
    "exits": "import sys\nsys.exit('bye')\n",
    "aborts": "import os\nos.abort()\n",
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in MODULES.items():
        (tmp_path / f"rt_{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    write_vectors(tmp_path / "cell.h5", make_block(["a", "b"]))
    return tmp_path


UNUSABLE = [
    (
        "nonsense",
        r"runtime 'nonsense' is unknown; expected one of iree, mnn, mnn-kernel, onnx-reference, onnxruntime, "
        r"onnxruntime-constant, .*, openvino-onnx-dynamic, tract, or ",
    ),
    ("", r"runtime '' is unknown|give one of --runtime"),
    ("rt_good:walk", r"rt_good has no function 'walk'"),
    ("rt_gone:run", r"rt_gone does not import: ModuleNotFoundError: No module named 'rt_gone'"),
    ("./rt_gone.py:run", r"rt_gone\.py: no such file"),
    ("rt_imports_nothing:run", r"does not import: ModuleNotFoundError: No module named 'a_module"),
    ("./rt_not_python.py:run", r"does not import: SyntaxError: "),
    ("rt_raises:run", r"does not import: RuntimeError: no licence was found"),
    ("rt_exits:run", r"rt_exits does not import: SystemExit: bye"),
    (
        ":run",
        r"runtime :run: '' does not import: it names no module; expected package.module:function, ",
    ),
]


@pytest.mark.parametrize(("spec", "says"), UNUSABLE, ids=[spec for spec, _ in UNUSABLE])
@pytest.mark.usefixtures("modules")
def test_unusable(spec: str, says: str) -> None:
    with pytest.raises(RuntimeNotUsable) as refused:
        load_runtime(spec)
    assert re.search(says, str(refused.value)), refused.value
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


def test_a_file_shadows_no_module(modules: Path, command: Command) -> None:
    """A runtime in a file `wave.py` that imports the standard library's `wave` gets that one."""
    (modules / "deep").mkdir()
    (modules / "deep" / "wave.py").write_text(MODULES["good"] + "import wave\nwave.Wave_read\n")
    ended = command("check", "cell.h5", "--runtime", "./deep/wave.py:run")
    assert (ended.status, ended.err) == (0, "")


def test_an_object_with_a_call_is_a_function(modules: Path) -> None:
    (modules / "rt_object.py").write_text(
        "class Engine:\n"
        '    """An engine."""\n'
        "    version = 7\n"
        "    def __call__(self, question):\n"
        "        return question.buffers()\n"
        "engine = Engine()\n"
    )
    loaded = load_runtime("./rt_object.py:engine")
    assert (loaded.version, loaded.about) == ("7", "An engine.")


def registered(monkeypatch: pytest.MonkeyPatch, **places: str) -> None:
    points = [EntryPoint(name, place, runtime.GROUP) for name, place in places.items()]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)  # noqa: ARG005


def test_registered_runtimes() -> None:
    assert [point.name for point in registered_runtimes()] == [
        "iree",
        "mnn",
        "mnn-kernel",
        "onnx-reference",
        "onnxruntime",
        "onnxruntime-constant",
        "onnxruntime-opset7",
        "opencv",
        "openvino",
        "openvino-constant",
        "openvino-default",
        "openvino-dynamic",
        "openvino-dynamic-parameters",
        "openvino-onnx",
        "openvino-onnx-dynamic",
        "tract",
    ]


def test_the_command_lists_them(command: Command) -> None:
    ended = command("runtimes")
    assert ended.status == 0
    names = [line.split()[0] for line in ended.out.splitlines() if line[:1] not in (" ", "")]
    rows = strict_json(command("runtimes", "--json").out)
    wanted = [point.name for point in registered_runtimes()]
    assert [row["name"] for row in rows] == names[:-1] == wanted
    assert len({row["about"] for row in rows}) == len(wanted)
    assert all(set(row) == {"name", "version", "about"} and row["about"] for row in rows)
    for row in rows:
        assert f"{row['name']}  {row['version'] or 'not installed'}" in ended.out


def test_one_that_is_not_installed_says_how_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """grucible has extras for its own; what brings another package's, that package knows."""
    name = "grucible.check.runtimes.onnxruntime"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    registered(
        monkeypatch, **{"onnxruntime-eager": f"{name}:inputs", "torch-eager": "not_there:run"}
    )
    with pytest.raises(RuntimeNotUsable) as refused:
        load_runtime("onnxruntime-eager")
    assert str(refused.value).startswith(
        "runtime onnxruntime-eager is not installed (ModuleNotFound"
    )
    assert str(refused.value).endswith("); pip install 'grucible[onnxruntime]'")
    with pytest.raises(RuntimeNotUsable) as refused:
        load_runtime("torch-eager")
    assert str(refused.value) == (
        "runtime torch-eager is not installed (ModuleNotFoundError: No module named "
        "'not_there'); install what it needs"
    )


def test_runtimes_lists_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    place = f"grucible_test_{'x' * 8}"
    registered(monkeypatch, here="importlib.metadata:version", gone=f"{place}:run")
    ended = command("runtimes")
    assert ended.status == 0
    assert (
        "gone  not installed\n    runtime gone is not installed (ModuleNotFoundError" in ended.out
    )
    assert "here  " in ended.out
    assert "any other: package.module:function, ./file.py:function, or 'exec: COMMAND'" in ended.out


ENDS = {
    "hangs": ("while True:\n    pass\n", "did not load in 2 s"),
    "aborts": ("import os\nos.abort()\n", r"while loading it crashed \(SIGABRT\); "),
    "ends": ("import os\nos._exit(0)\n", r"while loading it ended its process \(exit status 0\)"),
    "exits": ("import sys\nsys.exit(0)\n", "does not load: SystemExit: 0"),
    "interrupts": ("raise KeyboardInterrupt\n", "does not load: KeyboardInterrupt"),
}


def test_runtimes_goes_on_after_one_that_ends_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    """Or that never loads, or prints; each is a line of its own, and so are those after it."""
    for name, (text, _) in ENDS.items():
        (tmp_path / f"rt_at_import_{name}.py").write_text(f"print('\\x1b[2Jfrom {name}')\n{text}")
    (tmp_path / "rt_named.py").write_text("class run:\n    'Is here.'\n    version = '1.2'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("grucible.check.observed.registered.LOAD_SECONDS", 2.0)
    last = {"unnamed": "rt_unnamed:run", "z": "rt_named:run"}
    (tmp_path / "rt_unnamed.py").write_text("def run(question):\n    'Has no version.'\n")
    registered(monkeypatch, **{name: f"rt_at_import_{name}:run" for name in ENDS}, **last)
    ended = command("runtimes")
    assert ended.status == 0
    for name, (_, says) in ENDS.items():
        said = f"^{name}  not usable\n    runtime {name}:? {says}"
        assert re.search(said, ended.out, re.MULTILINE), (name, ended.out)
    assert "unnamed  no version\n    Has no version.\nz  1.2\n    Is here.\n" in ended.out
    assert "\x1b" not in ended.out + ended.err


def test_what_those_installed_can_do(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    """In a few lines each; of the others, that they are not."""
    pytest.importorskip("onnx")
    here = {
        "onnx-reference": "grucible.check.runtimes.onnx_reference:reference",
        "none": "no_such:run",
    }
    registered(monkeypatch, **here)
    ended = command("runtimes", "--profile", "--select", "onnx.GRU-14/plain/float32/[cf]*")
    assert (ended.status, ended.err) == (0, "")
    told = ended.out.splitlines()
    assert told[0] == "none  not installed"
    assert any(line.startswith("      onnx.GRU-14: ") and " wrong" in line for line in told)
    assert "        clip ignored: clip0.5 (float32)" in told


def test_selecting_is_for_profiles(command: Command) -> None:
    assert "--select goes with --profile" in command("runtimes", "--select", "*").said_in_one_line()
