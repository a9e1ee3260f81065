"""The runtimes known by name, each asked what it is in another process: loading one may end it."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...cases.console import join_lines
from ..protocol.channel import Closed, LateError
from ..protocol.header import ProtocolError, parsed
from ..runtimes.runtime import registered_runtimes
from .child import Child
from .isolated import START_SECONDS
from .serve import DESCRIBE

LOAD_SECONDS = 60.0
"""Maximum time that one may take to load; a check waits longer."""


class Registered(NamedTuple):
    """A runtime that is known by name: its version and a line about it, or why it is `not_here`."""

    name: str
    version: str
    about: str
    not_here: str = ""


def described_runtimes() -> Iterator[Registered]:
    """Say what each of them is, in order.

    They are loaded one after the other in one process. After one that ends the process, or does not load in
    LOAD_SECONDS, the next ones are loaded in another.
    """
    left = [(point.name, point.value) for point in registered_runtimes()]
    while left:
        for found in _describe(tuple(left)):
            yield found
            left.pop(0)


def _describe(points: Sequence[tuple[str, str]]) -> Iterator[Registered]:
    """Describe those of them that one process loads: all, or up to one that ends it or is late."""
    command = [sys.executable, "-P", "-c", DESCRIBE, json.dumps(sys.path), json.dumps(points)]
    with contextlib.closing(Child(command, "")) as child:
        for place, (name, _) in enumerate(points):
            child.name = name
            try:
                if not place:
                    child.channel.lines(time.monotonic() + START_SECONDS)  # its hello
                lines = dict(parsed(child.channel.lines(time.monotonic() + LOAD_SECONDS)))
            except Closed:
                why = f"while loading it {child.how_it_ended()}"
            except LateError:
                why = f"did not load in {LOAD_SECONDS:g} s; see whether its package can be imported"
            except ProtocolError as error:
                why = f"while loading, {error}"
            else:
                version, about = (join_lines(lines.get(key, "")) for key in ("version", "about"))
                yield Registered(
                    name, version, about, f"not {lines['not']}" if "not" in lines else ""
                )
                continue
            yield Registered(name, "", f"runtime {name}: {why}", "not usable")
            return
