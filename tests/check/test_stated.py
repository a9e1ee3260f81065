"""What a stranger's file states of its cases: tiers, readings, attributes, and tolerances that admit all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from diagnosis.blocks import core_blocks

from grucible import load_vectors
from grucible.cases.operators.readings import READINGS
from grucible.gen import posed
from grucible.gen.posed import Posed, differing, write_answered
from grucible.vectors.block import Block
from grucible.vectors.hdf5 import CORE
from grucible.vectors.writer import write_digests, write_text_attribute

from .conftest import HERE, Command
from .made import CELL as GRU_CELL
from .suites import ONE

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"
ZERO = CORE / "openvino/gru_sequence/core_with_zero.h5"
SOURCES = {"openvino/gru_cell": "core.h5", "openvino/gru_sequence": "core_with_zero.h5"}
KEEPS, BEFORE = "len-zero.initial-state", "reset-false.before"


def signed_anew(source: Path, copy: Path, change: Callable[[Any], None]) -> Path:
    """The float32 cases of a file, changed and signed again by a stranger."""
    shutil.copy(source, copy)
    with h5py.File(copy, "r+") as file:
        for dtype in [d for d in file if d not in ("spec", "float32")]:
            del file[dtype]
        change(file)
        write_digests(file)
    return copy


def with_y(file: Any) -> list[Any]:
    """The blocks of float32 that have Y."""
    return [block for block in file["float32"].values() if "Y" in block["outputs"]]


def demoted(file: Any) -> None:
    for name in list(file["float32"]):
        file.move(f"float32/{name}", f"float32/{name}-nonportable")
        write_text_attribute(file[f"float32/{name}-nonportable"], "tier", "nonportable")


def promoted(file: Any) -> None:
    for name in list(file["float32"]):
        if "-ambiguous" in name:
            new = f"float32/{name.replace('-ambiguous', '')}"
            file.move(f"float32/{name}", new)
            del file[new]["readings"]
            del file[new].attrs["tier"]
            write_text_attribute(file[new], "tier", "required")
        else:
            del file[f"float32/{name}"]


@pytest.mark.parametrize(
    ("source", "change", "says"),
    [
        ("openvino/gru_cell", demoted, "is marked as nonportable, and it holds nothing that is"),
        ("openvino/gru_sequence", promoted, "is marked as required, and it is ambiguous"),
    ],
)
def test_a_case_that_was_moved_to_another_tier_is_found(
    source: str, change: Callable[[Any], None], says: str, tmp_path: Path, command: Command
) -> None:
    path = signed_anew(CORE / source / SOURCES[source], tmp_path / "v.h5", change)
    assert says in command("check", path, "--runtime", NUMPY, "--recompute", "1").said_in_one_line()


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
        assert "expects NaN or an infinity, which only the tier nonportable may" in said


def strangers(path: Path) -> None:
    """Ambiguous cases of a GRUSequence with the reset gate after, answered under the readings at hand."""
    cases = []
    for case in load_vectors(ZERO):
        if case.attributes["linear_before_reset"] and case.tier == "ambiguous":
            cases.append(Posed(case.id, lambda case=case: case.question))
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


def test_of_any_share_one_answer_at_least_is_looked_at(tmp_path: Path, command: Command) -> None:
    strangers(tmp_path / "v.h5")
    ended = command("check", tmp_path / "v.h5", "--runtime", NUMPY, "--recompute", "1e-9")
    assert "1 of 24 answers recomputed, all as stored" in " ".join(ended.out.split())


def test_an_attribute_twice(tmp_path: Path, command: Command) -> None:
    def doubled(file: Any) -> None:
        block = next(iter(file["float32"].values()))
        texts = [text.replace(b'{"', b'{"hidden_size":6,"', 1) for text in block["attributes"][()]]
        del block["attributes"]
        block["attributes"] = np.array(texts)

    copy = signed_anew(CELL, tmp_path / "v.h5", doubled)
    said = command("check", copy, "--runtime", NUMPY).said_in_one_line()
    assert "an attribute stands there twice" in said


def _moved(operator: str) -> Iterator[Block]:
    """Required float16 cases of which one input is subnormal, marked as nonportable."""
    for block in core_blocks(operator, "float16"):
        if block.tier == "required":
            x = block.inputs["X"].copy()
            x.reshape(len(block), -1)[:, 0] = 2.0**-20
            yield replace(block, tier="nonportable", inputs=block.inputs | {"X": x})


@pytest.mark.parametrize("operator", [GRU_CELL, "openvino.GRUSequence-5"])
def test_a_subnormal_input_alone_makes_no_case_nonportable(operator: str) -> None:
    """The case must hang on it: else whoever doctors a file takes such cases out of the verdict."""
    blocks = list(_moved(operator))
    assert blocks
    for block in blocks:
        found = differing(block)
        assert set(found.values()) == {"is marked as nonportable, and it holds nothing that is"}
        assert len(found) == len(block)


def test_a_case_that_hangs_on_subnormals_or_a_zero_s_sign_is_nonportable() -> None:
    block = next(_moved(GRU_CELL))
    small = {"X", "initial_hidden_state", "B"}
    least = np.float16(2.0**-20)
    inputs = {n: np.copysign(least, a) if n in small else a for n, a in block.inputs.items()}
    assert "marked as" not in str(differing(replace(block, inputs=inputs)))
    zeros = {n: a * np.float16(0) for n, a in block.inputs.items()}  # with the signs of the numbers
    assert "marked as" not in str(differing(replace(block, inputs=zeros)))


def limits(value: Callable[[str], float]) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        for block in file["float32"].values():
            for name, arrays in block["tolerance"].items():
                arrays["Ho"][...] = value(name)

    return change


@pytest.mark.parametrize(
    ("admitted", "demanded"),
    [
        (lambda name: np.inf if name == "bfloat16-gemm" else 0.0, ["--arithmetic", "float32=bfloat16-gemm"]),
        (lambda _: 0.0, ["--atol", "1e30"]),
    ],
)  # fmt: skip
def test_junk_does_not_conform_where_nothing_is_demanded(
    admitted: Callable[[str], float], demanded: list[str], tmp_path: Path, command: Command
) -> None:
    """A tolerance that admits anything says nothing, whatever other classes admit."""
    code = "{name: np.full(t.shape, -12345.0).astype(t.dtype) for name, t in q.outputs.items()}"
    (tmp_path / "junk.py").write_text(f"import numpy as np\ndef run(q):\n    return {code}\n")
    path = signed_anew(CELL, tmp_path / "v.h5", limits(admitted))
    ended = command("check", path, "--runtime", f"{tmp_path / 'junk.py'}:run", *demanded)
    assert (ended.status, ended.out.startswith("incomplete: ")) == (1, True)
    assert "62 of 62 cases passed, 62 of them decide nothing" in ended.out


def test_a_case_with_an_infinite_tolerance_does_not_decide(
    tmp_path: Path, command: Command
) -> None:
    def half(file: Any) -> None:
        for block in file["float32"].values():
            for limits in block["tolerance"].values():
                limits["Ho"][:, 0] = np.inf

    path = signed_anew(CELL, tmp_path / "v.h5", half)
    ended = command("check", path, "--runtime", NUMPY)
    assert (ended.status, "62 of 62 cases passed, 62 of them decide nothing" in ended.out) == (
        1,
        True,
    )
    said = command("score", path, "--pairs", "--select", ONE).said_in_one_line()
    assert (
        f"{ONE}: a tolerance is infinite, which no rtol and atol admit; leave out --pairs" in said
    )


def test_an_export_without_a_pair_leaves_the_case_out(tmp_path: Path, command: Command) -> None:
    pytest.importorskip("onnx")

    def some(file: Any) -> None:
        with_y(file)[0]["tolerance/float32/Y"][0] = np.inf
        del with_y(file)[-1]["tolerance/float32"]

    path = signed_anew(CORE / "onnx/gru/plain.h5", tmp_path / "v.h5", some)
    ended = command("export", path, "--to", "onnx", "-o", tmp_path / "x")
    assert ended.status == 0
    assert "left out: 1 of onnx.GRU-14: a tolerance is infinite, which no rtol" in ended.out
    assert "of onnx.GRU-14: the file has no tolerances of the required class float32" in ended.out
