"""What was tried to break it: python tests/robustness/run.py [--share S] [NAME ...] prints a table.

A finding is a traceback, a hang, a crash, lost data, or a verdict on what was not compared. `--share` takes
that part of the mutants and flips. The exit status is 1 where anything was found.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import psutil

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from judged import judge_outputs  # noqa: E402
from robustness import structures  # noqa: E402

from check import made  # noqa: E402
from grucible import GrucibleError, load_vectors  # noqa: E402
from grucible.cases.errors import VectorFileError  # noqa: E402
from grucible.vectors.reader import open_vectors  # noqa: E402
from grucible.vectors.vector_set import open_set  # noqa: E402
from vectors import damage, handmade  # noqa: E402

CHECK = TESTS / "check"
GRUCIBLE = (sys.executable, "-m", "grucible")
MOST_SECONDS = 10.0
"""Maximum time of what is refused; a busy machine takes longer than an idle one."""
MOST_MEGABYTES = 700.0
MARK = "GRUCIBLE_ROBUSTNESS"
"""The environment variable by which the processes of a command are found."""


@dataclass
class Row:
    """What was tried, how often it ended how, and what should not have been."""

    what: str
    ended: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    findings: list[str] = field(default_factory=list)

    def see(self, how: str, start: float, *findings: str) -> None:
        """Count one that began at `start` and ended so."""
        self.ended[how] += 1
        self.seconds = max(self.seconds, time.monotonic() - start)
        self.findings += findings


def mutate_bytes(path: Path, seed: int) -> None:
    """Change one to four bytes of a file: flip a bit, or put another value."""
    draw, raw = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 1, 2, 4])):
        at = draw.randrange(len(raw))
        raw[at] = draw.choice([raw[at] ^ 1 << draw.randrange(8), 0, 255, draw.randrange(256)])
    path.write_bytes(raw)


def write_outputs(vectors: Path, path: Path, **layout: Any) -> None:
    """Write the expected outputs of handmade vectors, with a status each, and filtered as `layout` says."""
    made.write_outputs(path, vectors, **layout)
    with h5py.File(path, "r+") as file:
        for block in handmade.BLOCKS:
            handmade.put_texts(file, f"{block.path}/status", ["ok"] * len(block.cases))


def outcome(vectors: Path, outputs: Path, right: Sequence[bytes]) -> str:
    """Say whether a mutant was refused, or judged; anything else is a finding.

    Its cases are those that were there before the change, or their digests were taken anew.
    """
    try:
        for case in load_vectors(vectors):
            assert case.inputs
        report = judge_outputs(vectors, outputs, diagnose=False)
    except VectorFileError as error:
        return f"a message {error}" if "\n" in str(error) else "refused"
    except GrucibleError as error:
        return f"another error: {error}"
    if report.exit_status == 0 and right and expected(vectors) != right:
        return "conforms, with other answers"
    return "judged"


def expected(vectors: Path) -> list[bytes]:
    """All answers in vectors."""
    return [a.tobytes() for c in load_vectors(vectors) for a in c.answer.outputs.values()]


def mutants(folder: Path, share: float) -> Iterator[Row]:
    """Mutants of handmade vectors and of outputs: bytes, and structure."""
    vectors, sound = folder / "vectors.h5", folder / "sound.h5"
    handmade.write_handmade(vectors)
    write_outputs(vectors, sound)
    right = expected(vectors)
    layouts: dict[str, dict[str, Any]] = {
        "vectors": {},
        "outputs": {},
        "outputs, gzip": {"compression": "gzip", "shuffle": True, "fletcher32": True},
        "outputs, lzf": {"compression": "lzf"},
    }
    for name, layout in layouts.items():
        good, changed = folder / f"{name}.h5", folder / f"{name}-mutant.h5"
        if name != "vectors":
            write_outputs(vectors, good, **layout)
        for how, count in (("bytes", 5000), ("structure", 1250)):
            row = Row(f"mutants: {how} of {name}")
            for seed in range(int(count * share)):
                shutil.copy(good, changed)
                if how == "bytes":
                    mutate_bytes(changed, seed)
                else:
                    structures.mutate(changed, seed, handmade.sign if good == vectors else None)
                pair = (changed, sound) if good == vectors else (vectors, changed)
                start = time.monotonic()
                found = outcome(*pair, right if how == "bytes" else ())
                if found in ("refused", "judged"):
                    row.see(found, start)
                else:
                    row.see("otherwise", start, f"{seed}: {found}")
            yield row


def flips(folder: Path, share: float) -> Iterator[Row]:
    """Flip one bit of each byte of a vector file: it is refused, or what is judged is the same."""
    path = folder / "flipped.h5"
    handmade.write_handmade(path)
    raw = path.read_bytes()
    whole = open_vectors(path)
    digests = whole.content_sha256, whole.tolerance_sha256
    row = Row("flips: a bit of each byte of a vector file")
    for at in range(0, len(raw), max(1, round(1 / share))):
        flipped = bytearray(raw)
        flipped[at] ^= 1 << at % 8
        path.write_bytes(flipped)
        start = time.monotonic()
        try:
            found = open_vectors(path)
            found.verify_content()
            same = (found.content_sha256, found.tolerance_sha256) == digests
            row.see("the same", start, *([] if same else [f"byte {at}"]))
        except VectorFileError:
            row.see("refused", start)
    yield row


class Ended(NamedTuple):
    """How a command ended: its status, what it wrote, the megabytes it took, and what it left running."""

    status: int
    out: str
    err: str
    megabytes: float
    left: Sequence[str]


def run(
    command: Sequence[str | Path], limit: float, kill: int = signal.SIGKILL, cwd: Path | None = None
) -> Ended:
    """Run a command, killed after `limit` seconds; what it leaves running is named, and killed."""
    environment = {**os.environ, MARK: f"{os.getpid()}-{time.monotonic_ns()}"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
            env=environment, start_new_session=True,
        )  # fmt: skip
        most, status, deadline = 0.0, None, time.monotonic() + limit
        while status is None:
            with contextlib.suppress(psutil.Error):
                most = max(most, psutil.Process(process.pid).memory_info().rss / (1 << 20))
            if time.monotonic() > deadline:
                process.send_signal(kill)
                deadline, kill = time.monotonic() + 20, signal.SIGKILL
            time.sleep(0.01)
            status = process.poll()
        printed, errors = (
            os.pread(stream.fileno(), 1 << 20, 0).decode("utf-8", "replace")
            for stream in (out, err)
        )
    there = psutil.process_iter(["environ"])
    left = [one for one in there if (one.info["environ"] or {}).get(MARK) == environment[MARK]]
    _, left = psutil.wait_procs(left, 5)
    for one in left:
        one.kill()
    return Ended(status, printed, errors, most, [*map(str, left)])


ID = f"{damage.BLOCK}/id"
FILE_BOMBS: dict[str, Callable[[Path], None]] = {
    "a row of 8 GiB, compressed": damage.put(damage.X, damage.zeros_bomb(8 << 30, 1, rows=1)),
    "three rows of 250 MiB": damage.put(damage.X, damage.zeros_bomb(250 << 20, 1, rows=3)),
    "512 million ids": damage.put(ID, damage.zeros_bomb(1 << 30, 1, "S2")),
    "10^12 ids": damage.put(ID, lambda file, at: file.create_dataset(at, (10**12,), "S9")),
    "20,000 blocks": damage.edit(lambda file: [file.create_group(f"float32/{n:05}") for n in range(20_000)]),
    "2,000 attributes of 30 KiB": damage.edit(
        lambda file: [file.attrs.create(f"x{n}", np.zeros(30 << 10, "u1")) for n in range(2_000)]),
}  # fmt: skip
_SPEC = (
    "operator: openvino.GRUSequence-5\nabout: a bomb\ndtypes: [float32]\n"
    "sizes: {{batch_size: 1, input_size: 1, hidden_size: 1, seq_length: 1}}\ncases:\n  - {}\n"
)
_HUNDRED = [*range(1, 101)]
TEXT_BOMBS: dict[str, str] = {
    "a product of 10^8": _SPEC.format(
        f"product: {{direction: [forward], batch_size: {_HUNDRED}, input_size: {_HUNDRED}, "
        f"hidden_size: {_HUNDRED}, seq_length: {_HUNDRED}}}"),
    "a list of 100,000": _SPEC.format("list: [" + "{direction: forward}, " * 100_000 + "]"),
    "an integer of a million digits": _SPEC.format(f"list: [{{clip: {'9' * 1_000_000}}}]"),
    "lists 100,000 deep": "operator: " + "[" * 100_000,
    "a billion laughs": "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]\n",
    "4 MB of colons": ":" * (4 << 20),
    "200,000 duplicate keys": "a: 1\n" * 200_000,
}  # fmt: skip


def bombs(folder: Path, _: float) -> Iterator[Row]:
    """Small inputs that would take gigabytes or minutes if what they claim were believed."""
    path, spec, none = folder / "bomb.h5", folder / "spec.yaml", folder / "none"
    none.mkdir()
    of_files: list[list[str | Path]] = [
        ["check", path, "--outputs", none], ["show", path, "*"], ["score", path]
    ]  # fmt: skip
    of_texts: list[list[str | Path]] = [
        ["cases", spec], ["gen", spec, "-o", folder / "out"], ["check", "--runtime", "x", "--expect", spec]
    ]  # fmt: skip
    for what in (*FILE_BOMBS, *TEXT_BOMBS):
        row = Row(f"bombs: {what}")
        if what in FILE_BOMBS:
            handmade.write_handmade(path)
            FILE_BOMBS[what](path)
        else:
            spec.write_text(TEXT_BOMBS[what])
        for command in of_files if what in FILE_BOMBS else of_texts:
            start = time.monotonic()
            found = run([*GRUCIBLE, *command], 60)
            took, wrong = time.monotonic() - start, list[str]()
            refused = found.err.startswith("grucible: ") and found.err.count("\n") == 1
            if (
                "Traceback" in found.err
                or found.status not in (0, 1, 2)
                or (found.status == 2 and not refused)
            ):
                wrong.append(f"{command[0]}: status {found.status}: {found.err[-200:]}")
            if took > MOST_SECONDS or found.megabytes > MOST_MEGABYTES:
                wrong.append(f"{command[0]}: {took:.1f} s, {found.megabytes:.0f} MB")
            row.see("refused" if found.status == 2 else f"status {found.status}", start, *wrong)
        yield row


def kills(folder: Path, _: float) -> Iterator[Row]:
    """Kill commands at random moments: no file is torn, nothing runs on, and a later run makes all whole."""
    draw, select = random.Random(14), ["--select", "openvino.GRUCell-3/core/*"]
    slow = folder / "slow.py"
    slow.write_text("import time\ndef run(q):\n    time.sleep(0.01)\n    return {}\n")
    commands: dict[str, list[str]] = {
        "gen": ["gen", *select, "--jobs", "2", "-o"],
        "run": ["run", "--runtime", f"{slow}:run", *select, "-o"],
    }
    for name, command in commands.items():
        row = Row(f"kills: {name}")
        for turn in range(16):
            number = (signal.SIGTERM, signal.SIGKILL, signal.SIGINT)[turn % 3]
            out, start = folder / f"{name}{turn // 4}", time.monotonic()
            found = run([*GRUCIBLE, *command, out], draw.uniform(0.3, 3), number)
            wrong = ["a traceback"] if "Traceback" in found.err else []
            try:
                for file in open_set(out).files if name == "gen" and [*out.rglob("*.h5")] else ():
                    file.verify_content()
            except GrucibleError as error:
                wrong.append(f"torn: {error}")
            row.see(f"status {found.status}", start, *wrong, *found.left)
        if name == "gen" and run([*GRUCIBLE, *command, out], 300).status:
            row.findings.append("a later run fails")
        yield row


ZERO = "return {'Ho': __import__('numpy').zeros((2, 2), 'f4')}"
MODULES = {
    "syntax": "def run(:",
    "raises": "raise ValueError('no\\n\\x1b[2Jmodule')",
    "interrupts": "raise KeyboardInterrupt",
    "exits": "import sys; sys.exit(0)",
    "exits_hard": "import os; os._exit(0)",
    "aborts": "import os; os.abort()",
    "shouts": "import os\nfor _ in range(9999): os.write(2, b'x' * 4096)",
    "no_run": "walk = 3",
    "a_number": "run = 3",
    "imports_itself": "from grucible.check.observed.serve import serve; serve(__file__ + ':run')",
    "speaks": "import os\nfor n in range(3, 64):\n    try: os.write(n, b'grucible 1\\nend\\nok\\nend\\n' * 9)\n"
    f"    except OSError: pass\ndef run(q): {ZERO}",
    "closes": f"import os; os.closerange(3, 999)\ndef run(q): {ZERO}",
    "no_arguments": "def run(): pass",
    "generates": "def run(q): yield q",
    "version_raises": f"class R:\n    version = property(lambda s: 1 / 0)\n    def __call__(self, q): {ZERO}\nrun = R()",
    "all_attributes": "class R:\n    def __getattr__(self, name): raise SystemExit(0)\nrun = R()",
    "no_modules": f"import sys\nsys.modules.clear()\ndef run(q): {ZERO}",
    "no_memory": f"import resource\nresource.setrlimit(resource.RLIMIT_AS, (1, 1))\ndef run(q): {ZERO}",
    "hangs_at_exit": f"import atexit, time\natexit.register(time.sleep, 600)\ndef run(q): {ZERO}",
    "forks": f"import os\nfor _ in range(4): os.fork()\ndef run(q): {ZERO}",
}  # fmt: skip
"""Modules that misbehave when they are imported or called; no answer of theirs is right."""
HONEST = ("prints", "big_endian", "returns_less", "flood_of_complaints")
"""Those whose answers are right, or of one output the one that is asked for."""


def hostile(folder: Path, _: float) -> Iterator[Row]:
    """Runtimes that crash, hang and lie: none of them conforms, and the judge ends in time."""
    cell, misbehaving = folder / "cell.h5", CHECK / "misbehaving.py"
    made.write_vectors(cell, made.make_block(made.NAMES))
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    found = runpy.run_path(str(misbehaving)).items()
    called = [n for n, v in found if getattr(v, "__qualname__", "").startswith("on_bad_cases.")]
    runtimes = {
        "modules": {name: f"{folder / name}.py:run" for name in MODULES},
        "misbehaving": {name: f"{misbehaving}:{name}" for name in [*called, "prints"]},
    }
    for kind, several in runtimes.items():
        row = Row(f"hostile: {kind}")
        for name, runtime in several.items():
            start = time.monotonic()
            command = [*GRUCIBLE, "check", str(cell), "--runtime", runtime, "--timeout", "2"]
            ended = run(command, 60, cwd=folder)
            wrong = [f"left running: {one}" for one in ended.left]
            if ended.status not in (0, 1, 2) or "\nTraceback" in f"\n{ended.err}":
                wrong.append(f"status {ended.status}: {ended.err[-200:]}")
            if re.match(r"conforms(?! where)", ended.out) and name not in HONEST:
                wrong.append("conforms")
            row.see(f"status {ended.status}", start, *(f"{name}: {one}" for one in wrong))
        yield row


CAMPAIGNS: dict[str, Callable[[Path, float], Iterator[Row]]] = {
    "mutants": mutants, "flips": flips, "bombs": bombs, "kills": kills, "hostile": hostile,
}  # fmt: skip


def main() -> None:
    """Run campaigns and print what they found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CAMPAIGNS))
    parser.add_argument("--share", type=float, default=1.0)
    given = parser.parse_args()
    print("| what | tried | ended | seconds | findings |\n| --- | ---: | --- | ---: | ---: |")
    found: list[str] = []
    for name in given.names or CAMPAIGNS:
        with tempfile.TemporaryDirectory() as folder:
            for row in CAMPAIGNS[name](Path(folder), given.share):
                how = ", ".join(f"{count:,} {how}" for how, count in sorted(row.ended.items()))
                cells = f"{row.what} | {row.ended.total():,} | {how} | {row.seconds:.2g}"
                print(f"| {cells} | {len(row.findings)} |", flush=True)
                found += [f"{row.what}: {one}" for one in row.findings]
    print("".join(f"\n- {one}" for one in found))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
