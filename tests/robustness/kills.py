"""Commands that are killed at random moments: nothing runs on, no file is torn, Ctrl-C is told."""

from __future__ import annotations

import itertools
import json
import os
import random
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from robustness.measured import GRUCIBLE, Row, ended

from grucible.cases.errors import GrucibleError
from grucible.vectors.reader import open_vectors

SIGNALS = (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGINT)
SEED = 14
TIMES = 20  # kills of each command; the signals take turns
TOGETHER = 5
"""So many kills of `gen` hit one directory before a whole run into it."""
LEFT_SECONDS = 5.0
"""So long after its end what a command started may still be there."""
STARTING_SECONDS = 0.3  # Python itself may be starting so long, and Ctrl-C just ends it
MARK = "GRUCIBLE_ROBUSTNESS"
"""The environment variable by which the processes of a command are found."""
CELLS = ("--select", "openvino.GRUCell-3/attributes/*", "--select", "openvino.GRUCell-3/core/*")
HANGS = """
import ctypes, os, subprocess, time, zlib
def run(question):
    chance = zlib.crc32(question.id.encode()) % 60
    if chance == 1:  # with a process in a session of its own
        subprocess.Popen(["sleep", "600"], start_new_session=True)
    if chance in (0, 1) or chance == 2 and os.fork() == 0:
        time.sleep(600)
    if chance in (2, 3):
        ctypes.PyDLL(None).sleep(600)  # never gives the interpreter's lock back
    return {name: buffer * 0 for name, buffer in question.buffers().items()}
"""
_numbers = itertools.count()


@dataclass(frozen=True)
class Kill:
    """A signal, so many seconds after the start, to the process or, as Ctrl-C in a terminal, its
    whole group."""

    number: signal.Signals
    delay: float
    group: bool

    def said(self, command: Sequence[str | Path]) -> str:
        """The same for a shell."""
        whole = "" if self.group else " --foreground"
        words = shlex.join(map(str, command))
        return f"timeout{whole} -s {self.number.name[3:]} {self.delay:.3f} {words}"


@dataclass(frozen=True)
class Killed:
    """How a killed command ended: its status, what it said, whether it had ended before, the
    seconds until nothing of it was there, and the command lines of what was there even later."""

    status: int
    out: str
    err: str
    before: bool
    seconds: float
    left: Sequence[str]


def marked(value: str) -> dict[int, str]:
    """The command lines of the processes whose environment has this value of MARK, by number."""
    wanted = f"{MARK}={value}".encode()
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (place / "environ").read_bytes().split(b"\0"):
                line = (place / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(place.name)] = line.decode("utf-8", "replace")[:80]
        except OSError:
            continue
    return found


def gone(value: str) -> tuple[float, list[str]]:
    """Seconds until no process has this value of MARK, and the command lines of those that are
    there after LEFT_SECONDS, which are killed."""
    start = time.monotonic()
    while found := marked(value):
        if time.monotonic() - start > LEFT_SECONDS:
            for process in found:
                os.kill(process, signal.SIGKILL)
            return LEFT_SECONDS, list(found.values())
        time.sleep(0.02)
    return time.monotonic() - start, []


def killed(command: Sequence[str | Path], kill: Kill) -> Killed:
    """Start a command, kill it, and wait until nothing of it is left."""
    value = f"{os.getpid()}-{next(_numbers)}"
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            env={**os.environ, MARK: value}, start_new_session=True,
        )  # fmt: skip
        before = True
        try:
            process.wait(kill.delay)
        except subprocess.TimeoutExpired:
            before = False
            (os.killpg if kill.group else os.kill)(process.pid, kill.number)
        start = time.monotonic()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        waited = time.monotonic() - start
        seconds, left = gone(value)
        told = [os.pread(stream.fileno(), 1 << 20, 0) for stream in (out, err)]
    said, complained = (text.decode("utf-8", "backslashreplace") for text in told)
    return Killed(process.returncode, said, complained, before, waited + seconds, left)


def wrong(one: Killed, kill: Kill) -> list[str]:
    """What of the end of a killed command should not have been."""
    found = []
    if one.left:
        found.append(f"still there after {LEFT_SECONDS:g} s: {'; '.join(one.left)}")
    python = one.status == -signal.SIGINT or "Fatal Python error: init_" in one.err
    starting = python and kill.delay < STARTING_SECONDS
    if "Traceback" in one.err and not starting:
        found.append(f"a traceback on stderr, which ends {one.err[-200:]!r}")
    if one.before:
        return found if one.status in (0, 1) else [*found, f"by itself, status {one.status}"]
    if one.status == 128 + kill.number and kill.number != signal.SIGKILL:
        told = one.err or f"{' '.join(one.out.split())}\n"  # check reports what it compared
        if told.count("\n") != 1 or "interrupted" not in told:
            found.append(f"status {one.status}, stderr {one.err[:300]!r}")
    elif kill.number != signal.SIGINT:
        if one.status not in (-kill.number, 0, 1):
            found.append(f"status {one.status}")
    elif not starting and (one.status not in (0, 1) or one.err):
        found.append(f"status {one.status}, stderr {one.err[:300]!r}")
    return found


def how(one: Killed, kill: Kill) -> str:
    """How a killed command ended, for counting."""
    if one.before or one.status in (0, 1):
        return "ended before the kill" if one.before else "came through to its end"
    return f"{kill.number.name}: {f'status {one.status}' if one.status > 1 else 'ended by it'}"


def torn(folder: Path) -> list[str]:
    """What is wrong with the vector files and reports below a folder."""
    found = []
    for path in folder.rglob("*"):
        try:
            if path.suffix == ".h5":
                with open_vectors(path) as vectors:
                    vectors.verify_content()
            elif path.suffix == ".json":
                json.loads(path.read_text(encoding="utf-8"))
        except (GrucibleError, ValueError) as error:
            found.append(f"a torn file: {error}")
    return found


def kills(longest: float, seed: str) -> Iterator[Kill]:
    """TIMES kills, at random moments of so many seconds."""
    random_ = random.Random(seed)
    for turn in range(TIMES):
        number = SIGNALS[turn % len(SIGNALS)]
        yield Kill(number, random_.uniform(0, longest), random_.random() < 0.5)


def see(row: Row, command: Sequence[str | Path], kill: Kill, folder: Path) -> None:
    """Kill a command that writes into a folder, and count it in a row."""
    one = killed(command, kill)
    row.see(how(one, kill), one.seconds)
    said = kill.said([*("python", *GRUCIBLE[1:]), *command[len(GRUCIBLE) :]])
    row.findings += [f"{said}: {what}" for what in [*wrong(one, kill), *torn(folder)]]


def gen_killed(folder: Path, jobs: int) -> Row:
    """`gen`, again and again into one directory, which then is made whole; in every second one
    stand files of another seed, which are to be replaced."""
    row = Row(f"gen --jobs {jobs}, killed")
    command = [*GRUCIBLE, "gen", *CELLS, "--jobs", str(jobs), "-o"]
    for turn, kill in enumerate(kills(1.6 + 0.4 * jobs, f"{SEED} gen {jobs}")):
        out = folder / f"gen{jobs}-{turn // TOGETHER}"
        if turn % TOGETHER == 0 and turn // TOGETHER % 2:
            ended([*command, out, "--seed", "1"])
        see(row, [*command, out], kill, out)
        if turn % TOGETHER == TOGETHER - 1:
            last = ended([*command, out])
            left = [str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()]
            temporary = [name for name in left if not name.endswith(".h5")]
            if last.status or len(left) != 2 or temporary or torn(out):
                row.findings.append(
                    f"gen after {TOGETHER} kills (seed {SEED}, turn {turn}): status {last.status}, "
                    f"files {left}, stderr {last.err[:200]!r}, {torn(out)}"
                )
        elif turn // TOGETHER % 2 == 0:  # what came through is made again, the rest stays
            for whole in list(out.rglob("*.h5")):
                whole.unlink()
    return row


def check_killed(folder: Path, runtime: str, longest: float, jobs: int) -> Row:
    """`check` of the core vectors, with a report that must be whole if it is there."""
    name = "that hangs" if ":" in runtime else runtime
    row = Row(f"check --runtime {name} --jobs {jobs}, killed")
    out = folder / f"check-{name.replace(' ', '-')}{jobs}"
    out.mkdir()
    options = ["--jobs", str(jobs), "--report", f"json={out / 'report.json'}"]
    for kill in kills(longest, f"{SEED} {name} {jobs}"):
        see(row, [*GRUCIBLE, "check", "--runtime", runtime, *options], kill, out)
    return row


def heed_signals() -> None:
    """What is ignored here, as under nohup, would be ignored by the commands too."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def rows(folder: Path) -> Iterator[Row]:
    """Each command with one process and with two; two commands are run and killed at a time."""
    heed_signals()
    (folder / "hangs.py").write_text(HANGS, encoding="utf-8")
    hangs = f"{folder / 'hangs.py'}:run"
    with ThreadPoolExecutor(2) as pool:
        for campaign in (
            partial(gen_killed, folder),
            partial(check_killed, folder, "onnxruntime", 2.8),
            partial(check_killed, folder, hangs, 3.0),
        ):
            yield from pool.map(campaign, (1, 2))
