"""A process that speaks the protocol: started, talked to, and ended with all that it started."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
import threading
import time
from collections.abc import Sequence

from ...cases.commands import watchdog
from ...cases.console import join_lines, say
from ...cases.errors import GrucibleError
from ..protocol.channel import Channel
from .threads import start_thread

MOST_SHOWN = 16 << 10
"""So many bytes of what a runtime writes to standard error, or prints, are passed on."""
MOST_KEPT = 4 << 10
"""So many of the last ones are kept, for when the process dies."""
MOST_TOLD = 200
"""So many characters of the last line stand in the finding of a death."""
LAST_WORDS_SECONDS = 0.5
"""How long the last words of a process that has ended are waited for."""


class Child:
    """A process that runs `command`, in a session of its own; `channel` leads to it.

    Its address space may have `memory` bytes. What it writes to standard error is passed on under
    `name`, to some length, and what it started ends with it.
    """

    def __init__(self, command: Sequence[str], name: str, memory: int | None = None) -> None:
        self.name, self._shown, self._mark = name, 0, watchdog.new_mark()
        _see_how_children_end()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
            env={**_environment(), watchdog.MARK: self._mark},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.channel = Channel(
            self._process.stdout.fileno(), self._process.stdin.fileno(), self.alive
        )
        self._last = bytearray()
        self._stop = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        try:
            watchdog.watch(self._process.pid, self._mark)
            if memory is not None:
                _limit(self._process.pid, memory)
            start_thread(self._listener)
        except BaseException:
            self._give_up()
            raise

    def _give_up(self) -> None:
        """End a process that cannot be watched, limited or listened to."""
        watchdog.kill(self._process.pid, self._mark)
        self._process.wait()
        with contextlib.suppress(OSError):  # there may be no watchdog
            watchdog.forget(self._process.pid)
        self._close_pipes()

    def alive(self) -> bool:
        """Whether the process still runs."""
        if self._process.returncode is not None:
            return False
        with contextlib.suppress(ChildProcessError):
            # it is not waited for here: until it is, its number and its group are its own
            return os.waitid(os.P_PID, self._process.pid, _ENDED) is None
        return False

    def kill(self) -> int:
        """End the process and what is left of its group; the exit status, as subprocess gives it.

        That of a process which had ended before is its own.
        """
        if self._process.returncode is None:
            if not self.alive():
                self._listener.join(LAST_WORDS_SECONDS)
            watchdog.kill(self._process.pid, self._mark)
            self._process.wait()
            watchdog.forget(self._process.pid)
        self._stop.set()
        return self._process.returncode

    def ended(self, within: float) -> bool:
        """Whether the process ends by itself within so many seconds."""
        until = time.monotonic() + within
        while self.alive() and time.monotonic() < until:
            time.sleep(0.01)
        return not self.alive()

    def end_input(self) -> None:
        """End the process's standard input: nothing may be sent any more."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def close(self) -> None:
        """End the process, and close the pipes: nobody may be at the channel any more."""
        self.kill()
        self._listener.join()
        self._close_pipes()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

    @property
    def last_line(self) -> str:
        """The last line that the process wrote to standard error, shortened; "" where there is none."""
        lines = join_lines(
            self._last.decode("utf-8", "backslashreplace").rstrip().rpartition("\n")[2]
        )
        return lines if len(lines) <= MOST_TOLD else f"… {lines[-MOST_TOLD:]}"

    def _listen(self) -> None:
        assert self._process.stderr is not None
        descriptor = self._process.stderr.fileno()
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        line = bytearray()
        while not self._stop.is_set():
            if not waiting.poll(100):
                continue
            data = os.read(descriptor, 64 << 10)
            if not data:
                break
            self._last = (self._last + data)[-MOST_KEPT:]
            line += data
            *lines, line = line.replace(b"\r", b"\n").split(b"\n")
            if len(line) > MOST_SHOWN:
                lines, line = [*lines, line], bytearray()
            for one in lines:
                self._show(one)
        self._show(line)

    def _show(self, line: bytearray) -> None:
        if not line or self._shown > MOST_SHOWN:
            return
        self._shown += len(self.name) + len(line)
        text = join_lines(line[:MOST_SHOWN].decode("utf-8", "backslashreplace"))
        if self._shown > MOST_SHOWN:
            text = f"what it writes from here on is not shown, after {MOST_SHOWN} bytes"
        say(f"{self.name}: {text}", err=True)


_ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT


def _see_how_children_end() -> None:
    """Let the system keep how a child ended: where SIGCHLD is ignored, as who started us may have left it, it
    does not. A handler of the program that we are part of stays."""
    if signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN:
        return
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    except ValueError:  # not in the main thread
        raise GrucibleError(
            "SIGCHLD is ignored here, so that nobody sees how a process ends; let the main thread call "
            "signal.signal(signal.SIGCHLD, signal.SIG_DFL) first"
        ) from None


def _limit(process: int, memory: int) -> None:
    if not hasattr(resource, "prlimit"):
        raise GrucibleError("--memory: this system cannot limit another process; leave it out")
    try:
        resource.prlimit(process, resource.RLIMIT_AS, (memory, memory))
    except ProcessLookupError:
        pass
    except (OSError, ValueError):
        raise GrucibleError(
            f"--memory: {memory >> 20} MiB is more than this process may give; take less"
        ) from None


def _environment() -> dict[str, str]:
    """Our environment, and a larger cache in glibc's malloc, on which compilers of models live: a
    check of OpenVINO takes a tenth less, and what it computes is the same."""
    return {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=60000", **os.environ}


def signal_name(number: int) -> str:
    """The name of a signal; a real-time one, which has none of its own, is counted from the first."""
    try:
        return signal.Signals(number).name
    except ValueError:
        first, last = getattr(signal, "SIGRTMIN", 0), getattr(signal, "SIGRTMAX", 0)
        return f"SIGRTMIN+{number - first}" if first < number < last else f"signal {number}"
