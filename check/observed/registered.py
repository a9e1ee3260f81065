"""The runtimes known by name, each asked what it is in a process of its own: loading it may end that."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ...cases.commands.others_words import one_line
from ...cases.commands.usable_cpus import usable_cpus
from ..protocol.channel import Closed, LateError
from ..protocol.header import ProtocolError, parsed
from ..runtimes.runtime import registered_runtimes
from .child import Child
from .isolated import START_SECONDS, how_it_ended
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
    """What each of them is, in order. Each is loaded in a process of its own, for it may do to that whatever
    it likes; as many are under way as there are usable CPUs."""
    left, under_way = deque(registered_runtimes()), deque[Child]()
    with contextlib.ExitStack() as closing:
        while left or under_way:
            while left and len(under_way) < usable_cpus():
                child = _loading(left.popleft())
                under_way.append(closing.enter_context(contextlib.closing(child)))
            child = under_way.popleft()
            yield _said_by(child)
            child.close()


def _loading(point: EntryPoint) -> Child:
    """A process that loads the runtime at an entry point, and says what it is."""
    wanted = json.dumps([point.name, point.value])
    return Child([sys.executable, "-P", "-c", DESCRIBE, json.dumps(sys.path), wanted], point.name)


def _said_by(child: Child) -> Registered:
    try:
        child.channel.lines(time.monotonic() + START_SECONDS)  # its hello
        lines = child.channel.lines(time.monotonic() + LOAD_SECONDS)
        return _told(child.name, dict(parsed(lines)))
    except Closed:
        said = f"while loading it {how_it_ended(child)}"
    except LateError:
        said = f"did not load in {LOAD_SECONDS:g} s; see whether its package can be imported"
    except ProtocolError as error:
        said = f"while loading, {error}"
    return Registered(child.name, "", f"runtime {child.name}: {said}", "not usable")


def _told(name: str, said: dict[str, str]) -> Registered:
    about = one_line(said.get("about", ""))
    return Registered(
        name,
        one_line(said.get("version", "")),
        about,
        f"not {said['not']}" if "not" in said else "",
    )
