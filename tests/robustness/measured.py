"""A campaign's row on the page, and processes that are timed and weighed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

GRUCIBLE = (sys.executable, "-m", "grucible")


@dataclass
class Row:
    """What a campaign tried, how it ended, and the worst of it; `findings` are what should not have been."""

    what: str
    tried: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    megabytes: float = 0.0
    findings: list[str] = field(default_factory=list)

    def see(self, how: str, seconds: float = 0.0, megabytes: float = 0.0) -> None:
        """Count one that ended so."""
        self.tried += 1
        self.ended[how] = self.ended.get(how, 0) + 1
        self.seconds, self.megabytes = max(self.seconds, seconds), max(self.megabytes, megabytes)


@dataclass(frozen=True)
class Ended:
    """How a process ended: its status (negative: by that signal), what it said, and the wall time and the
    largest memory of its own that it took."""

    status: int
    out: str
    err: str
    seconds: float
    megabytes: float

    @property
    def one_line(self) -> bool:
        """Whether nothing but one line of ours was said, with status 2."""
        said = self.err.startswith("grucible: ") and self.err.count("\n") == 1
        return self.status == 2 and said and "Traceback" not in self.err


def ended(
    command: Sequence[str | Path | bytes],
    *,
    limit: float = 60.0,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
) -> Ended:
    """Run a command in a session of its own, killed with all of it after `limit` seconds."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        process = subprocess.Popen(
            command, stdin=stdin, stdout=out, stderr=err, cwd=cwd, env=env, start_new_session=True
        )
        timer = threading.Timer(limit, _kill, [process.pid])
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        printed, told = (s.read().decode("utf-8", "backslashreplace") for s in (out, err))
    return Ended(process.returncode, printed, told, seconds, used.ru_maxrss / 1024)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
