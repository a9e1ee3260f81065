"""Making vector files: the same digest however they are made, only what is missing, only whole files."""

from __future__ import annotations

import itertools
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from grucible.cases.errors import GrucibleError
from grucible.cases.operators.semantics import one_of
from grucible.cases.specs.spec_file import find_specs
from grucible.gen import answering as answers
from grucible.gen.cli import gen_command
from grucible.gen.stacks import Stack
from grucible.gen.tolerances.classes import CHAINS, CLASSES
from grucible.vectors.find import CORE, find_vectors, load_vectors
from grucible.vectors.published import published_digests
from grucible.vectors.reader import open_vectors

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


def gen(*arguments: str | Path, jobs: int = 1) -> Result:
    words = [*map(str, arguments), "--jobs", str(jobs)]
    return CliRunner().invoke(gen_command, words)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "theme.yaml"
    file.write_text(SPEC)
    return file


def digest(file: Path) -> str:
    with open_vectors(file) as vectors:
        vectors.verify_content()
        return vectors.content_sha256


def test_the_digest_does_not_depend_on_jobs_or_on_the_run(spec: Path, tmp_path: Path) -> None:
    for out, jobs in (("a", 1), ("b", 2), ("c", 1)):
        result = gen(spec, "-o", tmp_path / out, jobs=jobs)
        assert result.exit_code == 0, result.output
    digests = {digest(tmp_path / out / "theme.h5") for out in "abc"}
    assert len(digests) == 1
    assert gen(spec, "-o", tmp_path / "d", "--seed", "1").exit_code == 0
    assert digest(tmp_path / "d" / "theme.h5") not in digests


def test_tolerances_are_stored_in_chains(spec: Path, tmp_path: Path) -> None:
    """For every class, no smaller than that of a better one, and zero in padding alone."""
    gen(spec, "-o", tmp_path / "out")
    for case in load_vectors(tmp_path / "out"):
        assert set(case.answer.tolerances) == {one.name for one in CLASSES[case.dtype]}
        padding = np.arange(4) >= case.inputs["sequence_lengths"][:, None, None]  # (batch, 1, time)
        for name, expected in case.answer.outputs.items():
            for chain in CHAINS[case.dtype]:
                limits = [case.answer.tolerances[one.name][name] for one in chain]
                assert {limit.shape for limit in limits} == {expected.shape}
                for better, worse in itertools.pairwise(limits):
                    assert (better <= worse).all()
                computed = ~padding[..., None] if name == "Y" else True
                assert ((limits[-1] > 0) == np.broadcast_to(computed, expected.shape)).all()


def test_only_what_is_missing_or_changed_is_made(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    file = out / "theme.h5"
    assert "made 1 file with 32 cases" in gen(spec, "-o", out).output
    first = file.stat().st_mtime_ns
    assert "made 0 files with 0 cases" in gen(spec, "-o", out).output
    assert file.stat().st_mtime_ns == first
    # a subset never counts as the whole, nor the whole as a subset
    assert "made 1 file with 16 cases" in gen(spec, "-o", out, "--dtype", "float16").output
    assert "made 1 file with 32 cases" in gen(spec, "-o", out).output
    assert "made 1 file with 32 cases" in gen(spec, "-o", out, "--seed", "3").output
    spec.write_text(SPEC + "# a comment\n")
    assert "made 1 file with 32 cases" in gen(spec, "-o", out, "--seed", "3").output
    file.write_bytes(file.read_bytes()[:5000])
    assert "made 1 file with 32 cases" in gen(spec, "-o", out, "--seed", "3").output
    assert list(out.iterdir()) == [file]


def test_adding_a_case_changes_no_other(spec: Path, tmp_path: Path) -> None:
    gen(spec, "-o", tmp_path / "a")
    spec.write_text(SPEC.replace("[forward, bidirectional]", "[reverse, forward, bidirectional]"))
    gen(spec, "-o", tmp_path / "b")
    before = {case.id: case for case in load_vectors(tmp_path / "a")}
    after = {case.id: case for case in load_vectors(tmp_path / "b")}
    assert len(before) == 32
    assert len(after) == 48
    for case_id, case in before.items():
        there = {**after[case_id].inputs, **after[case_id].answer.outputs}
        for name, array in {**case.inputs, **case.answer.outputs}.items():
            np.testing.assert_array_equal(there[name], array)


def test_a_draw_that_cannot_be_kept_is_drawn_again(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gen(spec, "-o", tmp_path / "plain")
    refused: set[bytes] = set()

    def once(stack: Stack, dtype: str) -> dict[int, str]:
        """Refuse what comes first with its attributes and lengths."""
        found = {}
        for place in range(len(stack)):
            asked = repr((dtype, one_of(stack.semantics, place))).encode()
            asked += stack.inputs.lengths[place].tobytes()
            if asked not in refused:
                refused.add(asked)
                found[place] = "x"
        return found

    monkeypatch.setattr(answers, "overflows", once)
    assert gen(spec, "-o", tmp_path / "again").exit_code == 0
    first = {case.id: case for case in load_vectors(tmp_path / "plain")}
    for case in load_vectors(tmp_path / "again"):
        assert (case.inputs["X"] != first[case.id].inputs["X"]).mean() > 0.9


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    ("owner", "seed", "cases"),
    [("openvino", 1, 568), ("onnx", 2, 376), ("bnnsgraph", 2**40 + 7, 252)],
)
def test_any_seed_works(owner: str, seed: int, cases: int, tmp_path: Path) -> None:
    specs = [spec for spec in find_specs() if spec.theme == "core"]
    core = [str(spec.document.name) for spec in specs if spec.model.operator.startswith(owner)]
    result = gen(*core, "-o", tmp_path, "--seed", str(seed))
    assert result.exit_code == 0, result.output
    assert sum(1 for _ in load_vectors(tmp_path)) == cases


def test_ctrl_c_ends_cleanly_and_leaves_only_whole_files(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "grucible", "gen", "-o", str(tmp_path / "out"), "--jobs", "2"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # what is started in the background ignores Ctrl-C, and its children inherit that
    )
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out").rglob("*.h5")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "files in" in err
    assert "are whole" in err
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert files
    for file in files:
        digest(file)


def _killed(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_is_named_with_what_to_do(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grucible.gen.files._make", _killed)
    result = gen(spec, "-o", tmp_path / "out", jobs=2)
    assert isinstance(result.exception, GrucibleError)
    assert "was killed, perhaps for lack of memory; fewer --jobs need less" in str(result.exception)
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]


def test_nothing_selected_and_unknown_dtype(spec: Path, tmp_path: Path) -> None:
    for option, value, words in (
        ("--select", "nothing*", "no case is selected by --select 'nothing*'; see the ids with"),
        ("--dtype", "float8", "--dtype float8: expected one of"),
    ):
        result = gen(spec, "-o", tmp_path / "out", option, value)
        assert isinstance(result.exception, GrucibleError)
        assert words in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_core_vectors_are_the_published_ones_and_small() -> None:
    published = published_digests()
    core = find_vectors(None)
    folders = ("bnnsgraph/gru", "onnx/gru", "openvino/gru_cell", "openvino/gru_sequence")
    plain = [f"{folder}/{name}.h5" for folder in folders for name in ("plain", "plain_sizes")]
    assert [relative for _, relative in core] == [
        *plain,
        "bnnsgraph/gru/core.h5",
        "onnx/gru/core.h5",
        "openvino/gru_cell/core.h5",
        "openvino/gru_sequence/core.h5",
        "openvino/gru_sequence/core_with_zero.h5",
    ]
    for file, relative in core:
        assert digest(file) == published[relative]
    assert sum(file.stat().st_size for file, _ in core) <= 16 << 20
    assert set(published) == {f"{spec.path}.h5" for spec in find_specs()}
    assert CORE.name == "vectors"


def test_verify_says_and_decides(tmp_path: Path) -> None:
    core = str(next(spec.document.name for spec in find_specs() if spec.path.endswith("cell/core")))
    result = gen(core, "-o", tmp_path, "--verify")
    assert result.exit_code == 0
    assert "content digests: all 1 equal the published ones" in result.output
    for option in (("--seed", "1"), ("--dtype", "float16"), ("--select", "*")):
        result = gen(core, "-o", tmp_path / "part", *option, "--verify")
        assert result.exit_code == 2
        assert not (tmp_path / "part").exists()


def test_what_is_not_published_does_not_verify(spec: Path, tmp_path: Path) -> None:
    result = gen(spec, "-o", tmp_path / "out", "--verify")
    assert result.exit_code == 1
    assert "content digests: none is published of these specs" in result.output


def test_a_shipped_spec_keeps_its_folder_wherever_the_tree_lies(tmp_path: Path) -> None:
    from grucible.cases.specs.spec_file import SHIPPED

    tree = tmp_path / "checkout" / "cases" / "openvino" / "gru_cell"
    tree.mkdir(parents=True)
    for name in ("spec.schema.json", "openvino/gru_cell/core.yaml"):
        (tmp_path / "checkout" / "cases" / name).write_bytes((SHIPPED / name).read_bytes())
    for given in (tree / "core.yaml", tree, tmp_path / "checkout" / "cases"):
        assert [spec.path for spec in find_specs((given,))] == ["openvino/gru_cell/core"]


def limited() -> None:
    """No file of this process may be longer, as on a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))


def test_a_disk_that_is_full_is_told_and_what_was_there_stays(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    gen(spec, "-o", out)
    [file] = out.rglob("*.h5")
    before = file.read_bytes()
    ended = subprocess.run(
        [sys.executable, "-m", "grucible", "gen", str(spec), "-o", str(out), "--seed", "1", "--jobs", "1"],
        capture_output=True, text=True, check=False, preexec_fn=limited,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"grucible: {file}: cannot be written (File too large)\n"
    assert list(out.rglob("*.h5")) == [file]
    assert [path for path in out.rglob("*") if path.is_file()] == [file]
    assert file.read_bytes() == before
