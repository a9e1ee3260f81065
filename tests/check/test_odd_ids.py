"""Ids of every form: one like a glob is found by itself, one that nobody could print or keep is refused."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from grucible.cases.selection import literal, matches
from grucible.vectors.writer import write_digests

from .conftest import HERE, Command
from .made import CELL, ONE_CASE, cell_file, make_block, write_vectors

NUMPY = f"{HERE / 'numpy_gru.py'}:run"


@pytest.mark.parametrize("name", ["\u202eabc", "\x1b[2J", "a\udcffb", "a\nb"])
def test_a_spec_whose_name_nobody_can_print(name: str, tmp_path: Path, command: Command) -> None:
    """`check` would refuse what `gen` makes of it."""
    (tmp_path / f"{name}.yaml").write_text(ONE_CASE)
    said = command("gen", tmp_path, "-o", tmp_path / "out").said_in_one_line()
    assert "expected a printable name" in said


def test_the_id_of_a_case_is_found_whatever_is_in_it(tmp_path: Path, command: Command) -> None:
    (tmp_path / "a & [b].yaml").write_text(
        "operator: openvino.GRUCell-3\nabout: odd\ndtypes: [float32]\n"
        "sizes: {batch_size: 1, input_size: 2, hidden_size: 2}\ncases:\n  - list: [{clip: 0.5}]\n"
    )
    out, case_id = tmp_path / "out", "openvino.GRUCell-3/a & [b]/float32/noact-clip0.5"
    assert command("gen", tmp_path, "-o", out, "--jobs", "1").status == 0
    assert command("show", out, case_id).out.startswith(f"{case_id}\n")
    assert command("trace", out, case_id).status == 0
    for more in ((), ("--dtype", "float32")):
        listed = command("cases", tmp_path, "--list", "--select", case_id, *more)
        assert listed.out == f"{case_id}\n"


def test_an_id_that_a_question_would_not_keep_is_refused(tmp_path: Path, command: Command) -> None:
    """The lines of a question end where their text ends."""
    path = cell_file(tmp_path / "v.h5", {"batch_size": 1, "input_size": 1, "hidden_size": 1})
    with h5py.File(path, "r+") as file:
        [case_id] = file["float32/b/id"][:]
        del file["float32/b/id"]
        file["float32/b/id"] = np.array([case_id + b" "])
        write_digests(file)
    said = command("check", path, "--runtime", NUMPY).said_in_one_line()
    assert f"'{CELL}/huge/float32/0 ' ends with a space" in said


GLOBS = ["*", "[*]", "[**]", "?", "a*", "[!a]*", "a[b]", "a & b", "a & *", "x", "]"]
"""What cases of a stranger's may be called."""


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("right", [(), ("[*]", "?"), ("*", "a & *"), ("x",)])
def test_a_list_that_was_just_written_names_each_case(
    right: tuple[str, ...], tmp_path: Path, command: Command
) -> None:
    """Those that pass are named by none of its entries, though they are called as a glob is."""
    vectors, listed, runtime = tmp_path / "v.h5", tmp_path / "known.yaml", tmp_path / "r.py"
    write_vectors(vectors, make_block(GLOBS))
    runtime.write_text(
        f"import sys; sys.path.insert(0, {str(HERE)!r})\nfrom numpy_gru import run as gru\n"
        f"def run(q):\n    if q.id.split('/', 3)[3] in {right!r}: return gru(q)\n"
        "    return {name: array + 1 for name, array in gru(q).items()}\n"
    )
    asked = ("check", vectors, "--runtime", f"{runtime}:run")
    command(*asked, "--write-expect", listed)
    ended = command(*asked, "--expect", listed, "--json")
    assert (ended.status, ended.err) == (0, "")
    wrong = [case["id"] for case in ended.report["cases"] if case["verdict"] == "failed"]
    assert len(wrong) == len(GLOBS) - len(right)
    gone = command("check", vectors, "--runtime", NUMPY, "--expect", listed, "--allow-stale")
    assert gone.status == 0


def test_a_glob_of_a_text_alone() -> None:
    assert literal("a/b[1]") == "a/b[[]1]"
    for one in GLOBS:
        assert [other for other in GLOBS if matches(other, literal(one, GLOBS))] == [one]
