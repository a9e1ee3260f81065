"""What a fifth attack found: readings that a file states, shares that it foresees, files that were replaced."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from edited import edited

from grucible import load_vectors
from grucible.cases.operators.readings import READINGS
from grucible.gen.making import posed
from grucible.gen.making.posed import Posed, write_answered
from grucible.vectors.find import CORE
from grucible.vectors.hdf5.seal import SEAL_BYTES
from grucible.vectors.writer import write_digests

from .conftest import HERE, Command

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"
ZERO = CORE / "openvino/gru_sequence/core_with_zero.h5"
KEEPS, BEFORE = "len-zero.initial-state", "reset-false.before"


def strangers(path: Path, rename: Callable[[str], str] = str) -> None:
    """Ambiguous cases of a GRUSequence with the reset gate after, answered under the readings at hand."""
    cases = []
    for case in load_vectors(ZERO):
        if case.attributes["linear_before_reset"] and case.tier == "ambiguous":
            question = replace(case.question, id=rename(case.id))
            cases.append(Posed(question.id, lambda question=question: question))
    write_answered(path, cases, "a stranger's")


def test_another_owner_s_reading_is_refused(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would accept a plain misreading."""
    both = ((KEEPS,), (BEFORE,), (KEEPS, BEFORE))
    with monkeypatch.context() as patched:
        patched.setattr(posed, "touched_by", lambda *_: both)
        strangers(tmp_path / "v.h5")
    said = command("check", tmp_path / "v.h5", "--runtime", NUMPY).said_in_one_line()
    assert f"readings/{BEFORE}: is not a reading" in said or f"+ {BEFORE}: is not a reading" in said


@pytest.mark.parametrize("stored", [(), ((KEEPS,), (KEEPS, BEFORE))])
def test_readings_are_recomputed_too(
    stored: tuple[tuple[str, ...], ...],
    tmp_path: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that the specification leaves open, no more and no fewer."""
    owners = (*READINGS[BEFORE].owners, "openvino")
    monkeypatch.setitem(READINGS, BEFORE, replace(READINGS[BEFORE], owners=owners))
    with monkeypatch.context() as patched:
        patched.setattr(posed, "touched_by", lambda *_: stored or ((KEEPS,),))
        strangers(tmp_path / "v.h5")
    if not stored:
        with edited(tmp_path / "v.h5") as file:
            for block in file["float32"].values():
                block.move(f"readings/{KEEPS}", "readings/was")
                block.copy("readings/was", f"readings/{BEFORE}")
                del block["readings/was"]
            for dtype in [d for d in file if d not in ("spec", "float32")]:
                del file[dtype]
            write_digests(file)
    monkeypatch.setitem(READINGS, BEFORE, replace(READINGS[BEFORE], touches=lambda *_: False))
    ended = command("check", tmp_path / "v.h5", "--runtime", NUMPY, "--recompute", "1")
    assert "has answers under other readings than its specification leaves open" in (
        ended.said_in_one_line()
    )


def test_a_share_cannot_be_foreseen(tmp_path: Path, command: Command) -> None:
    """Not by a checksum of the ids; and one answer at least is looked at."""

    def missed(case_id: str) -> str:
        number = 0
        while zlib.crc32(f"{case_id}-{number}".encode()) < 0.5 * 2**32:
            number += 1
        return f"{case_id}-{number}"

    strangers(tmp_path / "v.h5", missed)
    arguments = ["check", tmp_path / "v.h5", "--runtime", NUMPY, "--recompute"]
    half, least = (" ".join(command(*arguments, n).out.split()) for n in ("0.5", "1e-9"))
    assert "of 24 answers recomputed" in half
    assert "1 of 24 answers recomputed, all as stored" in least


def weights(path: Path, name: str) -> bytes:
    with h5py.File(path, "w") as file:
        if name == "format":
            file.attrs["format"] = "keras checkpoint"
        if name == "outputs":
            file.attrs["format"] = "grucible outputs"
        file["w"] = np.arange(1000.0)
    if name == "truncated":
        os.truncate(path, path.stat().st_size - 100)
    return path.read_bytes()


@pytest.mark.parametrize("name", ["format", "outputs", "truncated"])
def test_hdf5_files_of_others_stay(name: str, tmp_path: Path, command: Command) -> None:
    before = weights(tmp_path / "w.h5", name)
    said = command("run", CELL, "--runtime", NUMPY, "-o", tmp_path / "w.h5").said_in_one_line()
    assert "is there already, and holds no vectors or outputs" in said
    assert (tmp_path / "w.h5").read_bytes() == before


def test_what_appears_meanwhile_stays(tmp_path: Path, command: Command) -> None:
    (tmp_path / "slow.py").write_text(
        "import h5py, numpy as np\nasked = 0\n"
        "def run(q):\n    global asked\n    asked += 1\n"
        f"    if asked == 200:\n        with h5py.File({str(tmp_path / 'late.h5')!r}, 'w') as f:\n"
        "            f['w'] = [1, 2, 3]\n"
        "    return {n: np.zeros(t.shape, t.dtype) for n, t in q.outputs.items()}\n"
    )
    runtime = f"{tmp_path / 'slow.py'}:run"
    said = command("run", CELL, "--runtime", runtime, "-o", tmp_path / "late.h5").said_in_one_line()
    assert "holds no vectors or outputs" in said
    with h5py.File(tmp_path / "late.h5") as file:
        assert file["w"][()].tolist() == [1, 2, 3]


def test_texts_of_others_stay(tmp_path: Path, command: Command) -> None:
    (tmp_path / "q").mkdir()
    spec = "operator: openvino.GRUCell-3\nabout: x\ndtypes: [float32]\n"
    spec += (
        "sizes: {batch_size: 2, input_size: 2, hidden_size: 2}\ncases:\n  - list: [{clip: 0.5}]\n"
    )
    (tmp_path / "spec.yaml").write_text(spec)
    texts = {
        "q/core.questions": "my quiz\n",
        "pyproject.toml": "[build-system]\nrequires=[]\n",
        "theme.yaml": "# my spec\noperator: x\n",
        "SUMS": f"{'0' * 64}  weights.npz\n{'1' * 64}  core.h5\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for arguments in (
        ["ask", CELL, "-o", tmp_path / "q"],
        ["check", CELL, "--runtime", NUMPY, "--report", f"json={tmp_path / 'pyproject.toml'}"],
        ["audit", CELL, "-o", tmp_path / "theme.yaml"],
        ["gen", tmp_path / "spec.yaml", "-o", tmp_path / "out", "--digests", tmp_path / "SUMS"],
    ):
        said = command(*arguments).said_in_one_line()
        assert "is there already, and holds something else; name another place" in said
    assert {name: (tmp_path / name).read_text() for name in texts} == texts


def test_as_many_rows_as_no_block_has(tmp_path: Path, command: Command) -> None:
    copy = tmp_path / "v.h5"
    copy.write_bytes(CELL.read_bytes()[SEAL_BYTES:])
    with h5py.File(copy, "r+") as file:
        block = next(iter(file["float32"].values()))
        del block["id"]
        block.create_dataset("id", (1 << 20,), "S40", chunks=(1 << 14,), compression="gzip")
        block["id"][...] = b"x"
    said = command("check", copy, "--runtime", NUMPY).said_in_one_line()
    assert "no block is so large" in said


def test_a_tail_of_holes_is_not_digested(tmp_path: Path, command: Command) -> None:
    copy = Path(shutil.copy(CELL, tmp_path / "v.h5"))
    os.truncate(copy, 1 << 40)
    said = command("check", copy, "--runtime", NUMPY).said_in_one_line()
    assert "was changed after it was written" in said


def test_long_globs(tmp_path: Path, command: Command) -> None:
    (tmp_path / "e.yaml").write_text(f"- {{cases: '{'*e' * 300}', reason: r}}\n")
    said = command("check", "--runtime", NUMPY, "--expect", tmp_path / "e.yaml").said_in_one_line()
    assert "has more than 400 characters" in said


def test_archives_that_grow_too_much(tmp_path: Path, command: Command) -> None:
    np.savez_compressed(tmp_path / "a.npz", W=np.zeros((12, 500_000), ">f4"))
    options = ["--operator", "openvino.GRUCell-3", "--attributes", '{"hidden_size":4}']
    said = command("answer", tmp_path / "a.npz", *options).said_in_one_line()
    assert "has an array that is compressed too well" in said


def test_json_of_very_many(tmp_path: Path, command: Command) -> None:
    (tmp_path / "w.json").write_text("[" + "[]," * 8_100_000 + "[]]")
    arguments = ["import", tmp_path / "w.json", "--from", "webnn", "-o", tmp_path / "v.h5"]
    assert "has more parts than any export or test" in command(*arguments).said_in_one_line()


def test_another_driver_of_hdf5() -> None:
    environment = os.environ | {"HDF5_DRIVER": "direct", "HDF5_DRIVER_CONFIG": "x"}
    arguments = ["check", CELL, "--runtime", NUMPY, "--select", "*/float32/relu_relu*"]
    command = [sys.executable, "-m", "grucible", *map(str, arguments)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_attribute_twice(tmp_path: Path, command: Command) -> None:
    def doubled(file: Any) -> None:
        block = next(iter(file["float32"].values()))
        texts = [text.replace(b'{"', b'{"hidden_size":6,"', 1) for text in block["attributes"][()]]
        del block["attributes"]
        block["attributes"] = np.array(texts)

    copy = Path(shutil.copy(CELL, tmp_path / "v.h5"))
    with edited(copy) as file:
        doubled(file)
        write_digests(file)
    said = command("check", copy, "--runtime", NUMPY).said_in_one_line()
    assert "an attribute stands there twice" in said
