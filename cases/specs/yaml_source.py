"""Reading YAML strictly: plain data of YAML 1.2's core schema, and the line of every value.

Numbers, texts and booleans are those of JSON and of editors' YAML: `yes` and `1:30` are texts, `017` is
17, `1e-5` a number. Aliases, tags and duplicate keys are refused. The parser's events are checked before
values are composed from them, because a composer may crash on deep nesting.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..errors import SpecError
from ..files import read_limited

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_BYTES = 4 << 20
"""Maximum bytes of a file; the largest list of known findings has a quarter of them."""
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
        """Name `file:line` of the value at `location`, or of the nearest value around it."""
        while location not in self.lines and location:
            location = location[:-1]
        return f"{self.name}:{self.lines.get(location, 1)}"

    def error(self, location: Location, sentence: str) -> SpecError:
        """Make the error that says `sentence` about the value at `location`."""
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
        why = f"is not UTF-8 text (byte {error.start})"
        why = "is an HDF5 file; expected YAML" if raw[1:4] == b"HDF" else why
        raise SpecError(f"{path}: {why}") from None


def parse(name: str, text: str, kind: type = dict) -> Document:
    """Parse the document in `text`, which came from `name`; its value is a `kind`, dict or list.

    Raises SpecError, naming file and line, for text that is not YAML, for anchors, aliases and tags,
    for a duplicate key, for nesting deeper than any case spec needs, and for a document of another kind.
    """
    lines: dict[Location, int] = {}

    def read(node: Any, location: Location) -> Any:
        lines[location] = node.start_mark.line + 1
        if isinstance(node, yaml.ScalarNode):
            return node.value if node.style else _plain(node.value)
        if isinstance(node, yaml.SequenceNode):
            return [read(entry, (*location, place)) for place, entry in enumerate(node.value)]
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = read(key_node, (*location, -1))
            if not isinstance(key, str) or key in found:
                wrong = (
                    f"duplicate key {key!r}"
                    if isinstance(key, str)
                    else f"key {key!r} is not a string"
                )
                raise SpecError(f"{name}:{lines[*location, -1]}: {wrong}")
            found[key] = read(value_node, (*location, key))
        return found

    plain = text.removeprefix("\ufeff")
    try:
        _check_events(name, yaml.parse(plain, Loader=_LOADER), _SMALLER[kind])
        root = yaml.compose(plain, Loader=_LOADER)
        value = None if root is None else read(root, ())
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark or error.context_mark
        line = f":{at.line + 1}" if at else ""
        raise SpecError(f"{name}{line}: not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        place = f"{name}:{max(lines.values(), default=1)}"
        raise SpecError(f"{place}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(value, kind):
        found = "nothing" if value is None else f"a {type(value).__name__}"
        expected = "a mapping of field: value" if kind is dict else "a list"
        raise SpecError(f"{name}:1: holds {found}; expected {expected}")
    return Document(name, text, value, lines)


def _check_events(name: str, events: Iterable[Any], smaller: str) -> None:
    """Raise SpecError for anchors, tags, a second document, and too many or too deep values."""
    depth = documents = values = 0
    for event in events:
        depth -= isinstance(event, yaml.CollectionEndEvent)
        values += isinstance(event, yaml.NodeEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        tag = getattr(event, "tag", None)
        wrong = {
            "anchors and aliases are not allowed; write it out": getattr(event, "anchor", None),
            f"tags are not allowed; leave {tag} out": isinstance(event, yaml.NodeEvent) and tag,
            f"more than {_MOST_VALUES:,} values; {smaller}": values > _MOST_VALUES,
            f"is nested deeper than {_DEEPEST} levels": depth == _DEEPEST
            and isinstance(event, yaml.CollectionStartEvent),
            "a second document starts here; expected one": documents > 1,
        }
        if sentence := next((sentence for sentence, found in wrong.items() if found), ""):
            raise SpecError(f"{name}:{event.start_mark.line + 1}: {sentence}")
        depth += isinstance(event, yaml.CollectionStartEvent)


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

    Raises ValueError for a number beyond float64.
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
