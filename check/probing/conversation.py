"""A program that is talked to, with every byte that it writes kept; and bytes for a person to read."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from ...cases.console import say

QUIET_SECONDS = 0.05
"""How long to wait for bytes after a whole message, which nobody announced."""
AFTER_SECONDS = 2.0
"""How long to wait for a late program after the end of its input: it writes now what it had not flushed."""
MOST_BYTES = 1 << 20
"""Maximum bytes kept of a message; a flood has no more to say."""


@dataclass(frozen=True)
class Heard:
    """The bytes that followed one message to a program.

    `afterwards` are those that came only after the end of its input, where it was `late`. `ended` says how
    the process ended, "" where it runs.
    """

    data: bytes
    late: bool = False
    afterwards: bytes = b""
    ended: str = ""


class Conversation:
    """A process of `command`; what it writes to standard error is shown.

    Raises OSError where it does not start.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._data, self._changed, self._closed = bytearray(), threading.Condition(), False
        for work in (self._read, self._show):
            threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        """End the program and what it started."""
        with contextlib.suppress(ProcessLookupError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def ask(self, message: bytes, is_whole: Callable[[bytes], bool], timeout: float) -> Heard:
        """Send a message, and return what comes until `is_whole` holds, the program ends or time is up."""
        threading.Thread(target=self._send, args=[message], daemon=True).start()
        self._wait(is_whole, timeout)
        if is_whole(bytes(self._data)) or len(self._data) >= MOST_BYTES:
            time.sleep(QUIET_SECONDS)
            return Heard(self._take(), ended=self.ended(0))
        data = self._take()
        if self._closed:
            return Heard(data, ended=self.ended(1) or "closed its standard output")
        with contextlib.suppress(OSError):
            self._stdin.close()
        self._wait(lambda _: False, AFTER_SECONDS)
        return Heard(data, True, self._take(), self.ended(QUIET_SECONDS))

    def end(self, within: float) -> Heard:
        """End the program's input, and return what it still writes; late where it does not end."""
        with contextlib.suppress(OSError):
            self._stdin.close()
        self._wait(lambda _: False, within)
        ended = self.ended(within)
        return Heard(self._take(), late=not ended, ended=ended)

    def ended(self, within: float) -> str:
        """Say how the process ended, if it does so within some seconds; "" if not."""
        try:
            status = self._process.wait(within)
        except subprocess.TimeoutExpired:
            return ""
        if status < 0:
            return f"crashed ({signal.Signals(-status).name})"
        return f"ended its process (exit status {status})"

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _send(self, message: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # what it wrote before it ended counts
            self._stdin.write(message)

    def _read(self) -> None:
        assert self._process.stdout is not None
        while data := self._process.stdout.read(1 << 16):
            with self._changed:
                self._data += data[: max(0, MOST_BYTES - len(self._data))]
                self._changed.notify()
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _show(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            text = line[:MOST_BYTES].decode("utf-8", "backslashreplace").rstrip()
            say(f"standard error: {text}", err=True)

    def _wait(self, is_whole: Callable[[bytes], bool], seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    self._closed or len(self._data) >= MOST_BYTES or is_whole(bytes(self._data))
                ),
                seconds,
            )

    def _take(self) -> bytes:
        with self._changed:
            data, self._data = bytes(self._data), bytearray()
        return data


_ROW, _MOST_TEXT = 16, 64
_TEXT = re.compile(rb"[\t\x20-\x7e]{2,}\r?\n|[\t\x20-\x7e]{5,}\Z")
"""Text in the midst of other bytes: a line of it, or what is left."""


def dump_bytes(data: bytes, head: int = 7, tail: int = 3) -> tuple[str, ...]:
    """Return rows of offsets with lines of text or hexadecimal numbers; of many those at both ends."""
    rows = list(_rows(data))
    if len(rows) <= head + tail + 1:
        return tuple(rows)
    hidden = f"{'…':>6}  {len(rows) - head - tail} rows are not shown"
    return (*rows[:head], hidden, *rows[-tail:])


def _rows(data: bytes) -> Iterator[str]:
    at = 0
    while at < len(data):
        stop = data.find(b"\n", at) + 1 or len(data)
        if is_text(data[at:stop]):
            yield f"{at:6}  {write_out(data[at:stop])}"
        else:
            text = _TEXT.search(data, at + 1)
            stop = text.start() if text else len(data)
            for start in range(at, stop, _ROW):
                row = data[start : min(start + _ROW, stop)]
                shown = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
                yield f"{start:6}  {row.hex(' '):{3 * _ROW}} {shown}"
        at = stop


def write_out(data: bytes, most: int = _MOST_TEXT) -> str:
    r"""Return bytes as one line of text, shortened, with \n, \x1b and the like written out."""
    text = data[: 4 * most].decode("utf-8", "backslashreplace")
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= most else f"{text[:most]} …"


def is_text(data: bytes) -> bool:
    """Whether bytes are text, as a program prints it."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(c.isprintable() or c in "\t\r\n\x1b" for c in text)
