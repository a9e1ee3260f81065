"""Outputs files made elsewhere: matched by id, missing where absent, refused where wrong."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from .conftest import Command
from .made import SEQUENCE, make_block, write_outputs, write_vectors

F32, BF16 = "float32/2x4x2-B3H", "bfloat16/2x4x2-B3H"
ID, OTHER = b"openvino.GRUCell-3/made/float32/case-", b"openvino.GRUCell-3/made/bfloat16/bcase-"
Change = Callable[[Any], object]


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    """A directory of two vector files, of a float32 and a bfloat16 block, and of a sequence."""
    root = tmp_path / "vectors"
    (root / "deep").mkdir(parents=True)
    ids = [f"case-{number}" for number in range(5)]
    write_vectors(
        root / "cell.h5", make_block(ids), make_block([f"b{i}" for i in ids], dtype="bfloat16")
    )
    write_vectors(root / "deep" / "seq.h5", make_block(["s"], operator=SEQUENCE), operator=SEQUENCE)
    return root


@pytest.fixture
def outputs(vectors: Path, tmp_path: Path) -> Path:
    """Outputs that are what is expected, in a directory laid out as the vectors."""
    root = tmp_path / "outputs"
    for relative in ("cell.h5", "deep/seq.h5"):
        write_outputs(root / relative, vectors / relative)
    return root


def edit(outputs: Path, change: Change) -> None:
    with h5py.File(outputs / "cell.h5", "r+") as file:
        change(file)


def put(where: str, value: Any) -> Change:
    def change(file: Any) -> None:
        if where in file:
            del file[where]
        file[where] = value

    return change


def delete(where: str) -> Change:
    return lambda file: file.pop(where)


def rows(block: str, order: list[int]) -> Change:
    """Keep these rows of a block, in this order."""

    def change(file: Any) -> None:
        group = file[block]
        for name in ("id", "outputs/Ho"):
            kept, attributes = group[name][()][order], dict(group[name].attrs)
            del group[name]
            group[name] = kept
            group[name].attrs.update(attributes)

    return change


def verdicts(command: Command, vectors: Path, outputs: Path) -> tuple[str, int, dict[str, str]]:
    ended = command("check", vectors, "--outputs", outputs, "--json")
    report = ended.report
    found = {name: case["verdict"] for name, case in ended.cases.items()}
    return report["verdict"], ended.status, found


@pytest.mark.parametrize("text", [np.bytes_, str])
def test_whole_and_right(text: Any, vectors: Path, outputs: Path, command: Command) -> None:
    """With attributes of fixed length, and of variable length as h5py writes them."""
    for relative in ("cell.h5", "deep/seq.h5"):
        write_outputs(outputs / relative, vectors / relative, text=text)
    verdict, status, cases = verdicts(command, vectors, outputs)
    assert (verdict, status) == ("conforms", 0)
    assert len(cases) == 11
    assert set(cases.values()) == {"passed"}
    ended = command("check", vectors, "--outputs", outputs, "--json")
    assert ended.report["runtime"] == {"name": "mine", "version": ""}


def test_outputs_of_two_runtimes_are_not_judged_as_one(
    vectors: Path, outputs: Path, command: Command
) -> None:
    for relative, version in (("cell.h5", "3.1"), ("deep/seq.h5", "3.2")):
        with h5py.File(outputs / relative, "r+") as file:
            file.attrs.update({"runtime": "kernel", "runtime_version": version})
    assert command("check", vectors, "--outputs", outputs).said_in_one_line() == (
        f"grucible: {outputs / 'deep/seq.h5'}: has outputs of kernel 3.2, and {outputs / 'cell.h5'} of "
        "kernel 3.1; judge them apart, with --select or from directories of their own\n"
    )
    with h5py.File(outputs / "deep/seq.h5", "r+") as file:
        file.attrs.update({"runtime": "k" * 100, "runtime_version": ""})
    said = command("check", vectors, "--outputs", outputs).said_in_one_line()
    assert f"has outputs of {'k' * 15} … {'k' * 45}, and" in said
    assert command("check", vectors, "--outputs", outputs, "--select", "*Cell*").status == 0


@pytest.mark.parametrize("block", [F32, BF16])
def test_rows_match_by_id(block: str, vectors: Path, outputs: Path, command: Command) -> None:
    edit(outputs, rows(block, [2, 0, 4, 1, 3]))
    assert verdicts(command, vectors, outputs)[:2] == ("conforms", 0)


def test_ids_exchanged_are_wrong_answers(vectors: Path, outputs: Path, command: Command) -> None:
    edit(outputs, lambda file: file[f"{F32}/id"].__setitem__(slice(0, 2), [ID + b"1", ID + b"0"]))
    verdict, status, cases = verdicts(command, vectors, outputs)
    assert (verdict, status) == ("does not conform", 1)
    assert [i for i, v in cases.items() if v == "failed"] == ["case-0", "case-1"]


ABSENT: dict[str, tuple[int, Callable[[Path], object]]] = {
    "rows": (3, lambda outputs: edit(outputs, rows(F32, [3, 1]))),
    "block": (5, lambda outputs: edit(outputs, delete(F32))),
    "dtype": (5, lambda outputs: edit(outputs, delete("float32"))),
    "file": (10, lambda outputs: (outputs / "cell.h5").unlink()),
    "directory": (1, lambda outputs: shutil.rmtree(outputs / "deep")),
    "everything": (11, lambda outputs: [one.unlink() for one in outputs.rglob("*.h5")]),
}


@pytest.mark.parametrize("absent", ABSENT)
def test_what_is_absent_is_missing(
    absent: str, vectors: Path, outputs: Path, command: Command
) -> None:
    missing, remove = ABSENT[absent]
    remove(outputs)
    ended = command("check", vectors, "--outputs", outputs, "--json")
    assert (ended.report["verdict"], ended.status) == ("incomplete", 1)
    assert ended.report["summary"]["missing"] == missing
    assert ended.report["summary"]["passed"] == 11 - missing
    said = {c["message"] for c in ended.report["cases"] if c["verdict"] == "missing"}
    assert all(str(outputs) in message for message in said)


def test_a_status_per_case(vectors: Path, outputs: Path, command: Command) -> None:
    """Arrays of a case that is not ok do not count."""
    status = [b"ok", b"unsupported", b"error", b"missing", b"ok"]
    edit(outputs, put(f"{F32}/status", np.array(status)))
    edit(outputs, put(f"{F32}/message", np.array([b"", b"no clip", b"crashed", b"later", b"fine"])))
    edit(outputs, lambda file: file[f"{F32}/outputs/Ho"].__setitem__(1, np.nan))
    ended = command("check", vectors, "--outputs", outputs, "--json")
    assert ended.status == 1
    assert [(n, c["verdict"], c["message"]) for n, c in ended.cases.items()][5:10] == [
        ("case-0", "passed", ""),
        ("case-1", "unsupported", "no clip"),
        ("case-2", "error", "crashed"),
        ("case-3", "missing", "later"),
        ("case-4", "passed", ""),
    ]


HO = f"{F32}/outputs/Ho"


def unwritten(file: Any) -> None:
    """Four of five rows are written, and what is read of the other is left to memory."""
    right = file[HO][:]
    del file[HO]
    made = file.create_dataset(HO, right.shape, "f4", fill_time="never", chunks=(1, 2, 2))
    made[:4] = right[:4]


BAD: dict[str, tuple[Change, str]] = {
    "format": (lambda f: f.attrs.update({"format": "grucible vectors"}),
               "format is 'grucible vectors'; expected 'grucible outputs'"),
    "version": (lambda f: f.attrs.update({"format_version": 3}), "format_version is 3"),
    "shape": (put(HO, np.zeros((5, 2, 3), "f4")),
              r"/outputs/Ho: is float32 \(5, 2, 3\); expected float32 \(5, 2, 2\)"),
    "dtype wider": (put(HO, np.zeros((5, 2, 2))), r"is float64 .*expected float32"),
    "bfloat16 unmarked": (put(f"{BF16}/outputs/Ho", np.zeros((5, 2, 2), "u2")),
                          r"is uint16 .*expected bfloat16"),
    "type": (put(HO, np.zeros((5, 2, 2), [("a", "f4")])), "is damaged"),
    "outputs missing": (delete(f"{F32}/outputs"), "/outputs: is missing"),
    "id missing": (delete(f"{F32}/id"), "/id: is missing"),
    "id unknown": (lambda f: f[f"{F32}/id"].__setitem__(0, ID + b"9"),
                   "/id: '.*/case-9' is not a case of the vectors' block"),
    "id twice": (lambda f: f[f"{F32}/id"].__setitem__(0, ID + b"1"), "/id: names a case twice"),
    "status unknown": (put(f"{F32}/status", np.array([b"ok", b"good", b"ok", b"ok", b"ok"])),
                       "/status: 'good'; expected one of ok, unsupported, error, missing"),
    "status shorter": (put(f"{F32}/status", np.array([b"ok"] * 4)), "/status"),
    "message shorter": (lambda f: (put(f"{F32}/status", np.array([b"ok"] * 5))(f),
                                   put(f"{F32}/message", np.array([b"x"] * 4))(f)), "/message"),
    "block a dataset": (put(F32, np.zeros(3)), f"/{F32}: is not a group"),
    "output huge": (lambda f: (f.pop(HO), f.create_dataset(HO, (10**6, 10**6), "f4")), "rows of type .*; expected at most"),
    "output written in part": (unwritten, "Ho: was not written as a whole, and has no"),
    "block unknown": (lambda f: f.copy(F32, f, "float32/3x4x2-B3H"), "3x4x2-B3H: is not a block of the vectors"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_outputs_are_refused_in_one_line(
    name: str, vectors: Path, outputs: Path, command: Command
) -> None:
    change, says = BAD[name]
    edit(outputs, change)
    said = command("check", vectors, "--outputs", outputs).said_in_one_line()
    assert re.search(says, said), said
    assert said.startswith(f"grucible: {outputs / 'cell.h5'}: ")
