"""Ctrl-C and SIGTERM leave the verdict that was reached, and reports whole."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from grucible.cases import process
from grucible.cases.specs.spec_file import SHIPPED

from . import numpy_gru
from .conftest import Command

PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_check_that_is_interrupted_reports_what_was_compared(
    number: int, status: int, tmp_path: Path
) -> None:
    (tmp_path / "slow.py").write_text(
        "import pathlib, sys, time\n"
        f"sys.path.insert(0, {str(Path(numpy_gru.__file__).parent)!r})\n"
        "import numpy_gru\nasked = 0\ndef run(question):\n    global asked\n    asked += 1\n"
        "    if asked > 40:\n        pathlib.Path('asked').write_text(question.id)\n"
        "        time.sleep(60)\n"
        "    return numpy_gru.run(question)\n"
    )
    code = "from grucible.cases import console; console.WAIT_SECONDS = 0.0; "
    code += "from grucible.__main__ import main; main()"
    command = [sys.executable, "-c", code, "check", "--runtime", "slow.py:run"]
    command += ["--select", "openvino.GRUCell-3/core/*", "--report", "json=report.json"]
    process = subprocess.Popen(command, cwd=tmp_path, text=True, **PIPES)
    while not (tmp_path / "asked").exists():
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out.partition(":")[0]) == (status, "incomplete")
    waited = re.search(r"^grucible: interrupted while waiting \d+ s for (\S+)$", err, re.MULTILINE)
    assert waited is not None, err
    assert waited[1] == (tmp_path / "asked").read_text()
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["interrupted"], report["verdict"]) == (True, "incomplete")


@pytest.mark.usefixtures("in_this_process")
def test_an_interruption_that_a_library_swallows_is_seen(
    some_vectors: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """h5py drops what a signal raises within one of its callbacks."""
    monkeypatch.setattr(process, "_caught", False)
    with contextlib.suppress(KeyboardInterrupt):
        process._interrupt(signal.SIGINT, None)
    checked = command("check", some_vectors, "--runtime", f"{numpy_gru.__file__}:run")
    assert (checked.status, checked.out) == (130, "")
    made = command("gen", SHIPPED / "openvino/gru_cell/core.yaml", "-o", tmp_path, "--jobs", "1")
    assert (made.status, made.out) == (130, "")


def test_a_signal_among_a_librarys_locks_interrupts_behind_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Raised inside, it would leave one locked, and the command would wait for ever."""
    monkeypatch.setattr(process, "_caught", 0)
    done = list[str]()

    def submit() -> None:
        process._interrupt(signal.SIGINT, None)
        done.append("the rest")

    with pytest.raises(KeyboardInterrupt), process.deferring_interrupts():
        submit()
    assert done
    with pytest.raises(KeyboardInterrupt):
        process._interrupt(signal.SIGINT, None)
