"""Memory that runs out is told in one line, and is no error of grucible's own."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys

import pytest

from grucible.__main__ import _Rooms
from grucible.cases.commands.memory import lacks_memory
from grucible.cases.commands.own_error import own_error

from .conftest import Command, bad_usage

MAPPED = "libflint.so.24: failed to map segment from shared object"
UNSAID = "error return without exception set"


def raising(error: Exception, patch: pytest.MonkeyPatch) -> None:
    """Let any command raise an error."""

    def get_command(*_: object) -> None:
        raise error

    patch.setattr(_Rooms, "get_command", get_command)


def caused(by: Exception) -> Exception:
    """An error of a package, which led to another."""
    try:
        raise ImportError("the package's advice") from by
    except ImportError as error:
        return error


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError(MAPPED),
        OSError("libblas.so: cannot allocate memory"),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), "cell.h5"),
        caused(by=ImportError(MAPPED)),
    ],
)
def test_one_line(error: Exception, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(error, monkeypatch)
    bad_usage(command("score", "x"), r"not enough memory; raise its limit \(ulimit -v\)")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("none"),
        ImportError("cannot import name 'failed'"),
        ImportError("libgomp.so.1: cannot allocate memory in static TLS block"),
        SystemError("unknown opcode"),
    ],
)
def test_others_are_told_as_before(
    error: Exception, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    raising(error, monkeypatch)
    ended = command("score", "x")
    assert ended.status == 70
    assert "Please report it" in ended.err


@pytest.mark.parametrize("limit", [1 << 30, resource.RLIM_INFINITY])
def test_code_in_c_that_does_not_say_why(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where addresses are limited that is why."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert lacks_memory(SystemError(UNSAID)) == (limit == 1 << 30)


def test_errors_that_led_to_each_other() -> None:
    first, second = ValueError(), ValueError()
    first.__cause__, second.__cause__ = second, first
    assert not lacks_memory(first)


def test_it_is_nothing_to_report() -> None:
    """As in a diagnosis, which breaks off."""
    assert "not enough memory" in own_error(MemoryError())
    assert "Please report it" not in own_error(MemoryError())


def test_numpy_that_does_not_import_prints_no_traceback() -> None:
    """ml_dtypes, which imports it in C, printed one."""
    code = (
        "import sys; sys.modules['numpy._core._multiarray_umath'] = None; "
        "from grucible.__main__ import main; main(args=['check', 'x', '--runtime', 'x'])"
    )
    ended = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.stderr.startswith("grucible: an error of its own")
    assert ended.stderr.count("\n") == 1
