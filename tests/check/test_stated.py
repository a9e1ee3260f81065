"""What a vector file states of its cases is held against them: tiers, readings, attributes."""

from __future__ import annotations

import shutil
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from grucible import load_vectors
from grucible.cases.operators.readings import READINGS
from grucible.gen import posed
from grucible.gen.posed import Posed, write_answered
from grucible.vectors.hdf5 import CORE
from grucible.vectors.writer import write_digests, write_text_attribute

from .conftest import HERE, Command
from .signed import changed, signed_anew

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"
ZERO = CORE / "openvino/gru_sequence/core_with_zero.h5"
KEEPS, BEFORE = "len-zero.initial-state", "reset-false.before"


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


def test_cases_of_nan_are_not_sold_as_required(tmp_path: Path, command: Command) -> None:
    """NaN with tolerance 0 admits nothing but NaN, and says nothing of a GRU."""

    def nan(file: Any) -> None:
        for block in file["float32"].values():
            for name in ("inputs/X", "inputs/initial_hidden_state", "outputs/Ho"):
                block[name][...] = np.nan
            for limits in block["tolerance"].values():
                limits["Ho"][...] = 0

    path = signed_anew(CELL, tmp_path / "v.h5", nan)
    (tmp_path / "nan.py").write_text(
        "import numpy as np\ndef run(q):\n"
        "    return {n: np.full(t.shape, np.nan, t.dtype) for n, t in q.outputs.items()}\n"
    )
    runtime = f"{tmp_path / 'nan.py'}:run"
    for more in ((), ("--recompute", "1")):
        said = command("check", path, "--runtime", runtime, *more).said_in_one_line()
        assert "expects NaN or an infinity, and its tier is required; expected finite" in said


def test_ambiguous_cases_are_not_sold_as_required(tmp_path: Path, command: Command) -> None:
    def required(file: Any) -> None:
        for name in list(file["float32"]):
            if "-ambiguous" not in name:
                del file[f"float32/{name}"]
                continue
            new = f"float32/{name.replace('-ambiguous', '')}"
            file.move(f"float32/{name}", new)
            del file[new]["readings"]
            del file[new].attrs["tier"]
            write_text_attribute(file[new], "tier", "required")

    path = signed_anew(CORE / "onnx/gru/core.h5", tmp_path / "v.h5", required)
    said = command("check", path, "--runtime", "onnxruntime", "--recompute", "1").said_in_one_line()
    assert "is marked as required, and it is ambiguous" in said


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
        with h5py.File(tmp_path / "v.h5", "r+") as file:
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


def test_an_attribute_twice(tmp_path: Path, command: Command) -> None:
    def doubled(file: Any) -> None:
        block = next(iter(file["float32"].values()))
        texts = [text.replace(b'{"', b'{"hidden_size":6,"', 1) for text in block["attributes"][()]]
        del block["attributes"]
        block["attributes"] = np.array(texts)

    copy = Path(shutil.copy(CELL, tmp_path / "v.h5"))
    with h5py.File(copy, "r+") as file:
        doubled(file)
        write_digests(file)
    said = command("check", copy, "--runtime", NUMPY).said_in_one_line()
    assert "an attribute stands there twice" in said
