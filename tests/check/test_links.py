"""Links are followed, once, to where they lead: by what is read, and by what is written."""

from __future__ import annotations

import shutil
from pathlib import Path

from grucible import load_vectors
from grucible.vectors.find import CORE

from .conftest import HERE, Command
from .made import ONE_CASE

NUMPY = f"{HERE / 'numpy_gru.py'}:run"
CELL = CORE / "openvino/gru_cell/core.h5"


def test_links_in_circles_are_followed_once(tmp_path: Path) -> None:
    shutil.copy(CELL, tmp_path / "core.h5")
    for name in ("a", "b"):
        (tmp_path / name).symlink_to(".")
    assert len(list(load_vectors(tmp_path))) == 248


def test_a_spec_behind_a_link_that_leads_elsewhere(tmp_path: Path, command: Command) -> None:
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
    (tmp_path / "y/tiny.yaml").write_text(ONE_CASE)
    (tmp_path / "x/l.yaml").symlink_to("../y/tiny.yaml")
    for asked in (tmp_path / "x/l.yaml", tmp_path / "x"):
        ended = command("cases", "--list", asked)
        assert (ended.status, ended.out) == (0, "openvino.GRUCell-3/l/float32/noact\n")


def test_a_report_goes_where_a_link_leads(tmp_path: Path, command: Command) -> None:
    (tmp_path / "there.json").write_text('{"grucible_report": 1}')
    (tmp_path / "link.json").symlink_to("there.json")
    (tmp_path / "out").symlink_to("/proc/self/fd/1")
    for name in ("link.json", "out"):
        report = f"json={tmp_path / name}"
        assert command("check", CELL, "--runtime", NUMPY, "--report", report).status == 0
        assert (tmp_path / name).is_symlink()
    assert (tmp_path / "there.json").read_text().startswith("{\n")


def test_a_report_into_links_in_a_circle(tmp_path: Path, command: Command) -> None:
    (tmp_path / "a.json").symlink_to("b.json")
    (tmp_path / "b.json").symlink_to("a.json")
    ended = command("check", CELL, "--runtime", NUMPY, "--report", f"json={tmp_path / 'a.json'}")
    assert ended.status == 2
    assert ended.err.startswith(f"grucible: {tmp_path}/a.json: cannot be written (")
