"""Parse strangers' files in another process, with limits on memory and time.

A parser is a function of a module, from texts and numbers to a tree: dicts, lists, texts, numbers and arrays.
A server process imports the parser once, and forks for each call. A file that crashes a C library, or fills
the memory, ends only that fork. Windows has no fork and no such limits: there the server itself parses, and
a new server replaces one that died.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .errors import GrucibleError

Tree = Any
"""What a parser returns: what JSON can hold, with arrays among its values."""
Parser = Callable[..., Tree]
MEMORY = 2 << 30
"""Maximum bytes of a parser's address space, on Linux; its libraries take some 500 MB."""
SECONDS = 60
"""Usual maximum seconds of CPU time of a parser; our largest file takes a tenth of them."""
RESULT = 4 << 30
"""Maximum bytes that a parser returns; an export of all shipped cases has 0.4 GB."""
_ALIGNED = 64
_ARRAY = "/array"
"""The only key of a dict that stands for an array."""
_START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from grucible.cases.apart import serve
serve()
"""


class NotParsed(GrucibleError):
    """A parser ended without a tree; the message is the reason."""


def parse_apart(
    parser: Parser,
    *arguments: str | float | None,
    seconds: int = SECONDS,
    memory: int | None = MEMORY,
) -> Tree:
    """Call a parser in another process; the result's arrays are read only, except on Windows.

    Raises GrucibleError, with the same text, if the parser raised it. Raises NotParsed if the parser raised
    anything else, died, or exceeded `memory` (bytes of address space; None: no limit), RESULT, `seconds` of
    CPU time, or ten times as many elapsed.
    """
    named = parser.__module__, parser.__qualname__
    with tempfile.TemporaryDirectory(prefix="grucible-") as folder:
        place = Path(folder, "tree")
        limits = [seconds, memory]
        if status := _call([*named, arguments, limits, str(place), str(Path.cwd())]):
            raise NotParsed(_ending(status))
        tree = _read(place)
    if (error := tree.get("error")) is not None:
        raise (GrucibleError if tree["expected"] else NotParsed)(error)
    return tree["tree"]


_LOCK = threading.Lock()


@cache
def _server(_: int) -> subprocess.Popen[bytes]:
    """Start the server for the process with this id; a forked process starts another server."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _START, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )


def _call(request: list[Any]) -> int:
    """Send a request to the server, and return the parser's exit status, negative for a signal."""
    with _LOCK:
        if _server(os.getpid()).poll() is not None:
            _server.cache_clear()
        process, reply = _server(os.getpid()), b""
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            reply = process.stdout.readline()
        except BrokenPipeError:
            pass
        finally:
            if not reply:  # the server died; or Ctrl-C came first, and nobody wants its reply
                process.kill()
                process.wait()
                _server.cache_clear()
        return int(reply or -9)  # the number of SIGKILL, a name that Windows lacks


def serve() -> None:
    """Serve requests, a line each, until there are no more: the server's main function."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a parser prints must not look like a reply
    for line in sys.stdin:
        module, name, arguments, limits, place, here = json.loads(line)
        status = 1
        with contextlib.suppress(Exception):
            os.chdir(here)
            parser = getattr(importlib.import_module(module), name)
            if sys.platform == "win32":
                _parse(parser, arguments, place)
                status = 0
            else:
                status = _forked(parser, arguments, limits, place)
        replies.write(f"{status}\n")
        replies.flush()


if sys.platform != "win32":

    def _forked(parser: Parser, arguments: list[Any], limits: list[Any], place: str) -> int:
        """Parse in a new process with limits, and return its exit status."""
        import resource

        seconds, memory = limits[0], limits[1] or resource.RLIM_INFINITY

        if child := os.fork():
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        status = 1
        try:
            for limit, most, last in (
                (resource.RLIMIT_CPU, seconds, seconds + 1),  # SIGXCPU, and SIGKILL a second later
                (resource.RLIMIT_FSIZE, RESULT, RESULT),
                (resource.RLIMIT_AS, memory, memory),
                (resource.RLIMIT_CORE, 0, 0),
            ):
                with contextlib.suppress(OSError, ValueError):  # a lower limit holds, or none can
                    resource.setrlimit(limit, (most, last))
            signal.alarm(10 * seconds)  # elapsed time: waiting for a pipe takes no CPU time
            _parse(parser, arguments, place)
            status = 0
        finally:
            os._exit(status)


def _parse(parser: Parser, arguments: list[Any], place: str) -> None:
    """Write what the parser returns, or the error that it raises, to `place`."""
    with Path(place).open("wb") as file:
        try:
            found = {"tree": parser(*arguments)}
        except GrucibleError as error:
            found = {"error": str(error), "expected": True}
        except MemoryError:
            found = {"error": "it takes too much memory", "expected": False}
        except Exception as error:  # libraries raise many types for a damaged file
            why = " ".join(str(error).split())[:200] or type(error).__name__
            found = {"error": why, "expected": False}
        _write(file, found)


def _write(file: BinaryIO, tree: Tree) -> None:
    """Write the arrays of a tree, the tree as JSON, and the length of that JSON."""

    def put(array: Any) -> Any:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"a parser returned {type(array).__name__}")
        file.write(b"\0" * (-file.tell() % _ALIGNED))
        at = file.tell()
        file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        named = array.dtype.name if array.dtype.kind == "V" else array.dtype.str
        return {_ARRAY: [named, array.shape, at]}

    text = json.dumps(tree, default=put).encode()
    file.write(text)
    file.write(len(text).to_bytes(8, "little"))


def _read(place: Path) -> Tree:
    """Return the tree that was written to a file; its arrays are views of the file."""
    data: np.ndarray[Any, np.dtype[np.uint8]] = (
        np.fromfile(place, np.uint8)  # Windows cannot remove a mapped file
        if sys.platform == "win32"
        else np.memmap(place, np.uint8, "r")
    )
    length = int.from_bytes(data[-8:].tobytes(), "little")

    def take(found: dict[str, Any]) -> Any:
        match found:
            case {"/array": [str(named), list(shape), int(at)]} if len(found) == 1:
                dtype = np.dtype(named)
                size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
                return data[at : at + size].view(dtype).reshape(shape)
        return found

    return json.loads(data[-8 - length : -8].tobytes(), object_hook=take)


def _ending(status: int) -> str:
    """Say why a parser with this exit status returned nothing."""
    if sys.platform != "win32" and -status in (signal.SIGXCPU, signal.SIGALRM):
        return "it takes too long"
    names = {one.value: one.name for one in signal.Signals}
    return f"its process ended with {names.get(-status, f'status {status}')}"
