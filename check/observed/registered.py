"""The runtimes known by name, each asked what it is in another process: loading one may end it."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...cases.commands.others_words import one_line
from ...cases.errors import RuntimeNotUsable
from ..protocol.channel import Closed, LateError
from ..protocol.header import ProtocolError, parsed
from ..runtimes.runtime import package_of, registered_runtime, registered_runtimes
from .child import Child
from .ending import how_it_ended
from .isolated import START_SECONDS
from .serve import DESCRIBE

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LOAD_SECONDS = 60.0
"""How long one may take to load; a check waits longer."""


class Registered(NamedTuple):
    """A runtime that is known by name: its version and what is said about it, or why it is `not_here`."""

    name: str
    version: str
    about: str
    not_here: str = ""


def described_runtimes() -> Iterator[Registered]:
    """What each of them is, in order. Those of a package are loaded one after the other in a process of their
    own, to which they may do whatever they like; after one that ends the process, or does not load in
    LOAD_SECONDS, the next ones are loaded in another."""
    told: dict[str, Registered] = {}
    packages: dict[str, list[EntryPoint]] = defaultdict(list)
    for name in dict.fromkeys(point.name for point in registered_runtimes()):
        try:
            point = registered_runtime(name)
            packages[package_of(point)].append(point)
        except RuntimeNotUsable as error:
            told[name] = Registered(name, "", str(error), "not usable")
    for left in packages.values():
        while left:
            for found in _described(tuple(left)):
                told[found.name] = found
                left.pop(0)
    yield from (told[name] for name in sorted(told))


def _described(points: Sequence[EntryPoint]) -> Iterator[Registered]:
    """Those of them that one process loads: all, or up to one that ends it or does not load in time."""
    wanted = json.dumps([(point.name, point.value) for point in points])
    command = [sys.executable, "-P", "-c", DESCRIBE, json.dumps(sys.path), wanted]
    with contextlib.closing(Child(command, "")) as child:
        for place, point in enumerate(points):
            child.name = point.name
            try:
                if not place:
                    child.channel.lines(time.monotonic() + START_SECONDS)  # its hello
                lines = child.channel.lines(time.monotonic() + LOAD_SECONDS)
            except Closed:
                said = f"while loading it {how_it_ended(child)}"
            except LateError:
                said = (
                    f"did not load in {LOAD_SECONDS:g} s; see whether its package can be imported"
                )
            except ProtocolError as error:
                said = f"while loading, {error}"
            else:
                yield _told(point.name, dict(parsed(lines)))
                continue
            yield Registered(point.name, "", f"runtime {point.name}: {said}", "not usable")
            return


def _told(name: str, said: dict[str, str]) -> Registered:
    about = one_line(said.get("about", ""))
    return Registered(
        name,
        one_line(said.get("version", "")),
        about,
        f"not {said['not']}" if "not" in said else "",
    )
