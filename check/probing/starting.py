"""What is made of a program that does not start."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Sequence
from pathlib import Path

from ..runtimes.runtime import is_file
from .step import Cause

_SOURCES = {
    ".c": "cc -O2 -o {stem} {name} -lm",
    ".cpp": "c++ -std=c++17 -O2 -o {stem} {name}",
    ".rs": "rustc -O -o {stem} {name}",
    ".swift": "swiftc -O -o {stem} {name}",
}
"""How a program is built, by the ending of its source."""
_INTERPRETERS = {".py": "python3", ".mjs": "node", ".js": "node", ".sh": "sh", ".rb": "ruby"}


def not_started(command: Sequence[str], error: OSError) -> Cause:
    """Why the first word of a command did not start, and what to do."""
    program, path = command[0], Path(command[0])
    what = f"{program} cannot be started: {error.strerror or error}"
    if path.suffix in _SOURCES and is_file(program):
        stem, name = shlex.quote(path.stem), shlex.quote(str(path))
        build = _SOURCES[path.suffix].format(stem=stem, name=name)
        return Cause(f"{what}; it is a source", f"build it: {build}; then: exec: ./{stem}")
    if path.suffix in _INTERPRETERS and is_file(program):
        words = shlex.join([_INTERPRETERS[path.suffix], *command])
        return Cause(what, f"name what runs it: exec: {words}")
    if error.errno == errno.ENOENT:
        return Cause(what, _not_found(program))
    if error.errno == errno.ENAMETOOLONG:
        return Cause(what, "no file has such a name: is a space missing in it?")
    if path.is_dir():
        return Cause(f"{what}: it is a directory", "name the program in it")
    if error.errno == errno.EACCES:
        return Cause(what, f"let it be run: chmod +x {shlex.quote(program)}")
    if error.errno == errno.ENOEXEC:
        return Cause(
            what,
            "it is built for another machine, or a script without a first line such as "
            "#!/usr/bin/env python3: build it here, or name its interpreter: exec: python3 my_gru.py",
        )
    return Cause(what, "see whether it starts in your shell")


def _not_found(program: str) -> str:
    here = shlex.quote(f"./{program}")
    if is_file(program) and "/" not in program:
        return f"it is not on the PATH, but in this directory: exec: {here}"
    if is_file(program):
        return (
            "the file is there, so its interpreter or loader is not: see its first line, or what `file` "
            "and `ldd` say of it"
        )
    if "/" in program:
        return f"was it built, and is the path right? It is looked for from {Path.cwd()}"
    return f"no program of this name is on the PATH; one in this directory is named {here}"
