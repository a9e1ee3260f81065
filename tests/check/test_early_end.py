"""A library that ends the process gives no verdict: OpenBLAS calls C's `exit(1)` where memory runs out."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import grucible.__main__ as entry

from .conftest import Command, bad_usage

RUN = """
import ctypes, sys, threading
from grucible import __main__ as entry

def exits(*_):
    {how}

entry.import_module = exits
entry.main(args=["check", "cell.h5"])
"""
EXITS = {
    "without Python's lock": "ctypes.CDLL(None).exit(1)",
    "with it": "ctypes.PyDLL(None).exit(1)",
    "in another thread": "t = threading.Thread(target=lambda: ctypes.CDLL(None).exit(1)); t.start(); t.join()",
}


def ended(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("how", EXITS)
def test_a_library_that_ends_the_process_is_no_verdict(how: str) -> None:
    one = ended(RUN.format(how=EXITS[how]))
    assert (one.returncode, one.stdout) == (2, "")
    assert re.fullmatch(r"grucible: a library ended the process [^\n]*\(ulimit -v\)\n", one.stderr)


@pytest.mark.parametrize("status", [0, 1, 70])
def test_what_a_command_chose_stays(status: int) -> None:
    """Python ends by C's `exit` too."""
    one = ended(RUN.format(how=f"print('said'); sys.exit({status})"))
    assert (one.returncode, one.stdout, one.stderr) == (status, "said\n", "")


def test_c_s_exit_after_a_command_is_the_caller_s() -> None:
    code = RUN.replace("entry.main(", "try: entry.main(").rstrip() + (
        "\nexcept SystemExit: ctypes.CDLL(None).exit(5)\n"
    )
    one = ended(code.format(how="sys.exit(0)"))
    assert (one.returncode, one.stderr) == (5, "")


def test_memory_that_runs_out_while_an_error_is_told(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(entry, "_run", no_memory)
    bad_usage(command("check"), "not enough memory")


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not limit addresses")
@pytest.mark.parametrize("megabytes", [75, 80, 85])
def test_openblas_without_room_for_itself(megabytes: int) -> None:
    limited = (
        f"ulimit -v {megabytes << 10}; exec {sys.executable} -P -m grucible check x --runtime x"
    )
    one = subprocess.run(["sh", "-c", limited], capture_output=True, text=True, check=False)
    assert (one.returncode, one.stdout) == (2, "")
    assert one.stderr.splitlines()[-1].startswith("grucible: ")
    assert "Traceback" not in one.stderr
