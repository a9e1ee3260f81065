"""Reading YAML strictly: plain data of YAML 1.2's core schema, and the place of every value.

Numbers, texts and booleans are those of JSON and of editors' YAML: `yes` and `1:30` are texts, `017` is
17, `1e-5` a number. No aliases, no tags, no duplicate keys.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from ..errors import SpecError

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_BYTES = 4 << 20
_MOST_DIGITS = 800
"""float64 numbers that are written out in decimals have no more digits."""
_DEEPEST = 16
_MOST_VALUES = 250_000
"""A list of expected findings that names 60,000 cases one by one has as many values and keys."""

Location = tuple[str | int, ...]
"""The keys and indices that lead to a value."""

_MOST_KEYS = 1000
"""A mapping has no more; an operator has some twenty factors."""

_SMALLER: dict[type, str] = {dict: "split the file into themes", list: "let globs name the cases"}
"""What makes a case spec, or a list of expected findings, fit."""

_KEY = -1
"""In the place of a key or index: the key itself, whose place nobody asks for."""


class Place(NamedTuple):
    """Where a value stands: its line, and its first character and that after its last."""

    line: int
    start: int
    stop: int


@dataclass(frozen=True)
class Document:
    """A YAML document: where it came from, its text, its value, and the place of each location."""

    name: str
    text: str
    value: Any
    places: dict[Location, Place]

    def place(self, location: Location) -> str:
        """`file:line` of the value at `location`, or of the nearest one that encloses it."""
        while location not in self.places and location:
            location = location[:-1]
        return f"{self.name}:{self.places[location].line if location in self.places else 1}"

    def error(self, location: Location, sentence: str) -> SpecError:
        """The error that says `sentence` of the value at `location`."""
        field = ".".join(str(part) for part in location)
        return SpecError(f"{self.place(location)}: {field + ': ' if field else ''}{sentence}")


def read_text(path: Path, kind: type = dict) -> str:
    """The UTF-8 text of a YAML file, whose value will be a `kind`; SpecError if it cannot be had."""
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise SpecError(f"{path}: is no regular file; expected a YAML file")
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except IsADirectoryError:
        raise SpecError(f"{path}: is a directory; expected a YAML file") from None
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror or error}; expected a YAML file") from None
    except ValueError:
        raise SpecError(
            f"{str(path)!r}: no file can have such a name; expected a YAML file"
        ) from None
    if len(raw) > _MOST_BYTES:
        raise SpecError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB; {_SMALLER[kind]}")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def parse(name: str, text: str, kind: type = dict) -> Document:
    """The document in `text`, which came from `name`; its value is a `kind`, dict or list.

    Raises SpecError, naming file and line, for text that is not YAML, for anchors, aliases and tags,
    for a duplicate key, for nesting deeper than any case spec needs, and for a document of another kind.
    """
    mark = int(text.startswith("\ufeff"))  # a byte order mark; not all loaders count it
    reader = _Reader(name, yaml.parse(text[mark:], Loader=_LOADER), _SMALLER[kind])
    try:
        value = reader.document()
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        line = f":{at.line + 1}" if at else ""
        raise SpecError(f"{name}{line}: not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        sentence = " ".join(str(error).split())
        raise SpecError(f"{name}: not YAML: {sentence}") from None
    if not isinstance(value, kind):
        held = "nothing" if value is None else f"a {type(value).__name__}"
        expected = "a mapping of field: value" if kind is dict else "a list"
        raise SpecError(f"{name}:1: holds {held}; expected {expected}")
    places = reader.places
    if mark:
        places = {at: Place(p.line, p.start + mark, p.stop + mark) for at, p in places.items()}
    return Document(name, text, value, places)


@dataclass
class _Reader:
    """Makes values of the events of YAML's parser, and notes where each stands; `smaller` is what to do where
    there are too many."""

    name: str
    events: Iterator[Any]
    smaller: str
    places: dict[Location, Place] = field(default_factory=dict)

    def document(self) -> Any:
        """The value of the only document; None where there is none."""
        next(self.events)
        if isinstance(next(self.events), yaml.StreamEndEvent):
            return None
        value = self.value(next(self.events), ())
        next(self.events)
        after = next(self.events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self.error(after, "a second document starts here; expected one")
        return value

    def value(self, event: Any, location: Location) -> Any:
        """The value that starts with `event`."""
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            raise self.error(event, "anchors and aliases are not allowed; write it out")
        if event.tag:
            raise self.error(event, f"tags are not allowed; leave {event.tag} out")
        if isinstance(event, yaml.ScalarEvent):
            self.note(location, event, _stop(event))
            return self.plain(event) if event.implicit[0] else event.value
        if len(location) == _DEEPEST:
            raise self.error(event, f"is nested deeper than {_DEEPEST} levels")
        if isinstance(event, yaml.SequenceStartEvent):
            return self.sequence(event, location)
        return self.mapping(event, location)

    def plain(self, event: Any) -> Any:
        """What a text without quotes is; SpecError for a number that no float64 holds."""
        text: str = event.value
        if len(text) > _MOST_DIGITS and (_INTEGER.fullmatch(text) or _FLOAT.fullmatch(text)):
            raise self.error(event, f"a number of {len(text)} characters; expected {_MOST_DIGITS}")
        value = _plain(text)
        if isinstance(value, float) and math.isinf(value) and text not in _WORDS:
            raise self.error(event, f"{text} is beyond float64; infinity is written .inf")
        return value

    def sequence(self, start: Any, location: Location) -> list[Any]:
        """The list that starts with `start`."""
        found: list[Any] = []
        stop = _stop(start)
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            found.append(self.value(event, (*location, len(found))))
            stop = self.places[*location, len(found) - 1].stop
        self.note(location, start, _stop(event) if start.flow_style else stop)
        return found

    def mapping(self, start: Any, location: Location) -> dict[str, Any]:
        """The mapping that starts with `start`."""
        found: dict[str, Any] = {}
        stop = _stop(start)
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self.value(event, (*location, _KEY))
            if not isinstance(key, str):
                raise self.error(event, f"key {key!r} is not a string")
            if key in found:
                raise self.error(event, f"duplicate key {key!r}")
            if len(found) == _MOST_KEYS:
                raise self.error(event, f"more than {_MOST_KEYS:,} keys in a mapping")
            found[key] = self.value(next(self.events), (*location, key))
            stop = self.places[*location, key].stop
        self.note(location, start, _stop(event) if start.flow_style else stop)
        return found

    def note(self, location: Location, start: Any, stop: int) -> None:
        """Keep the place of the value that starts with the event `start`; SpecError if it is one too many."""
        if len(self.places) == _MOST_VALUES:
            raise self.error(start, f"more than {_MOST_VALUES:,} values; {self.smaller}")
        self.places[location] = Place(start.start_mark.line + 1, start.start_mark.index, stop)

    def error(self, event: Any, sentence: str) -> SpecError:
        """The error that says `sentence` of the line of `event`."""
        return SpecError(f"{self.name}:{event.start_mark.line + 1}: {sentence}")


def _stop(event: Any) -> int:
    return int(event.end_mark.index)


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
    """What a text without quotes is in YAML 1.2's core schema (10.3.2)."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
