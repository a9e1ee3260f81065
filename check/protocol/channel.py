"""Sending and receiving through two pipes, neither of which ever blocks beyond a deadline."""

from __future__ import annotations

import contextlib
import os
import selectors
import sys
import time
from collections.abc import Callable, Sequence

from .header import MOST_LINE_BYTES, header_lines, line_too_long

CHUNK = 256 << 10
LOOK_SECONDS = 0.1
"""How often to look whether the other side still lives; a process that it forked may hold its pipes open."""
MOST_UNREAD = 1 << 20
"""Maximum bytes to take while a question is still being sent; a flood must not fill the memory."""


class Closed(Exception):
    """The other side has ended, or has closed its pipe."""


class LateError(Exception):
    """The deadline is past."""


class Channel:
    """Two pipes to a process: `reading` and `writing` are file descriptors, `alive` asks for the process."""

    def __init__(self, reading: int, writing: int, alive: Callable[[], bool]) -> None:
        self._reading, self._writing, self._alive = reading, writing, alive
        self._unread = bytearray()
        self._incoming, self._both = selectors.DefaultSelector(), selectors.DefaultSelector()
        self._incoming.register(reading, selectors.EVENT_READ)
        self._both.register(reading, selectors.EVENT_READ)
        self._both.register(writing, selectors.EVENT_WRITE)
        if sys.platform != "win32":
            os.set_blocking(reading, False)
            os.set_blocking(writing, False)

    def close(self) -> None:
        """Let go of the pipes, which stay open."""
        self._incoming.close()
        self._both.close()

    def send(self, parts: Sequence[bytes], deadline: float) -> None:
        """Send all of `parts`; what arrives meanwhile is kept. Raises Closed or LateError."""
        for part in parts:
            left = memoryview(part)
            while left:
                try:
                    left = left[os.write(self._writing, left[:CHUNK]) :]
                    continue
                except BlockingIOError:
                    full = len(self._unread) >= MOST_UNREAD
                except OSError:
                    raise Closed from None
                if self._reading in self._wait(self._both, deadline) and not full:
                    self._take()
                elif full:
                    time.sleep(0.001)

    def lines(self, deadline: float) -> list[str]:
        """Read the lines of the next header, without its `end`. Raises Closed, LateError, ProtocolError."""
        return header_lines(lambda: self._line(deadline))

    def _line(self, deadline: float) -> bytes:
        start = 0
        while (at := self._unread.find(b"\n", start)) < 0:
            start = len(self._unread)
            if start > MOST_LINE_BYTES:
                break
            self._more(deadline)
        if not 0 <= at <= MOST_LINE_BYTES:
            raise line_too_long()
        line = bytes(self._unread[:at])
        del self._unread[: at + 1]
        return line

    def data(self, count: int, deadline: float) -> bytes:
        """Read the next `count` bytes. Raises Closed or LateError."""
        while len(self._unread) < count:
            self._more(deadline)
        data = bytes(self._unread[:count])
        del self._unread[:count]
        return data

    def surplus(self) -> bytes:
        """Give what has arrived and was not announced."""
        if not self._unread:
            with contextlib.suppress(Closed):
                self._take()
        return bytes(self._unread)

    def rest(self, deadline: float) -> bytes:
        """Take what arrives until the other side ends or the deadline is past; give the first of it."""
        first = b""
        with contextlib.suppress(Closed, LateError):
            while True:
                first = first or bytes(self._unread)
                self._unread.clear()
                self._more(deadline)
        return first or bytes(self._unread)

    def _more(self, deadline: float) -> None:
        if self._wait(self._incoming, deadline):
            self._take()

    def _take(self) -> None:
        try:
            data = os.read(self._reading, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            raise Closed from None
        if not data:
            raise Closed
        self._unread += data

    def _wait(self, selector: selectors.BaseSelector, deadline: float) -> set[int]:
        """Wait until something can be read or written; give the descriptors."""
        while (left := deadline - time.monotonic()) > 0:
            if found := selector.select(min(left, LOOK_SECONDS)):
                return {key.fd for key, _ in found}
            if not self._alive():
                raise Closed
        raise LateError
