"""A vector file from a stranger does not look like ours."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from printed import sentence_of

from grucible import Report, verify
from grucible.check.reports.formats import report_value
from grucible.check.reports.terminal import report_lines, report_text
from grucible.vectors.digest import published_digests, published_pairs
from grucible.vectors.hdf5 import CORE
from grucible.vectors.vector_set import open_set
from grucible.vectors.writer import write_digests

from .conftest import HERE, Command
from .numpy_gru import run


def second(report: Report) -> str:
    """What was judged, the report's second sentence."""
    return sentence_of("\n".join(list(report_lines(report))[1:]))


NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL_CORE = "openvino/gru_cell/core.h5"


def test_the_core_is_the_published_one() -> None:
    for vectors in open_set().files:
        assert (vectors.content_sha256, vectors.tolerance_sha256) in published_pairs()
    assert len(published_pairs()) == len(published_digests())
    report = verify(runtime=run, select=("openvino.GRUCell-3/*",))
    files = open_set(None, ("openvino.GRUCell-3/*",)).files
    said = f"run: {len(report.results)} cases, {len(files)} published files of the core vectors"
    assert second(report) == said
    origins = report_value(report)["vectors"]["origins"]
    assert CELL_CORE in origins
    assert [*origins.values()] == ["published"] * len(files)
    made = verify(runtime=run, select=("openvino.GRUCell-3/fuzz/float32/0-1",))
    assert second(made) == "run: 1 case, 1 file, apparently made by this version"
    assert "  in " not in report_text(made)


def widened(file: Any) -> None:
    for dtype in ("float16", "float32", "float64", "bfloat16"):
        for block in file[dtype].values():
            for limits in block["tolerance"].values():
                for limit in limits.values():
                    limit[...] = np.float32(1e30)


def exchanged(file: Any) -> None:
    for block in file["float32"].values():
        ho = block["outputs/Ho"]
        ho[...] = ho[:][::-1]


def forged(folder: Path, change: Any) -> Path:
    """A core file that was changed; its digests are computed anew, so they do not tell."""
    copy = Path(shutil.copy(CORE / CELL_CORE, folder / "core.h5"))
    with h5py.File(copy, "r+") as file:
        change(file)
        file.attrs["made_from"] = np.bytes_(b"{}")
        write_digests(file)
    return copy


@pytest.mark.parametrize(
    ("change", "says"), [(widened, "tolerance of Ho"), (exchanged, "the exact value is")]
)
def test_one_that_was_changed_is_of_unknown_origin_and_recomputing_proves_it(
    change: Any, says: str, tmp_path: Path, command: Command
) -> None:
    copy = forged(tmp_path, change)
    head = second(verify(copy, runtime=run, diagnosis=False))
    assert head == f"run: 248 cases, 1 file of {copy}, of unknown origin"
    said = command("check", copy, "--runtime", NUMPY, "--recompute", "1").said_in_one_line()
    assert says in said
    assert "do not judge by this file" in said


def test_answers_recomputed_are_counted(command: Command) -> None:
    arguments = ["check", "--runtime", NUMPY, "--select", "openvino.*/core/float16/*"]
    arguments += ["--select", "openvino.*/core_with_zero/float16/*"]
    ended = command(*arguments, "--recompute", "1")
    assert ended.status == 0
    assert "; 154 of 154 answers recomputed, all as stored" in " ".join(ended.out.split())
    part = command(*arguments, "--recompute", "0.25")
    assert 15 < int(part.out.partition("; ")[2].split()[0]) < 60


def test_one_that_was_made_here_says_so(tmp_path: Path, command: Command) -> None:
    glob = "*/core/float32/lbr-*"
    command("gen", "-o", tmp_path, "--select", f"openvino.GRUCell-3{glob[1:]}", "--jobs", "1")
    report = verify(tmp_path, runtime=run)
    head = second(report)
    assert head.endswith(f"1 file of {tmp_path}, apparently made by this version")
    both = tmp_path / "both"
    shutil.copytree(CORE / "openvino", both / "openvino")
    (tmp_path / "openvino" / "gru_cell" / "core.h5").replace(both / "openvino" / CELL_CORE[9:])
    head = second(verify(both, runtime=run))
    assert head.endswith(
        "23 files of " + str(both) + ": 22 published, 1 apparently made by this version"
    )
