"""A process that speaks the protocol: starts it, talks to it by deadlines, ends it and what it started."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from ...cases.console import join_lines, say
from ...cases.errors import RuntimeNotUsable
from ..protocol.header import MOST_LINE_BYTES, ProtocolError, header_lines

MOST_SHOWN = 16 << 10
"""Maximum characters of a process's standard error that are passed on; a report must stay readable."""
MOST_LAST = 200
"""Maximum characters of an ended process's last line in a message; a report must stay readable."""
MOST_UNREAD = 1 << 20
"""Maximum bytes that are read while a question is sent; a flood must not fill the memory."""
CHUNK = 256 << 10
"""Bytes that are read or written at a time."""
END_SECONDS = 1.0
"""Maximum seconds for which a process may go on without its pipes; then it is stopped."""
LAST_WORDS_SECONDS = 0.5
"""Maximum seconds to wait for an ended process's last line; another process may hold its pipe open."""
LOOK_SECONDS = 0.1
"""Seconds between checks that a process lives; another process may hold its pipes open."""
_VARIABLE, _MARK = "GRUCIBLE_RUNTIME", secrets.token_hex(8)
"""The variable of the environment, and its value, by which the watchdog knows what we started."""


class ClosedError(Exception):
    """The process has ended, or has closed its pipe; the text says how."""


class LateError(Exception):
    """The deadline has passed."""


@functools.cache
def _watchdog() -> subprocess.Popen[bytes]:
    """Start, once, the process that ends runtimes when we end: then its standard input closes."""
    return subprocess.Popen(
        [sys.executable, "-P", Path(__file__).with_name("watchdog.py"), _VARIABLE, _MARK],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a signal to our group does not reach it
    )


class Child:
    """A process that runs `command`, in a session of its own.

    `memory` limits the bytes of its address space. Its standard error is passed on under `name`, up to
    MOST_SHOWN characters. What it started ends with it. Deadlines are of `time.monotonic`. Raises OSError
    where it does not start, and RuntimeNotUsable where this system cannot run or limit it.
    """

    def __init__(self, command: Sequence[str], name: str, memory: int | None = None) -> None:
        self._name, self._last_line, self._came, self._at = name, "", bytearray(), 0
        self._process = _start(command)
        self.pid = self._process.pid
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        if memory is not None:
            try:
                _limit_memory(self.pid, memory)
            except RuntimeNotUsable:
                self.close()
                raise

    @property
    def came(self) -> bytes:
        """What the process has written since something was last sent."""
        return bytes(self._came)

    def send(self, parts: Sequence[bytes], deadline: float) -> None:
        """Send all of `parts`, unless the process takes no more. Raises LateError.

        What the process writes meanwhile is kept. If it has ended, reading its answer shows that.
        """
        del self._came[: self._at]
        self._at = 0
        with contextlib.suppress(BrokenPipeError, ClosedError):
            for part in parts:
                left = memoryview(part)
                while left:
                    try:
                        left = left[os.write(self._input.fileno(), left[:CHUNK]) :]
                    except BlockingIOError:
                        self._wait(deadline, writing=True)

    def header(self, deadline: float) -> list[str]:
        """Read the lines of the next header, without `end`. Raises what `data` does, and ProtocolError."""
        return header_lines(lambda: self._line(deadline))

    def _line(self, deadline: float) -> bytes:
        start = self._at
        while (end := self._came.find(b"\n", start)) < 0:
            start = len(self._came)
            if start - self._at > MOST_LINE_BYTES:
                break
            self._wait(deadline)
        if not 0 <= end - self._at <= MOST_LINE_BYTES:
            raise ProtocolError(f"a line is longer than {MOST_LINE_BYTES} bytes")
        return self.data(end + 1 - self._at, deadline)[:-1]

    def data(self, count: int, deadline: float) -> bytes:
        """Read the next `count` bytes. Raises ClosedError or LateError."""
        while len(self._came) - self._at < count:
            self._wait(deadline)
        self._at += count
        return bytes(self._came[self._at - count : self._at])

    def surplus(self, deadline: float = 0.0) -> bytes:
        """Give what came without being announced; wait for more until the deadline or the process's end."""
        with contextlib.suppress(ClosedError, LateError):
            while len(self._came) - self._at < MOST_UNREAD:
                self._wait(deadline)
        return bytes(self._came[self._at :])

    def _wait(self, deadline: float, *, writing: bool = False) -> None:
        """Wait until something is read or, with `writing`, can be sent. Raises ClosedError or LateError."""
        full = writing and len(self._came) >= MOST_UNREAD
        with selectors.DefaultSelector() as selector:
            if not full:
                selector.register(self._output, selectors.EVENT_READ)
            if writing:
                selector.register(self._input, selectors.EVENT_WRITE)
            while True:
                left, alive = deadline - time.monotonic(), self.alive()
                ready = {key.fileobj for key, _ in selector.select(min(max(left, 0), LOOK_SECONDS))}
                data = os.read(self._output.fileno(), CHUNK) if self._output in ready else b""
                self._came += data
                if data or ready == {self._input}:
                    return
                if ready or not alive:
                    raise ClosedError(self.how_it_ended)
                if left <= 0:
                    raise LateError

    def alive(self) -> bool:
        """Tell whether the process still runs."""
        return self._process.poll() is None

    def kill(self) -> int:
        """End the process and what it started; give its exit status: its own if it had already ended."""
        if self.alive():
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(self.pid)
                for one in [*process.children(recursive=True), process]:
                    with contextlib.suppress(psutil.Error):
                        one.kill()
        else:
            self._listener.join(LAST_WORDS_SECONDS)
        if sys.platform != "win32":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        return self._process.wait()

    def end_input(self) -> None:
        """Close the process's standard input."""
        with contextlib.suppress(OSError):
            self._input.close()

    @functools.cached_property
    def how_it_ended(self) -> str:
        """How the process ended after it closed its pipes, in words; if it goes on, it is stopped."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        alive, code = self.alive(), self.kill()
        last = f"; it last wrote: {self._last_line}" if self._last_line else ""
        if alive:
            return f"closed its connection, and was stopped{last}"
        if code < 0:
            name = next((s.name for s in signal.Signals if s == -code), f"signal {-code}")
            return f"crashed ({name}){last}"
        return f"ended its process (exit status {code}){last}"

    def close(self) -> None:
        """End the process, and close the pipes to it."""
        self.kill()
        self._listener.join(LAST_WORDS_SECONDS)
        self.end_input()
        self._output.close()

    def _listen(self) -> None:
        """Pass on what the process writes to standard error, until every writer has ended."""
        assert self._process.stderr is not None
        shown = 0
        with self._process.stderr as written:
            for line in iter(lambda: written.readline(MOST_SHOWN), b""):
                text = join_lines(line.decode("utf-8", "backslashreplace"))
                if not text:
                    continue
                self._last_line = text if len(text) <= MOST_LAST else f"… {text[-MOST_LAST:]}"
                if shown <= MOST_SHOWN:
                    shown += len(self._name) + len(text)
                    if shown > MOST_SHOWN:
                        text = f"what it writes from here on is not shown, after {MOST_SHOWN} bytes"
                    say(f"{self._name}: {text}", err=True)


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, with pipes; writing to it does not block."""
    if sys.platform == "win32":
        raise RuntimeNotUsable(
            "only on Linux and macOS can a runtime run in another process; here use grucible.verify, or "
            "pytest without --grucible-isolated"
        )
    else:  # noqa: RET506 - mypy reads it by system
        _watchdog()
        pipe, env = subprocess.PIPE, os.environ | {_VARIABLE: _MARK}
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, env=env
        )
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        return process


def _limit_memory(process: int, memory: int) -> None:
    """Limit a process's address space. Raises RuntimeNotUsable where the system refuses that."""
    if sys.platform == "linux":
        import resource

        try:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(process, resource.RLIMIT_AS, (memory, memory))
        except (PermissionError, ValueError):
            raise RuntimeNotUsable(
                f"--memory: {memory >> 20} MiB is more than this process may give; take less"
            ) from None
    else:
        raise RuntimeNotUsable("--memory: this system cannot limit another process; leave it out")
