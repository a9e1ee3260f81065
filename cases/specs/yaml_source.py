"""Reading YAML strictly: plain data of YAML 1.2's core schema, and the line of every value.

Numbers, texts and booleans are those of JSON and of editors' YAML: `yes` and `1:30` are texts, `017` is
17, `1e-5` a number. No aliases, no tags, no duplicate keys. Events are read one by one, for a composer may
crash on a text that is nested deep.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..errors import SpecError
from ..files import read_limited

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_BYTES = 4 << 20
"""Maximum bytes of a file; the largest list of known findings has a quarter."""
_DEEPEST = 16
"""Maximum levels of nesting."""
_MOST_VALUES = 250_000
"""Maximum values and keys; a list of expected findings that names 60,000 cases has as many."""
_SMALLER: dict[type, str] = {dict: "split the file into themes", list: "let globs name the cases"}
"""The remedy for a case spec, or a list of expected findings, that is too large."""

Location = tuple[str | int, ...]
"""The keys and indices that lead to a value."""


@dataclass(frozen=True)
class Document:
    """A YAML document: where it came from, its text, its value, and the line of each location."""

    name: str
    text: str
    value: Any
    lines: dict[Location, int]

    def place(self, location: Location) -> str:
        """Name `file:line` of the value at `location`, or of the nearest one that encloses it."""
        while location not in self.lines and location:
            location = location[:-1]
        return f"{self.name}:{self.lines.get(location, 1)}"

    def error(self, location: Location, sentence: str) -> SpecError:
        """Make the error that says `sentence` of the value at `location`."""
        name = ".".join(str(part) for part in location)
        return SpecError(f"{self.place(location)}: {name + ': ' if name else ''}{sentence}")


def read_text(path: Path, kind: type = dict) -> str:
    """Read the UTF-8 text of a YAML file, whose value will be a `kind`. Raises SpecError."""
    if path.is_dir():
        raise SpecError(f"{path}: is a directory; expected a YAML file")
    raw = read_limited(path, _MOST_BYTES, SpecError, f"expected a YAML file; {_SMALLER[kind]}")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def parse(name: str, text: str, kind: type = dict) -> Document:
    """Parse the document in `text`, which came from `name`; its value is a `kind`, dict or list.

    Raises SpecError, naming file and line, for text that is not YAML, for anchors, aliases and tags,
    for a duplicate key, for nesting deeper than any case spec needs, and for a document of another kind.
    """
    reader = _Reader(name, yaml.parse(text.removeprefix("\ufeff"), Loader=_LOADER), _SMALLER[kind])
    try:
        value = reader.document()
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        line = f":{at.line + 1}" if at else ""
        raise SpecError(f"{name}{line}: not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        place = f"{name}:{max(reader.lines.values(), default=1)}"
        raise SpecError(f"{place}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(value, kind):
        found = "nothing" if value is None else f"a {type(value).__name__}"
        expected = "a mapping of field: value" if kind is dict else "a list"
        raise SpecError(f"{name}:1: holds {found}; expected {expected}")
    return Document(name, text, value, reader.lines)


@dataclass
class _Reader:
    """Makes values of the parser's events, and notes their lines; `smaller` is the remedy for too many."""

    name: str
    events: Iterator[Any]
    smaller: str
    lines: dict[Location, int] = field(default_factory=dict)

    def document(self) -> Any:
        """Read the value of the only document; None where there is none."""
        _, first, *_ = next(self.events), next(self.events)
        if isinstance(first, yaml.StreamEndEvent):
            return None
        value = self.value(next(self.events), ())
        _, after = next(self.events), next(self.events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self.error(after, "a second document starts here; expected one")
        return value

    def value(self, event: Any, location: Location) -> Any:
        """Read the value that starts with `event`."""
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            raise self.error(event, "anchors and aliases are not allowed; write it out")
        if event.tag:
            raise self.error(event, f"tags are not allowed; leave {event.tag} out")
        if len(self.lines) == _MOST_VALUES:
            raise self.error(event, f"more than {_MOST_VALUES:,} values; {self.smaller}")
        self.lines[location] = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            return _plain(event.value) if event.implicit[0] else event.value
        if len(location) == _DEEPEST:
            raise self.error(event, f"is nested deeper than {_DEEPEST} levels")
        if isinstance(event, yaml.MappingStartEvent):
            return self.mapping(location)
        found: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            found.append(self.value(event, (*location, len(found))))
        return found

    def mapping(self, location: Location) -> dict[str, Any]:
        """Read the rest of a mapping."""
        found: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.value(event, (*location, -1))
            if not isinstance(key, str):
                raise self.error(event, f"key {key!r} is not a string")
            if key in found:
                raise self.error(event, f"duplicate key {key!r}")
            found[key] = self.value(next(self.events), (*location, key))
        return found

    def error(self, event: Any, sentence: str) -> SpecError:
        """Make the error that says `sentence` of the line of `event`."""
        return SpecError(f"{self.name}:{event.start_mark.line + 1}: {sentence}")


_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}


def _plain(text: str) -> Any:
    """Resolve a text without quotes as YAML 1.2's core schema does (10.3.2).

    Raises ValueError for a number that no float64 holds.
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if not _FLOAT.fullmatch(text):
        return text
    if math.isinf(value := float(text)):
        raise ValueError(f"{text[:80]} is beyond float64; infinity is written .inf")
    return value
