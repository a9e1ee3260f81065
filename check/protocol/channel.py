"""Sending and receiving through two pipes, neither of which ever blocks beyond a deadline."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import time
from collections.abc import Callable, Sequence

from .header import MOST_LINE_BYTES, ProtocolError, header_lines

CHUNK = 256 << 10
LOOK_SECONDS = 0.1
"""How often to look whether the other side still lives; a process that it forked may hold its pipes open."""
MOST_UNREAD = 1 << 20
"""Maximum bytes to take that nobody waits for; a flood must not fill the memory."""


class Closed(Exception):
    """The other side has ended, or has closed its pipe."""


class LateError(Exception):
    """The deadline is past."""


class Channel:
    """Two pipes to a process: `reading` and `writing` are file descriptors, `alive` asks for the process."""

    def __init__(self, reading: int, writing: int, alive: Callable[[], bool]) -> None:
        self._reading, self._writing, self._alive = reading, writing, alive
        self._unread = bytearray()
        if sys.platform != "win32":
            os.set_blocking(reading, False)
            os.set_blocking(writing, False)

    def send(self, parts: Sequence[bytes], deadline: float) -> None:
        """Send all of `parts`; what arrives meanwhile is kept. Raises Closed or LateError."""
        for part in parts:
            left = memoryview(part)
            while left:
                try:
                    left = left[os.write(self._writing, left[:CHUNK]) :]
                except BlockingIOError:
                    self._more(deadline, writing=True)
                except OSError:
                    raise Closed from None

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
            raise ProtocolError(f"a line is longer than {MOST_LINE_BYTES} bytes")
        return self.take(at + 1)[:-1]

    def data(self, count: int, deadline: float) -> bytes:
        """Read the next `count` bytes. Raises Closed or LateError."""
        while len(self._unread) < count:
            self._more(deadline)
        return self.take(count)

    def until(self, is_whole: Callable[[bytes], bool], deadline: float) -> None:
        """Wait until what has arrived is whole, or too much. Raises Closed or LateError."""
        while len(self._unread) < MOST_UNREAD and not is_whole(bytes(self._unread)):
            self._more(deadline)

    def take(self, count: int | None = None) -> bytes:
        """Give the first `count` bytes, or all, of what has arrived."""
        data = bytes(self._unread[:count])
        del self._unread[:count]
        return data

    def surplus(self) -> bytes:
        """Give what has arrived and was not announced."""
        if not self._unread:
            with contextlib.suppress(Closed):
                self._read()
        return bytes(self._unread)

    def rest(self, deadline: float) -> bytes:
        """Take what arrives until the other side ends or the deadline is past; give the first of it."""
        first = b""
        with contextlib.suppress(Closed, LateError):
            while True:
                self._more(deadline)
                first += self.take()[: MOST_UNREAD - len(first)]
        return first + self.take()

    def _more(self, deadline: float, *, writing: bool = False) -> None:
        """Wait until something can be read, which is read; or with `writing` until one can write."""
        full = writing and len(self._unread) >= MOST_UNREAD
        pipes = [] if full else [self._reading], [self._writing] if writing else []
        while (left := deadline - time.monotonic()) > 0:
            can_read, can_write, _ = select.select(*pipes, [], min(left, LOOK_SECONDS))
            if can_read:
                self._read()
            if can_read or can_write:
                return
            if not self._alive():
                raise Closed
        raise LateError

    def _read(self) -> None:
        try:
            data = os.read(self._reading, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            raise Closed from None
        if not data:
            raise Closed
        self._unread += data
