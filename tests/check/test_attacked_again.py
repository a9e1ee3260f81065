"""What a third attack found."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from edited import edited

import grucible
from grucible.cases.errors import GrucibleError
from grucible.cases.specs import spec_file
from grucible.check import foretold
from grucible.check.judging.expectations import Expectation, Expectations
from grucible.vectors.find import CORE
from grucible.vectors.hdf5.attributes import write_text_attribute
from grucible.vectors.writer import write_digests

from .conftest import HERE, Command
from .numpy_gru import run as right

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"
FLOAT32 = "openvino.GRUCell-3/core/float32/*"
SPEC = """\
operator: openvino.GRUCell-3
about: three cases
dtypes: [float32]
sizes: {batch_size: 2, input_size: 3, hidden_size: 4}
cases:
  - list: [{}, {linear_before_reset: true}, {clip: 0.5}]
"""


def changed(tmp_path: Path, change: Callable[[Any], None]) -> Path:
    """A copy of a core file, changed and signed again by a stranger."""
    copy = Path(shutil.copy(CELL, tmp_path / "copy.h5"))
    with edited(copy) as file:
        change(file)
        write_digests(file)
    return copy


def limits(value: Callable[[str], float]) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        for block in file["float32"].values():
            for name, arrays in block["tolerance"].items():
                arrays["Ho"][...] = value(name)

    return change


@pytest.fixture
def junk(tmp_path: Path) -> str:
    code = "{name: np.full(t.shape, -12345.0).astype(t.dtype) for name, t in q.outputs.items()}"
    (tmp_path / "junk.py").write_text(f"import numpy as np\ndef run(q):\n    return {code}\n")
    return f"{tmp_path / 'junk.py'}:run"


def test_junk_does_not_conform_where_another_chain_admits_nothing(
    tmp_path: Path, junk: str, command: Command
) -> None:
    """An infinite tolerance of the demanded class says nothing, whatever the last class admits."""
    path = changed(tmp_path, limits(lambda name: np.inf if name == "bfloat16-gemm" else 0.0))
    ended = command("check", path, "--runtime", junk, "--select", FLOAT32,
                    "--arithmetic", "float32=bfloat16-gemm")  # fmt: skip
    assert (ended.status, ended.out.startswith("incomplete: ")) == (1, True)
    assert "58 decide nothing" in ended.out


def test_junk_does_not_conform_where_no_class_admits_anything(
    tmp_path: Path, junk: str, command: Command
) -> None:
    path = changed(tmp_path, limits(lambda _: 0.0))
    ended = command("check", path, "--runtime", junk, "--select", FLOAT32, "--atol", "1e30")
    assert (ended.status, ended.out.startswith("incomplete: ")) == (1, True)


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path, command: Command) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/null")
    before = Path("/dev/null").stat()
    for name in ("fifo", "device"):
        said = command("run", CELL, "--runtime", NUMPY, "-o", tmp_path / name).said_in_one_line()
        assert "is no regular file; name another place" in said
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)
    assert Path("/dev/null").stat().st_ino == before.st_ino


def test_what_a_user_wrote_is_not_replaced(tmp_path: Path, command: Command) -> None:
    """A spec, a program, expectations: neither by outputs nor by digests nor by a report."""
    spec, source = tmp_path / "mine.yaml", tmp_path / "mine.py"
    spec.write_text(SPEC)
    shutil.copy(HERE / "numpy_gru.py", source)
    package = tmp_path / "package.json"
    package.write_text('{"name": "mine"}')
    before = spec.read_bytes(), source.read_bytes()
    runtime = f"{source}:run"
    for arguments in (
        ["gen", spec, "-o", tmp_path / "out", "--digests", spec],
        ["gen", spec, "-o", tmp_path / "out", "--tolerance-digests", spec],
        ["run", CELL, "--runtime", runtime, "-o", source],
        ["check", CELL, "--runtime", runtime, "--report", f"json={source}"],
        ["check", CELL, "--runtime", runtime, "--report", f"json={spec}"],
        ["check", CELL, "--runtime", runtime, "--report", f"json={package}"],
    ):
        said = command(*arguments).said_in_one_line()
        assert "is there already, and " in said
        assert "name another place" in said
    assert (spec.read_bytes(), source.read_bytes()) == before
    assert package.read_text() == '{"name": "mine"}'
    report = tmp_path / ("a" * 245 + ".json")
    for _ in range(2):  # an earlier one is replaced, however long its name
        assert (
            command("check", CELL, "--runtime", runtime, "--report", f"json={report}").status == 0
        )
    assert not list(tmp_path.glob(".*"))


def test_vectors_of_another_version_are_not_replaced(tmp_path: Path, command: Command) -> None:
    copy = Path(shutil.copy(CELL, tmp_path / "core.h5"))
    with edited(copy) as file:
        file.attrs["format_version"] = 3
    before = copy.read_bytes()
    said = command("run", CELL, "--runtime", NUMPY, "-o", copy).said_in_one_line()
    assert "is a vector file; name another place for the outputs" in said
    assert copy.read_bytes() == before


SHAPES = ["0x999999999999999999x999999999999999999", "0x" + "x".join(["99999999999"] * 7)]
PROGRAM = """\
import sys
i, o = sys.stdin.buffer, sys.stdout.buffer
def header():
    lines = []
    for line in i:
        line = line.decode().rstrip("\\n")
        if line == "end":
            return lines
        lines.append(line)
    sys.exit(0)
o.write(b"grucible 1\\nname t\\n@HELLO@end\\n"); o.flush()
header()
while True:
    i.read(sum(int(line.split()[-1]) for line in header() if line.startswith("input ")))
    o.write(b"@ANSWER@end\\n"); o.flush()
"""


def program(tmp_path: Path, answer: str, hello: str = "") -> str:
    text = PROGRAM.replace("@HELLO@", hello).replace("@ANSWER@", answer)
    (tmp_path / "program.py").write_text(text)
    return f"exec: {sys.executable} {tmp_path / 'program.py'}"


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_that_no_array_has_is_one_case_s_finding(
    shape: str, tmp_path: Path, command: Command
) -> None:
    runtime = program(tmp_path, f"ok\\noutput Ho float32 {shape} 0\\n")
    select = ["--select", f"{FLOAT32}relu_relu*"]
    ended = command("check", CELL, "--runtime", runtime, *select, "--json")
    assert (ended.status, ended.err) == (1, "")
    messages = [case["message"] for case in ended.report["cases"]]
    assert all("announces a tensor that is too large" in message for message in messages)


@pytest.mark.parametrize(("hello", "most"), [("parallel no\\n", 1), ("parallel yes\\n", 2)])
def test_parallel_no_means_no(hello: str, most: int, tmp_path: Path, command: Command) -> None:
    runtime = program(tmp_path, "unsupported x\\n", hello)
    noted = tmp_path / "pids"
    source = tmp_path / "program.py"
    note = f"import os, time; open({str(noted)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
    source.write_text(note + source.read_text())
    command("check", "--runtime", runtime, "--no-diagnose", "--select", "*/core*/float32/*")
    assert len(set(noted.read_text().split())) == most


def grucible_in(
    folder: Path, *arguments: object, **options: Any
) -> subprocess.CompletedProcess[str]:
    """The installed command, run in a folder: `python -m` would look for modules there."""
    code = "import sys; from grucible.__main__ import main; main()"
    command = [sys.executable, "-P", "-c", code, *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, **options
    )


def test_modules_of_the_working_directory_are_not_run(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    for name in ("json", "pickle", "socket", "signal", "threadpoolctl", "re"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('ran')\n")
    ended = grucible_in(tmp_path, "check", CELL, "--runtime", NUMPY, "--select", FLOAT32)
    assert (ended.returncode, ended.stderr) == (0, "")
    ended = grucible_in(tmp_path, "gen", "spec.yaml", "-o", "out", "--jobs", "2")
    assert (ended.returncode, ended.stderr) == (0, "")


def large(path: Path, size: int) -> None:
    """A vector file of one case with an input_size that no case has."""
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        for name, text in {"format": "grucible vectors", "operator": "openvino.GRUCell-3",
                           "theme": "core", "generator": "x"}.items():  # fmt: skip
            write_text_attribute(file, name, text)
        file.attrs["format_version"], file.attrs["seed"] = 2, 0
        file["spec"] = np.frombuffer(b"x", np.uint8)
        block = file.create_group("float32/b")
        for name, length in (("batch_size", 1), ("input_size", size), ("hidden_size", 1)):
            block.attrs[name] = length
        write_text_attribute(block, "tier", "required")
        block["id"] = np.array([b"openvino.GRUCell-3/core/float32/x"])
        block["attributes"] = np.array([b'{"hidden_size":1}'])
        for name, shape in {"inputs/X": (1, 1, size), "inputs/initial_hidden_state": (1, 1, 1),
                            "inputs/W": (1, 3, size), "inputs/R": (1, 3, 1)}.items():  # fmt: skip
            block.create_dataset(name, shape, "<f4", chunks=shape, compression="gzip")
            block[name][...] = 0.5
        block["outputs/Ho"] = np.full((1, 1, 1), 0.5, "f4")
        for name in ("float32", "float16-state", "bfloat16-gemm", "tf32", "bfloat16-operands"):
            block[f"tolerance/{name}/Ho"] = np.full((1, 1, 1), 1e-6, "f4")
        write_digests(file)


def test_a_case_too_large_to_be_answered_is_refused(tmp_path: Path, command: Command) -> None:
    large(tmp_path / "large.h5", 1_100_000)
    for arguments in (
        ["check", tmp_path / "large.h5", "--runtime", NUMPY],
        ["show", tmp_path / "large.h5", "openvino.GRUCell-3/core/float32/x"],
        ["score", tmp_path / "large.h5"],
    ):
        assert (
            "input_size is 1100000; expected at most 4096" in command(*arguments).said_in_one_line()
        )


def test_many_expectations(tmp_path: Path, command: Command) -> None:
    """Those of one case are found at once; so many globs are refused."""
    many = tmp_path / "many.yaml"
    many.write_text("".join(f'- {{cases: "*a{i}*b*", reason: r}}\n' for i in range(1001)))
    said = command("check", CELL, "--runtime", NUMPY, "--expect", many).said_in_one_line()
    assert "is the glob number 1001; expected at most 1000" in said
    given = [Expectation(f"*a{i}*b*", "r") for i in range(1001)]
    for refused in (
        lambda: grucible.verify(CELL, runtime=right, expectations=given),
        lambda: grucible.pytest.load(CELL, expect=given),
    ):
        with pytest.raises(
            GrucibleError, match=r"a1000.*: is the glob number 1001; expected at most"
        ):
            refused()
    names = [f"case-{number}" for number in range(50_000)]
    found = Expectations([Expectation(name, name) for name in [*names, "*-7", "case-7"]])
    assert [found.of(name).reason for name in names[:9]] == names[:9]  # type: ignore[union-attr]
    assert found.of("none") is None
    first = Expectations([Expectation("case-*", "glob"), Expectation("case-1", "one")])
    assert first.of("case-1") == Expectation("case-*", "glob")


def test_many_stale_expectations_are_looked_up_and_not_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A case spec is read once, however many names there are that no case has."""
    read: list[Path] = []

    def load(file: Path, relative: str) -> spec_file.CaseSpecFile:
        read.append(file)
        return load_spec(file, relative)

    load_spec = spec_file.load_spec
    monkeypatch.setattr(spec_file, "load_spec", load)
    for cached in (foretold._specs, foretold._ids_of):
        cached.cache_clear()
    names = [f"openvino.GRUCell-3/core/float32/none-{n}" for n in range(50)]
    stale = [Expectation(name, "r") for name in (*names, "*none-*")]
    report = grucible.verify(CELL, right, select="*/float32/*", expectations=stale)
    assert [use.stale for use in report.uses] == ["names no case"] * len(stale)
    assert len(read) == len(set(read)) > 1


SPECIAL = """\
import numpy as np
R = np.random.default_rng(3)
def run(q):
    pick = [np.inf, -np.inf, np.nan, -0.0, 1.0, 0.5, 3.0, 4.0]
    return {name: R.choice(pick, t.shape).astype(t.dtype) for name, t in q.outputs.items()}
"""


def test_special_numbers_make_no_warnings(tmp_path: Path) -> None:
    """Of what decides, no expected number is infinite or NaN: it would be refused."""
    random = np.random.default_rng(0)

    def plant(data: Any, *, finite: bool) -> None:
        array = data[()]
        where = random.random(array.shape) < 0.1
        wild: list[Any] = [0x7F80, 0xFF80, 0x7FC0, 0x7F81]
        pool: list[Any] = [0x7F7F, 1, 0x8000]
        if array.dtype.kind == "f":
            info = np.finfo(array.dtype)
            wild, pool = [np.inf, -np.inf, np.nan], [info.max, info.tiny, -0.0]
        pool += [] if finite else wild
        array[where] = random.choice(np.array(pool, array.dtype), where.sum())
        data[...] = array

    def change(file: Any) -> None:
        for dtype in ("float16", "float32", "float64", "bfloat16"):
            for name in list(file[dtype]):
                block, decides = file[f"{dtype}/{name}"], "noB" not in name
                for data in block["inputs"].values():
                    plant(data, finite=False)
                for data in block["outputs"].values():
                    plant(data, finite=decides)
                if not decides:
                    file.move(f"{dtype}/{name}", f"{dtype}/{name}-nonportable")
                    write_text_attribute(block, "tier", "nonportable")

    path = changed(tmp_path, change)
    (tmp_path / "special.py").write_text(SPECIAL)
    runtime = f"{tmp_path / 'special.py'}:run"
    some = ["--select", "*/lbr-*"]
    for arguments in (["check", path, "--runtime", runtime, *some], ["score", path, *some]):
        environment = os.environ | {"PYTHONWARNINGS": "always"}
        ended = grucible_in(tmp_path, *arguments, env=environment)
        assert (ended.returncode in (0, 1), ended.stderr) == (True, "")


def test_a_case_that_was_moved_out_of_the_verdict_is_found(
    tmp_path: Path, command: Command
) -> None:
    def demoted(file: Any) -> None:
        for name in list(file["float32"]):
            file.move(f"float32/{name}", f"float32/{name}-nonportable")
            write_text_attribute(file[f"float32/{name}-nonportable"], "tier", "nonportable")

    path = changed(tmp_path, demoted)
    said = command("check", path, "--runtime", NUMPY, "--recompute", "1").said_in_one_line()
    assert "is marked as nonportable, and it holds nothing that is" in said


LONG = """\
operator: openvino.GRUSequence-5
about: cases that take long
dtypes: [float64]
sizes: {batch_size: 8, seq_length: 40, input_size: 160, hidden_size: 160}
cases:
  - product:
      clip: [absent, 0.25, 0.5, 1.0]
      direction: [forward, reverse, bidirectional]
"""


def test_ctrl_c_does_not_wait_for_what_is_at_work(tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(LONG)
    command = [sys.executable, "-m", "grucible", "gen", "long.yaml", "-o", "out", "--jobs", "2"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    time.sleep(3)  # both processes evaluate a case, which takes far longer
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "interrupted; 0 of 1 files in out are whole\n")


def test_a_death_is_told_where_children_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "dies.py").write_text("import os\ndef run(q):\n    os.abort()\n")
    arguments = ["check", CELL, "--runtime", "./dies.py:run", "--select", f"{FLOAT32}relu_relu*"]
    ignoring = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # noqa: E731
    ended = grucible_in(tmp_path, *arguments, preexec_fn=ignoring)
    assert ended.returncode == 1
    assert "crashed (SIGABRT)" in ended.stdout
