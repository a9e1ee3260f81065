"""Sending and receiving through two pipes, neither of which ever blocks beyond a deadline."""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import select
import termios
import time
from collections.abc import Callable, Sequence

from .header import MOST_LINE_BYTES, header_lines, line_too_long

CHUNK = 256 << 10
LOOK_SECONDS = 0.1
"""How often it is asked whether the other side still lives: a death with its pipes held open elsewhere,
by a process that it forked, is noticed after that."""
MOST_UNREAD = 1 << 20
"""So many bytes are taken while a question is still being sent."""
MOST_RECORDED = 64 << 10
"""So many bytes of a record are kept: a header, and what small tensors have."""


class Closed(Exception):
    """The other side has ended, or has closed its pipe."""


class LateError(Exception):
    """The deadline is past."""


class Channel:
    """Two pipes to a process: `reading` and `writing` are file descriptors, `alive` tells of the process."""

    def __init__(self, reading: int, writing: int, alive: Callable[[], bool]) -> None:
        self._reading, self._writing, self._alive = reading, writing, alive
        self._unread = bytearray()
        self._record: bytearray | None = None
        for descriptor in (reading, writing):
            os.set_blocking(descriptor, False)

    def send(self, parts: Sequence[bytes], deadline: float) -> None:
        """Send all of `parts`; what arrives meanwhile is kept. Raises Closed or LateError."""
        for part in parts:
            left = memoryview(part)
            while left:
                room = len(self._unread) < MOST_UNREAD
                readable, writable = self._wait(deadline, reading=room, writing=True)
                if readable:
                    self._take()
                if writable:
                    try:
                        left = left[os.write(self._writing, left[:CHUNK]) :]
                    except BlockingIOError:
                        continue
                    except OSError:
                        raise Closed from None

    def lines(self, deadline: float) -> list[str]:
        """The lines of the next header, without its `end`. Raises Closed, LateError, ProtocolError."""
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
        """The next `count` bytes. Raises Closed or LateError."""
        while len(self._unread) < count:
            self._more(deadline)
        data = bytes(self._unread[:count])
        del self._unread[:count]
        return data

    def surplus(self) -> bytes:
        """What has arrived and was not announced."""
        if not self._unread:
            readable, _, _ = select.select([self._reading], [], [], 0)
            if readable:
                try:
                    self._take()
                except Closed:
                    return b""
        return bytes(self._unread)

    def record(self) -> None:
        """Keep the bytes that arrive from here on, and those that are not read yet, for `recorded`."""
        self._record = self._unread[:MOST_RECORDED]

    @property
    def recorded(self) -> bytes:
        """The first MOST_RECORDED bytes that arrived since `record` was called, as they are."""
        return bytes(self._record or b"")

    def rest(self, deadline: float) -> None:
        """Take what arrives until the other side ends or the deadline is past; only a record keeps it."""
        try:
            while True:
                self._unread.clear()
                self._more(deadline)
        except (Closed, LateError):
            return

    @property
    def left(self) -> int | None:
        """How many bytes of what was sent the other side has not read; None where the system does not say."""
        count = array.array("i", [0])
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._writing, termios.FIONREAD, count)
            return count[0]
        return None

    def _more(self, deadline: float) -> None:
        readable, _ = self._wait(deadline, reading=True, writing=False)
        if readable:
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
        if self._record is not None:
            self._record += data[: MOST_RECORDED - len(self._record)]

    def _wait(self, deadline: float, *, reading: bool, writing: bool) -> tuple[bool, bool]:
        """Whether something can be read, and be written, of what is waited for: one at least."""
        waiting = select.poll()
        if reading:
            waiting.register(self._reading, select.POLLIN)
        if writing:
            waiting.register(self._writing, select.POLLOUT)
        while (left := deadline - time.monotonic()) > 0:
            found = dict(waiting.poll(min(left, LOOK_SECONDS) * 1000))
            if found:
                return self._reading in found, self._writing in found
            if not self._alive():
                raise Closed
        raise LateError
