"""Odd paths and environments: each command does what it always does, or says one line, status 2."""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from robustness.hostile import CHECK, tests_of_check
from robustness.kills import MARK, gone, torn
from robustness.measured import GRUCIBLE, Ended, Row, ended

SECONDS = 20.0
"""Nothing here may take longer; it is stopped then."""
SPEC = """\
operator: openvino.GRUCell-3
about: eight cases
dtypes: [float32]
sizes: {batch_size: 2, input_size: 3, hidden_size: 4}
cases:
  - product:
      activations: [[sigmoid, tanh], [relu, relu]]
      clip: [absent, 0.5]
      B: [present, absent]
"""
EXPECT = "- {cases: '*', reason: for once}\n"

# A command, by the place of its odd path: the file that is moved there, and the path's suffix.
PLACES = {
    "gen SPEC": ("s/tiny.yaml", ".yaml", "gen --jobs 1 -o out -- {n}"),
    "gen -o": ("", "", "gen s/tiny.yaml --jobs 1 -o {n}"),
    "gen --digests": ("", ".txt", "gen s/tiny.yaml --jobs 1 -o out --digests {n}"),
    "check VECTORS": ("v/cell.h5", ".h5", "check --outputs o/cell.h5 -- {n}"),
    "check --outputs": ("o/cell.h5", ".h5", "check v/cell.h5 --outputs {n}"),
    "check --expect": ("e.yaml", ".yaml", "check v/cell.h5 --outputs o/cell.h5 --expect {n}"),
    "check --report": ("", ".json", "check v/cell.h5 --outputs o/cell.h5 --report json={n}"),
    "check --runtime": ("r.py", ".py", "check v/cell.h5 --runtime ./{n}:run"),
    "run VECTORS": ("v", "", "run --runtime ./r.py:run -o out -- {n}"),
    "run -o": ("", ".h5", "run v/cell.h5 --runtime ./r.py:run -o {n}"),
    "show VECTORS": ("v", "", "show -- {n} '*/a-good'"),
    "score VECTORS": ("v/cell.h5", ".h5", "score -- {n}"),
    "cases SPEC": ("s", "", "cases -- {n}"),
}
NAMES: dict[str, bytes] = {
    "a space": b"a b", "a newline": b"a\nb", "quotes": b"'a\"`b`", "globs": b"*[a]?{b,c}",
    "not UTF-8": b"a\xff\xfeb", "250 bytes": b"n" * 250, "a dash first": b"-n",
    "two dashes": b"--help",
    "a tilde": b"~root", "a variable": b"$HOME%s{x}", "a colon": b"a:b", "equal signs": b"=a=b",
    "an escape sequence": b"\x1b[2J\x07", "right to left": "\u202eabc\u200b".encode(),
    "a dot first": b".n", "dots": b"...", "a space last": b"n ", "a tab and return": b"\ta\r",
    "a backslash": b"a\\b", "an emoji": "\U0001f916\u0301".encode(), "a comma": b"a,b;c&d|e",
    "a long path": b"/".join([b"d" * 200] * 19 + [b"n"]), "a lone surrogate": b"\xed\xa0\x80",
    "a number": b"0", "a hash": b"#n", "the word NUL": b"NUL", "a dot": b"./././n",
}  # fmt: skip
SPECIALS = ("fifo", "socket", "dangling", "circle", "directory", "empty", "missing", "zeros",
            "null", "full", "endless", "below-a-file", "too-long", "memory", "itself")  # fmt: skip

# What the environment may be, around a command `c` that runs `$W grucible …`.
COMMANDS = {
    "gen": 'gen "$D"/s/tiny.yaml --jobs 2 -o "$D"/out',
    "check": 'check "$D"/v --runtime "$D"/r.py:run --report json="$D"/out/report.json',
    "run": 'run "$D"/v/cell.h5 --runtime "$D"/r.py:run -o "$D"/out/o.h5',
    "show": 'show "$D"/v "*/a-good"',
}
SETTINGS = """\
LANG=C LC_ALL=C|LC_ALL=POSIX PYTHONIOENCODING=latin-1|PYTHONIOENCODING=ascii:strict
LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0|PYTHONUTF8=0|LC_ALL=xx_YY.nonsense|HOME=
HOME=/dev/null|PATH=|PATH=/dev/null|TMPDIR=/nonexistent|TMPDIR=/dev/null|TERM=dumb
TERM=|COLUMNS=1|COLUMNS=0|COLUMNS=x|COLUMNS=-5|COLUMNS=99999999999999999999|LINES=0
PYTHONWARNINGS=error|PYTHONWARNINGS=nonsense|PYTHONOPTIMIZE=2|PYTHONHASHSEED=0
PYTHONHASHSEED=4294967295|PYTHONDEVMODE=1|PYTHONMALLOC=debug|OMP_NUM_THREADS=0
OMP_NUM_THREADS=nonsense|OPENBLAS_NUM_THREADS=-1|MKL_NUM_THREADS=x|MALLOC_PERTURB_=165
PYTHONSAFEPATH=1|PYTHONNOUSERSITE=1|PYTHONDONTWRITEBYTECODE=1|PYTHONUNBUFFERED=1
PYTHONFAULTHANDLER=1|HDF5_USE_FILE_LOCKING=TRUE|HDF5_USE_FILE_LOCKING=x
HDF5_PLUGIN_PATH=/dev/null|HDF5_DEBUG=all|GLIBC_TUNABLES=nonsense
FORCE_COLOR=1 NO_COLOR=1|TZ=nonsense|GRUCIBLE_TRACEBACK=1
PYTHONINTMAXSTRDIGITS=640|PYTHONPROFILEIMPORTTIME=|CI=1|DISPLAY=x
NPY_DISABLE_CPU_FEATURES=x"""
SHELLS = {
    "no environment": 'W="env -i"; c',
    "no HOME, no PATH, no TMPDIR": "unset HOME PATH TMPDIR; c",
    "standard input closed": "c <&-", "standard output closed": "c >&-",
    "standard error closed": "c 2>&-", "all closed": "c <&- >&- 2>&-",
    "output full": "c >/dev/full", "errors full": "c 2>/dev/full", "both full": "c >/dev/full 2>&1",
    "a reader that leaves": "set -o pipefail; c | :", "output only read": "c 1</dev/null",
    "the working directory removed": 'mkdir "$D/w"; cd "$D/w"; rmdir "$D/w"; c',
    "32 open files": "ulimit -n 32; c", "8 open files": "ulimit -n 8; c",
    "files of 64 KiB": "ulimit -f 64; c", "files of 0 KiB": "ulimit -f 0; c",
    "1.5 GiB of addresses": "ulimit -v 1572864; c",
    "400 MiB of addresses": "ulimit -v 409600; c", "a stack of 256 KiB": "ulimit -s 256; c",
    "an unlimited stack": "ulimit -s unlimited; c", "no signals pending": "ulimit -i 0; c",
    "umask 777": "umask 777; c", "children ignored": 'W="env --ignore-signal=CHLD"; c',
    "all signals ignored": 'W="env --ignore-signal"; c', "all blocked": 'W="env --block-signal"; c',
    "a session of its own": 'W="setsid -w"; c', "least priority": 'W="nice -n 19"; c',
    "a user without rights": 'W="{nobody}"; c',
    "a user who may write": 'chmod -R a+rwX .; W="{nobody}"; c',
    "a directory without permission": 'chmod 0 out v; chown 4321 out v; W="{nobody}"; c',
    "a disk of 16 KiB": "{mount} -o size=16k none out; c'",
    "no inodes": "{mount} -o nr_inodes=1 none out; c'",
    "TMPDIR full": "mkdir t; {mount} -o size=4k none t; yes >t/y; export TMPDIR=$D/t; c'",
    "a read-only disk": "{mount} none out; mount -o remount,ro out; c'",
    "no /proc": "{mount} none /proc; c'", "no /dev": "{mount} none /dev; c'",
    "no /sys": "{mount} none /sys; c'",
    "no /dev/shm": "{mount} -o ro none /dev/shm; c'",
}  # fmt: skip
NOBODY = "setpriv --reuid=54321 --regid=54321 --clear-groups"
MOUNT = "unshare -m bash -c 'mount -t tmpfs"
HIDDEN = ("standard error closed", "all closed", "errors full", "both full", "files of 0 KiB")
_numbers = itertools.count()


@dataclass(frozen=True)
class Try:
    """A shell's script in a directory of its own, as `prepared` makes it; `base` names the try with
    a plain path or environment, whose status is the right one."""

    what: str
    base: str
    script: str
    hidden: bool = False


def quoted(name: bytes) -> str:
    """A path as bash reads it."""
    if name.isascii() and name.decode().isprintable():
        return shlex.quote(name.decode())
    return "$'" + "".join(f"\\x{byte:02x}" for byte in name) + "'"


def named() -> Iterator[Try]:
    """Each odd name at some places, each place with a plain one."""
    turns = itertools.cycle(PLACES)
    wanted = [("plain", b"plain", place) for place in PLACES]
    wanted += [(what, name, next(turns)) for what, name in NAMES.items() for _ in range(2)]
    for what, name, place in wanted:
        there, suffix, command = PLACES[place]
        path = quoted(name + suffix.encode())
        move = f"mkdir -p -- $(dirname -- {path}); mv -- {there} {path}; "
        script = f"{move if there else ''}exec {shlex.join(GRUCIBLE)} {command.format(n=path)}"
        yield Try(f"{place}: {what}", f"{place}: plain", script)


def special() -> Iterator[Try]:
    """Each special file at some places."""
    turns = itertools.cycle(PLACES.items())
    for what in (what for what in SPECIALS for _ in range(6)):
        place, (_, suffix, command) = next(turns)
        words = command.format(n=f"special/{what}{suffix}")
        script = f"ulimit -v 4000000; exec {shlex.join(GRUCIBLE)} {words}"
        yield Try(f"{place}: {what}", f"{place}: plain", script)


def environments() -> Iterator[Try]:
    """Each environment around two of the commands, and each command as it is."""
    exports = {one: f"export {one}; c" for one in SETTINGS.replace("\n", "|").split("|")}
    turns = itertools.cycle(COMMANDS.items())
    shells = {what: text.format(nobody=NOBODY, mount=MOUNT) for what, text in SHELLS.items()}
    for what, text in {"plain": "c", **exports, **shells}.items():
        for _ in range(4 if what == "plain" else 2):
            name, command = next(turns)
            head = f"export D=$PWD; c() {{ $W {shlex.join(GRUCIBLE)} {command}; }}; export -f c; "
            yield Try(f"{name}: {what}", f"{name}: plain", head + text, what in HIDDEN)


def prepared(template: Path, place: Path) -> None:
    """A directory with vectors, outputs, a spec, a runtime, expectations and special files."""
    shutil.copytree(template, place)
    (place / "special").mkdir()
    (place / "out").mkdir()
    targets = {"zeros": "/dev/zero", "null": "/dev/null", "full": "/dev/full", "itself": "..",
               "endless": "/dev/urandom", "memory": "/proc/self/mem", "dangling": "no"}  # fmt: skip
    for suffix in {suffix for _, suffix, _ in PLACES.values()}:
        above = f"{place}/special/"
        os.mkfifo(f"{above}fifo{suffix}")
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(f"{above}socket{suffix}")
        for what, target in {**targets, "circle": f"circle{suffix}"}.items():
            Path(f"{above}{what}{suffix}").symlink_to(target)
        Path(f"{above}directory{suffix}").mkdir()
        Path(f"{above}empty{suffix}").touch()
        Path(f"{above}below-a-file{suffix}").symlink_to("../e.yaml/below")
        Path(f"{above}too-long{suffix}").symlink_to("d/" * 2000)


def tried(one: Try, template: Path, folder: Path) -> tuple[Try, Ended, list[str]]:
    """Run a try; what is torn, or left running, is told."""
    number = next(_numbers)
    place, value = folder / str(number), f"{os.getpid()}-surroundings-{number}"
    prepared(template, place)
    environment = {**os.environ, MARK: value, "LC_ALL": "C.UTF-8"}
    how = ended(["bash", "-c", one.script], limit=SECONDS, cwd=place, env=environment)
    (place / "out").chmod(0o755)
    wrong = torn(place / "out") if one.what.startswith("gen") else []
    _, left = gone(value)
    wrong += [f"left running: {what}" for what in left]
    shutil.rmtree(os.fsencode(place), ignore_errors=True)
    return one, how, wrong


def as_it_should(one: Try, how: Ended, usual: Mapping[str, int]) -> str:
    """How a try ended, where that is as it should be; "" otherwise."""
    if "Traceback" in how.err or how.seconds >= SECONDS:
        return ""
    if how.status == usual[one.base]:
        return "as usual"
    if how.one_line:
        return "one line, status 2"
    return "status 2, which nobody could be told" if one.hidden and how.status == 2 else ""


def rows(folder: Path) -> Iterator[Row]:
    """Names, special files and environments; two are tried at a time."""
    folder.chmod(0o755)  # for another user
    made, template = tests_of_check(), folder / "template"
    for name in ("v", "o", "s"):
        (template / name).mkdir(parents=True)
    made.write_vectors(template / "v" / "cell.h5", made.make_block(made.NAMES))
    made.write_outputs(template / "o" / "cell.h5", template / "v" / "cell.h5")
    shutil.copy(CHECK / "numpy_gru.py", template / "r.py")
    (template / "s" / "tiny.yaml").write_text(SPEC, encoding="utf-8")
    (template / "e.yaml").write_text(EXPECT, encoding="utf-8")
    usual: dict[str, int] = {}
    with ThreadPoolExecutor(2) as pool:
        for what, tries in (("environments", environments), ("names", named),
                            ("special files", special)):  # fmt: skip
            row = Row(f"surroundings: {what}")
            for one, how, wrong in pool.map(lambda one: tried(one, template, folder), tries()):
                if one.what == one.base:
                    usual[one.base] = how.status
                told = as_it_should(one, how, usual)
                row.see(told or f"status {how.status}", how.seconds, how.megabytes)
                if wrong or not told:
                    ends = f"status {how.status}, {how.seconds:.1f} s, stderr {how.err[-300:]!r}"
                    script = one.script.replace(shlex.join(GRUCIBLE), "grucible")[:300]
                    row.findings.append(f"{one.what} [{script}]: {'; '.join([*wrong, ends])}")
            yield row
