"""Making vector files: the same digest however they are made, only what is missing, only whole files.

Cases that no attempt can draw are all named, and nothing that was good is lost.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from click.testing import CliRunner, Result
from threadpoolctl import threadpool_info

from grucible.cases.errors import GrucibleError
from grucible.cases.operators.semantics import one_of
from grucible.cases.specs.expand import expand
from grucible.cases.specs.spec_file import SHIPPED, find_specs, load_spec
from grucible.gen import answering
from grucible.gen.cli import gen_command
from grucible.gen.drawing import ORDINARY
from grucible.gen.processes import open_executor
from grucible.gen.stacks import Stack
from grucible.vectors.digest import file_digest, published_digests
from grucible.vectors.hdf5 import Folder, tree_of
from grucible.vectors.reader import open_vectors
from grucible.vectors.vector_set import load_vectors, open_set

SPEC = """\
operator: openvino.GRUSequence-5
about: a small theme
dtypes: [float32, float16]
sizes: {batch_size: 3, seq_length: 4, input_size: 5, hidden_size: 6}
cases:
  - product:
      activations: [[sigmoid, tanh], [relu, tanh]]
      direction: [forward, bidirectional]
      linear_before_reset: [false, true]
      sequence_lengths: [ragged, full]
"""
CORE = "openvino/gru_cell/core.h5"


def gen(*arguments: str | Path, jobs: int = 1) -> Result:
    words = [*map(str, arguments), "--jobs", str(jobs)]
    return CliRunner().invoke(gen_command, words)


def core(out: Path, *options: str) -> Result:
    """Make a published file."""
    [spec] = [s.document.name for s in find_specs() if f"{s.path}.h5" == CORE]
    return gen(spec, "-o", out, *options)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "theme.yaml"
    file.write_text(SPEC)
    return file


def digest(file: Path) -> str:
    vectors = open_vectors(file)
    vectors.verify_content()
    return vectors.content_sha256


def test_the_digest_does_not_depend_on_jobs_or_on_the_run(spec: Path, tmp_path: Path) -> None:
    digests = []
    for out, *options in (("a", "--seed", "0"), ("b",), ("c", "--seed", "1")):
        assert gen(spec, "-o", tmp_path / out, *options, jobs=1 + (out == "b")).exit_code == 0
        digests.append(digest(tmp_path / out / "theme.h5"))
    assert digests[0] == digests[1] != digests[2]


def contents(folder: Path) -> dict[str, str]:
    return {file.relative_to(folder).as_posix(): digest(file) for file in folder.rglob("*.h5")}


def root(result: Result) -> str:
    [line] = [line for line in result.output.splitlines() if line.startswith("root digest: ")]
    return line


@pytest.mark.parametrize("of", [2, 5, 16])
def test_parts_hold_each_case_once_and_join_to_the_whole(
    of: int, spec: Path, tmp_path: Path
) -> None:
    made, out = gen(spec, "-o", tmp_path / "whole"), tmp_path / "parts"
    ids = [case.id for case in load_vectors(tmp_path / "whole")]
    order = np.random.default_rng(of).permutation(of) + 1
    results = [gen(spec, "-o", out, "--shard", f"{one}/{of}") for one in order]
    assert all(one.exit_code == 0 for one in results)
    files = sorted(out.rglob("*.h5"))
    assert len(files) == sum("made 1 file" in one.output for one in results) > 1
    assert of < 16 or any(
        "no case" in one.output for one in results
    )  # a small theme has few blocks
    assert sorted(case.id for case in load_vectors(out)) == sorted(ids)
    before = files[0].stat().st_mtime_ns
    number = files[0].stem.rpartition(".")[2].replace("-of-", "/")
    assert "1 was up to date" in gen(spec, "-o", out, "--shard", number).output
    assert files[0].stat().st_mtime_ns == before
    lost, broken = files[-1], files[0]
    if len(files) > 2:
        lost.unlink()
        with h5py.File(broken, "r+") as file:
            dtype = next(name for name in file if name.startswith("float"))
            next(iter(file[dtype].values()))["inputs/X"][0] += 1
    joined = gen(spec, "-o", out)
    assert contents(out) == contents(tmp_path / "whole")
    assert root(joined) == root(made)
    assert "1 was up to date" in gen(spec, "-o", out, "--shard", number).output


def test_blocks_that_stand_in_parts_are_not_made_again(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in (1, 2):
        assert gen(spec, "-o", tmp_path / "out", "--shard", f"{one}/2").exit_code == 0
    monkeypatch.setattr("grucible.gen.files.make_chunks", None)
    assert gen(spec, "-o", tmp_path / "out").exit_code == 0
    other = gen(spec, "-o", tmp_path / "out", "--shard", "1/2", "--seed", "1")
    assert isinstance(other.exception, TypeError)  # parts of another seed are no parts of these


def test_only_what_is_missing_or_changed_is_made(spec: Path, tmp_path: Path) -> None:
    out, file = tmp_path / "out", tmp_path / "out" / "theme.h5"

    def made(*options: str) -> str:
        return gen(spec, "-o", out, *options).output

    assert "made 1 file with 32 cases" in made()
    first = file.stat().st_mtime_ns
    assert "made 0 files with 0 cases" in made()
    assert file.stat().st_mtime_ns == first
    # a subset never counts as the whole, nor the whole as a subset
    assert "made 1 file with 16 cases" in made("--dtype", "float16")
    assert "made 1 file with 32 cases" in made()
    assert "made 1 file with 32 cases" in made("--seed", "3")
    spec.write_text(SPEC + "# a comment\n")
    assert "made 1 file with 32 cases" in made("--seed", "3")
    file.write_bytes(file.read_bytes()[:5000])
    assert "made 1 file with 32 cases" in made("--seed", "3")
    assert list(out.iterdir()) == [file]


def test_what_grucible_did_not_write_is_replaced_with_force_alone(
    spec: Path, tmp_path: Path
) -> None:
    mine = tmp_path / "theme.h5"
    mine.write_text("mine\n")
    assert isinstance(gen(spec, "-o", tmp_path).exception, GrucibleError)
    assert mine.read_text() == "mine\n"
    assert gen(spec, "-o", tmp_path, "--force").exit_code == 0
    assert digest(mine)


def test_adding_a_case_changes_no_other(spec: Path, tmp_path: Path) -> None:
    gen(spec, "-o", tmp_path / "a")
    spec.write_text(SPEC.replace("[forward, bidirectional]", "[reverse, forward, bidirectional]"))
    gen(spec, "-o", tmp_path / "b")
    before = {case.id: case for case in load_vectors(tmp_path / "a")}
    after = {case.id: case for case in load_vectors(tmp_path / "b")}
    assert (len(before), len(after)) == (32, 48)
    for case_id, case in before.items():
        there = {**after[case_id].inputs, **after[case_id].answer.outputs}
        for name, array in {**case.inputs, **case.answer.outputs}.items():
            np.testing.assert_array_equal(there[name], array)


def test_a_draw_that_cannot_be_kept_is_drawn_again(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gen(spec, "-o", tmp_path / "plain")
    refused: set[str] = set()

    def once(stack: Stack, dtype: Any) -> dict[int, str]:
        """Refuse what comes first with its attributes and lengths."""
        found, dtypes = {}, np.broadcast_to(dtype, len(stack)).tolist()
        for place in range(len(stack)):
            lengths = stack.inputs.lengths[place].tolist()
            asked = repr((dtypes[place], one_of(stack.semantics, place), lengths))
            if asked not in refused:
                refused.add(asked)
                found[place] = "x"
        return found

    monkeypatch.setattr(answering, "overflows", once)
    assert gen(spec, "-o", tmp_path / "again").exit_code == 0
    first = {case.id: case for case in load_vectors(tmp_path / "plain")}
    for case in load_vectors(tmp_path / "again"):
        assert (case.inputs["X"] != first[case.id].inputs["X"]).mean() > 0.9


@pytest.mark.parametrize(("owner", "seed"), [("cell/core", 1), ("bnnsgraph/gru/plain", 2**40 + 7)])
def test_any_seed_works(owner: str, seed: int, tmp_path: Path) -> None:
    chosen = [str(one.document.name) for one in find_specs() if one.path.endswith(owner)]
    result = gen(*chosen, "-o", tmp_path, "--seed", str(seed))
    assert result.exit_code == 0, result.output
    assert sum(1 for _ in load_vectors(tmp_path)) > 0


def test_ctrl_c_leaves_only_whole_files(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "grucible", "gen", "-o", str(tmp_path / "out"), "--jobs", "2"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out").rglob("*.h5")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "are whole" in err
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert files
    for file in files:
        digest(file)


def _kill(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_is_named_with_what_to_do(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grucible.gen.files.make_chunks", _kill)
    result = gen(spec, "-o", tmp_path / "out", jobs=2)
    assert isinstance(result.exception, GrucibleError)
    assert "was killed, perhaps for lack of memory; fewer --jobs need less" in str(result.exception)
    assert not [*(tmp_path / "out").rglob("*.h5")]


_WORK = """
import os, pathlib, time
place = pathlib.Path({place!r})
(place / f"begun-{{os.getpid()}}").touch()
for _ in range(2000):
    time.sleep(0.01)
(place / "done").touch()
"""


def test_tasks_are_broken_off_once_their_outcomes_are_of_no_use(tmp_path: Path) -> None:
    """Those that wait in a process, too: Ctrl-C waited half a minute for them."""
    with open_executor(2) as executor:
        tasks = [executor.submit(exec, _WORK.format(place=str(tmp_path))) for _ in range(4)]
        while len(list(tmp_path.glob("begun-*"))) < 2:
            assert not any(one.done() for one in tasks)
            time.sleep(0.05)
    assert not (tmp_path / "done").exists()


def test_only_processes_that_make_cases_import_nothing_from_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with open_executor(2) as executor:
        assert executor.submit(os.getenv, "PYTHONSAFEPATH").result() == "1"
        assert (
            os.getenv("PYTHONSAFEPATH") is None
        )  # a runtime that starts meanwhile may import its neighbours


def test_each_process_uses_one_blas_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A BLAS that was loaded after the limit took four times as long, and every CPU."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with open_executor(2) as executor:
        found = executor.submit(threadpool_info).result()
    assert {one["num_threads"] for one in found} == {1}  # numpy's is loaded


def test_a_shipped_spec_keeps_its_folder_wherever_the_tree_lies(tmp_path: Path) -> None:
    tree = tmp_path / "checkout" / "cases" / "openvino" / "gru_cell"
    tree.mkdir(parents=True)
    for name in ("spec.schema.json", "openvino/gru_cell/core.yaml"):
        (tmp_path / "checkout" / "cases" / name).write_bytes((SHIPPED / name).read_bytes())
    for given in (tree / "core.yaml", tree, tmp_path / "checkout" / "cases"):
        assert [spec.path for spec in find_specs((given,))] == ["openvino/gru_cell/core"]


# published digests


def test_core_vectors_are_the_published_ones_and_small() -> None:
    published, shipped = published_digests(), open_set().files
    for file in shipped:
        assert digest(file.path) == published[file.relative]
    packed = (zlib.compress(file.path.read_bytes()) for file in shipped)  # as in a wheel
    assert sum(map(len, packed)) <= 12 << 20
    assert set(published) == {f"{spec.path}.h5" for spec in find_specs()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made")
    assert core(out).exit_code == 0
    return out


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    """A directory with a published file as it was made, of this test's own."""
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def test_a_sound_file_is_left_alone_and_verifies(out: Path, spec: Path) -> None:
    before = (out / CORE).stat().st_mtime_ns
    result = core(out, "--verify")
    assert result.exit_code == 0
    assert "made 0 files with 0 cases" in result.output
    assert "content digests: all 1 equal the published ones" in result.output
    assert (out / CORE).stat().st_mtime_ns == before
    for option in (("--seed", "1"), ("--dtype", "float16"), ("--select", "*")):
        assert core(out / "part", *option, "--verify").exit_code == 2
    result = gen(spec, "-o", out, "--verify")
    assert result.exit_code == 1
    assert "content digests: none is published of these specs" in result.output


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("inputs/X", "does not match its content_sha256"),
        ("outputs/Ho", "does not match its content_sha256"),
        ("tolerance/float32/Ho", "does not match its tolerance_sha256"),
        ("the digest", "does not match its content_sha256"),
        ("a tolerance and its digest", f"{CORE}: tolerances differ from the published digest"),
    ],
)
def test_bytes_that_are_not_what_a_digest_says(name: str, says: str, out: Path) -> None:
    """They are computed from the bytes in the file, not read from its attributes."""
    with h5py.File(out / CORE, "r+") as file:
        block = next(iter(file["float32"].values()))
        if name == "the digest":
            file.attrs["content_sha256"] = np.bytes_("0" * 64)
        else:
            array = block[name if name in block else "tolerance/float32/Ho"]
            array[...] = array[...] + np.float32(1)
        if name == "a tolerance and its digest":
            whole, blocks = file_digest(Folder(tree_of(file), ""), "tolerance_sha256")
            for group, digest in ((file, whole), *((file[at], one) for at, one in blocks.items())):
                text = np.array(digest.encode(), h5py.string_dtype("utf-8", len(digest)))
                group.attrs.create("tolerance_sha256", text)
    result = core(out, "--verify")
    assert result.exit_code == 1
    assert says in result.output
    assert "all 1 equal" not in result.output
    again = core(out).output
    assert "made 1 file with 248 cases" in again
    assert "all 1 equal the published ones, and so do those of tolerances" in again
    assert core(out, "--verify").exit_code == 0


# cases that cannot be drawn


# no float16 number is as large as alpha
LARGE = """\
operator: onnx.GRU-14
about: a large alpha
dtypes: [float16, float32]
sizes: {batch_size: 2, seq_length: 1, input_size: 2, hidden_size: 1}
cases:
  - product:
      activations: [[Sigmoid, ScaledTanh]]
      activation_alpha: [[1.0e+5], [1.0]]
      activation_beta: [[1.0e-3]]
      linear_before_reset: [0, 1]
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_all_are_named_and_the_others_kept(jobs: int, spec: Path, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(LARGE)
    made, digests = tmp_path / "out", tmp_path / "digests.txt"
    asked = (tmp_path / "a.yaml", spec, "-o", made, "--digests", digests)
    result = gen(*asked, jobs=jobs)
    lost = [line.partition(": ") for line in result.stderr.splitlines()]
    start = "onnx.GRU-14/a/float16/nodir-lbr"
    end = "-Sigmoid_ScaledTanh-alpha100000-beta0.001"
    assert [name for name, _, _ in lost] == [f"{start}0{end}", f"{start}1{end}"]
    for _, _, why in lost:
        assert why.startswith("24 draws failed; the last: an intermediate of 1")
        assert why.endswith("take smaller sizes, parameters or a smaller draw")
    assert str(result.exception).startswith(
        "2 cases could not be drawn (above); the 38 others were"
    )
    every = {case.id for case in expand(load_spec(tmp_path / "a.yaml", "a"))}
    assert {case.id for case in load_vectors(made / "a.h5")} == every - {
        name for name, _, _ in lost
    }
    assert len([*load_vectors(made / "theme.h5")]) == 32
    assert not digests.exists()
    again = gen(*asked, jobs=jobs)  # what lacks cases is not taken for what was asked for
    assert isinstance(again.exception, GrucibleError)
    assert f"made 1 file with 6 cases in {made}; 1 was up to date" in again.stdout


def test_a_whole_file_is_not_replaced_by_one_that_lacks_cases(tmp_path: Path) -> None:
    """Nor are the digests that stand."""
    spec, files = tmp_path / "a.yaml", [tmp_path / "out/a.h5", tmp_path / "digests.txt"]
    asked = (spec, "-o", files[0].parent, "--digests", files[1])
    spec.write_text(LARGE.replace("1.0e+5", "1.5"))
    assert gen(*asked).exit_code == 0
    before = [file.read_bytes() for file in files]
    spec.write_text(LARGE)
    result = gen(*asked)
    assert isinstance(result.exception, GrucibleError)
    assert f"{files[0]}: stays as it was" in result.stderr
    assert [file.read_bytes() for file in files] == before


MARKED = """\
operator: openvino.GRUCell-3
about: one case holds NaN, the others nothing that is nonportable
tier: nonportable
dtypes: [float32]
sizes: {batch_size: 2, input_size: 3, hidden_size: 4}
cases:
  - list: [{clip: 0.5}, {draw: nan}, {}]
"""


def test_ordinary_cases_of_tier_nonportable_are_not_made(spec: Path, tmp_path: Path) -> None:
    """They would decide nothing, and `check --recompute` would call the file a stranger's."""
    spec.write_text(MARKED)
    result = gen(spec, "-o", tmp_path)
    named = dict(line.split(": ", 1) for line in result.stderr.splitlines())
    start = "openvino.GRUCell-3/theme/float32/noact"
    assert list(named) == [start, f"{start}-clip0.5"]
    assert set(named.values()) == {ORDINARY}
    assert str(result.exception).endswith("2 cases could not be drawn (above); the other was")
    [only] = load_vectors(tmp_path / "theme.h5")
    assert (only.id, only.tier) == (f"{start}-nan", "nonportable")
