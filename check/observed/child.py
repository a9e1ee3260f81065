"""A process that speaks the protocol: started, talked to, and ended with all that it started."""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from ...cases.console import join_lines, say
from ...cases.errors import GrucibleError, RuntimeNotUsable
from ..protocol.channel import Channel

MOST_SHOWN = 16 << 10
"""Maximum characters of a process's standard error that are passed on; a report must stay readable."""
MOST_LAST = 200
"""Maximum characters of its last line in the finding of its death."""
END_SECONDS = 1.0
"""Maximum time in which a process that has closed its pipes ends by itself."""
LAST_WORDS_SECONDS = 0.5
"""Maximum time to wait for the last words of a process that has ended."""
_VARIABLE, _MARK = "GRUCIBLE_RUNTIME", secrets.token_hex(8)
"""The variable of the environment, and its value, by which the watchdog knows what we started."""


@functools.cache
def _watchdog() -> subprocess.Popen[bytes]:
    """Start the process that ends ours, once; its standard input closes when we end."""
    return subprocess.Popen(
        [sys.executable, "-P", Path(__file__).with_name("watchdog.py"), _VARIABLE, _MARK],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what ends us by our group does not end it
    )


class Child:
    """A process that runs `command`, in a session of its own; `channel` leads to it.

    Its address space may have `memory` bytes. What it writes to standard error is passed on under `name`, to
    some length, and what it started ends with it. Raises OSError where it does not start.
    """

    def __init__(self, command: Sequence[str], name: str, memory: int | None = None) -> None:
        if os.name == "nt":
            raise RuntimeNotUsable(
                "a runtime is run in another process on Linux and macOS alone; here use grucible.verify, or "
                "pytest without --grucible-isolated"
            )
        _watchdog()
        self.name, self.last_line = name, ""
        # a larger cache in glibc's malloc, on which compilers of models live: OpenVINO takes a tenth less
        tuned = {
            "GLIBC_TUNABLES": "glibc.malloc.tcache_count=60000",
            **os.environ,
            _VARIABLE: _MARK,
        }
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, env=tuned
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.channel = Channel(
            self._process.stdout.fileno(), self._process.stdin.fileno(), self.alive
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        if memory is not None:
            try:
                _limit_memory(self._process.pid, memory)
            except GrucibleError:
                self.close()
                raise

    def alive(self) -> bool:
        """Tell whether the process still runs."""
        return self._process.poll() is None

    def kill(self) -> int:
        """End the process and what it started; give its exit status, which is its own if it had ended."""
        if self.alive():
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(self._process.pid)
                for one in [*process.children(recursive=True), process]:
                    with contextlib.suppress(psutil.Error):
                        one.kill()
        else:
            self._listener.join(LAST_WORDS_SECONDS)
        if sys.platform != "win32":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        return self._process.wait()

    def end_input(self) -> None:
        """Close its standard input."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def ended(self, within: float) -> bool:
        """Tell whether the process ends by itself within some seconds."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(within)
        return not self.alive()

    def how_it_ended(self) -> str:
        """Say how it ended that has closed its pipes; one that goes on all the same is stopped."""
        by_itself = self.ended(END_SECONDS)
        code = self.kill()
        last = f"; it last wrote: {self.last_line}" if self.last_line else ""
        if not by_itself:
            return f"closed its connection, and was stopped{last}"
        if code < 0:
            return f"crashed ({_signal_name(-code)}){last}"
        return f"ended its process (exit status {code}){last}"

    def wrong_at_its_end(self) -> str:
        """End its input after its last answer, and say what goes wrong then; "" where nothing does."""
        until = time.monotonic() + END_SECONDS
        self.end_input()
        if surplus := self.channel.rest(until):
            return (
                f"the runtime broke the protocol: after its last answer it wrote {surplus[:40]!r}"
            )
        if self.ended(max(0.0, until - time.monotonic())) and self.kill() < 0:
            return f"after its last answer, the runtime {self.how_it_ended()}"
        return ""

    def close(self) -> None:
        """End the process, and close the pipes to it."""
        self.kill()
        self._listener.join(LAST_WORDS_SECONDS)
        self.end_input()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _listen(self) -> None:
        """Pass on what the process writes to standard error, until all that write there have ended."""
        assert self._process.stderr is not None
        shown = 0
        with self._process.stderr as written:
            for line in iter(lambda: written.readline(MOST_SHOWN), b""):
                text = join_lines(line.decode("utf-8", "backslashreplace"))
                if not text:
                    continue
                self.last_line = text if len(text) <= MOST_LAST else f"… {text[-MOST_LAST:]}"
                if shown <= MOST_SHOWN:
                    shown += len(self.name) + len(text)
                    if shown > MOST_SHOWN:
                        text = f"what it writes from here on is not shown, after {MOST_SHOWN} bytes"
                    say(f"{self.name}: {text}", err=True)


def _limit_memory(process: int, memory: int) -> None:
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(ProcessLookupError):
            try:
                resource.prlimit(process, resource.RLIMIT_AS, (memory, memory))
            except (PermissionError, ValueError):
                raise GrucibleError(
                    f"--memory: {memory >> 20} MiB is more than this process may give; take less"
                ) from None
    else:
        raise GrucibleError("--memory: this system cannot limit another process; leave it out")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time one
        return f"signal {number}"
