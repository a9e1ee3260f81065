"""A place that cannot be written, or that holds what may not be replaced, is told before the work, which would
be lost."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path

import pytest

from grucible.vectors.find import CORE

from .conftest import HERE, Command

CELL = CORE / "openvino/gru_cell/core.h5"
CASE = "openvino.GRUCell-3/core/float32/noact"
HOLDS = "mine.txt: is there already, and"
WORK = (
    "grucible.check.observed.pool.RuntimePool",
    "grucible.check.shrinking.shrink.shrink",
    "grucible.check.profiling.profile.profile_of",
    "grucible.check.reports.suites.audit",
    "grucible.check.tracing.trace.trace",
    "grucible.check.verdict.judge",
    "grucible.check.importing.npz_files.suite_of_npz",
    "grucible.vectors.exchange.export.find_vectors",
    "grucible.gen.files.make_files",
)
NUMPY = f"{HERE / 'numpy_gru.py'}:run"


@pytest.fixture
def no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever begins the work fails in another way."""

    def begun(*_: object, **__: object) -> None:
        raise AssertionError("the work has begun")

    for module in {name.rpartition(".")[0] for name in WORK}:
        import_module(module)  # one that is imported below would keep what stands for the other
    for name in WORK:
        monkeypatch.setattr(name, begun)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("shrink {case} --runtime no:such -o {tmp}/mine.txt", HOLDS),
        ("shrink {case} --runtime no:such -o {tmp}/others.h5", "others.h5: holds other vectors of"),
        ("shrink {case} --runtime no:such -o /proc/none/a.h5", "cannot be written"),
        ("profile --runtime no:such --page {tmp}/none/a", "there is no directory {tmp}/none"),
        ("profile --runtime no:such --page /proc/a", "/proc/a: cannot be written"),
        ("audit {cell} -o {tmp}/none/a", "there is no directory {tmp}/none"),
        ("trace {case} --npz {tmp}/none/a", "there is no directory {tmp}/none"),
        ("check --runtime no:such --report json=/proc/a", "/proc/a: cannot be written"),
        ("check --runtime no:such --write-expect /proc/a", "/proc/a: cannot be written"),
        ("gen -o {tmp}/new --digests {tmp}/none/a", "there is no directory {tmp}/none"),
        ("gen -o {tmp}/new --digests /proc/a", "/proc/a: cannot be written"),
        (
            "check --runtime no:such --write-expect {tmp}/a.yaml --report json={tmp}/link",
            "--report and --write-expect: {tmp}/a.yaml is named twice; name another place",
        ),
        (
            "check --runtime no:such --report html={tmp}/a.yaml --report json={tmp}/link",
            "--report: {tmp}/link is named twice",
        ),
        (
            "gen -o {tmp}/new --digests {tmp}/a.yaml --tolerance-digests {tmp}/./a.yaml",
            "--digests and --tolerance-digests: {tmp}/a.yaml is named twice",
        ),
        (
            "gen -o {tmp}/new --digests {tmp}/link --tolerance-digests {tmp}/a.yaml",
            "--digests and --tolerance-digests: {tmp}/a.yaml is named twice",
        ),
        ("export --to npz -o /proc/none/a", "/proc/none/a: cannot be written"),
        ("export --to npz -o {tmp}/mine.txt/a", "mine.txt/a: cannot be written (Not a directory)"),
        (
            "export --to npz -o {tmp}",
            "{tmp}: is there already; name a folder that is new, or empty",
        ),
        ("import {tmp} --from npz -o /proc/none/a.h5", "/proc/none/a.h5: cannot be written"),
        ("import {tmp} --from npz -o /proc/none/a", "/proc/none/a: cannot be written"),
        ("import {tmp} --from npz -o {tmp}/taken.h5", "taken.outputs.h5: cannot be written (Is a"),
    ],
)
def test_before_the_work(words: str, says: str, tmp_path: Path, command: Command) -> None:
    (tmp_path / "mine.txt").write_text("mine\n")
    (tmp_path / "link").symlink_to("a.yaml")
    (tmp_path / "taken.outputs.h5").mkdir()
    shutil.copy(CELL, tmp_path / "others.h5")
    given = {"tmp": tmp_path, "cell": CELL, "case": CASE}
    said = command(*words.format(**given).split()).said_in_one_line()
    assert says.format(**given) in said
    assert (tmp_path / "mine.txt").read_text() == "mine\n"


def test_before_a_runtime_is_asked(tmp_path: Path, command: Command) -> None:
    asked = tmp_path / "asked"
    (tmp_path / "marks.py").write_text(
        f"import pathlib\ndef run(question):\n    pathlib.Path({str(asked)!r}).touch()\n"
    )
    runtime = f"{tmp_path / 'marks.py'}:run"
    ended = command("run", CELL, "--runtime", runtime, "-o", "/proc/none/a.h5", "--select", CASE)
    assert "/proc/none/a.h5: cannot be written" in ended.said_in_one_line()
    assert not asked.exists()
    command("run", CELL, "--runtime", runtime, "-o", tmp_path / "a.h5", "--select", CASE)
    assert asked.exists()


def test_a_list_of_digests_may_stand_in_a_new_directory(tmp_path: Path, command: Command) -> None:
    made = command("gen", "-o", tmp_path / "new", "--select", CASE, "--jobs", "1", "--digests", tmp_path / "new/list")  # fmt: skip
    assert made.status == 0, made.err
    assert (tmp_path / "new/list").read_text().endswith("  openvino/gru_cell/core.h5\n")


def test_of_several_files_all_places_are_looked_at_first(tmp_path: Path, command: Command) -> None:
    both = "openvino.GRU*/plain/float32/lbr"
    assert command("export", "--to", "npz", "-o", tmp_path / "ex", "--select", both).status == 0
    last = tmp_path / "in/openvino.GRUSequence-5/plain.h5"
    last.parent.mkdir(parents=True)
    last.write_text("mine\n")
    said = command("import", tmp_path / "ex", "-o", tmp_path / "in").said_in_one_line()
    assert "plain.h5: is there already, and is no HDF5 file" in said
    assert [path for path in (tmp_path / "in").rglob("*") if path.is_file()] == [last]


def test_where_expected_outputs_go_is_looked_at_before_answers_are_computed(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["import", tmp_path / "ex", "-o", tmp_path / "in"]
    assert command("export", "--to", "npz", "-o", tmp_path / "ex", "--select", CASE).status == 0
    (tmp_path / "in-outputs").mkdir()
    (tmp_path / "in-outputs/openvino.GRUCell-3").write_text("mine\n")
    monkeypatch.setattr("grucible.check.importing.importing.write_answered", None)
    said = command(*words).said_in_one_line()
    assert "in-outputs/openvino.GRUCell-3/core.h5: cannot be written (Not a directory)" in said


@pytest.mark.parametrize("place", ["new.h5", "taken"])
def test_the_outputs_of_a_directory_stand_in_one(
    place: str, some_vectors: Path, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "taken").write_text("mine\n")
    out = tmp_path / place
    ended = command("run", some_vectors, "--runtime", NUMPY, "-o", out)
    assert ended.said_in_one_line() == (
        f"grucible: {out}: is the place of one file; name a directory, for each vector file gives one of "
        "outputs\n"
    )
    assert not (tmp_path / "new.h5").exists()
