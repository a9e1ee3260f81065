"""Reading YAML strictly: plain data, no aliases, no duplicate keys, and the line of every value."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..errors import SpecError

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_BYTES = 4 << 20
_DEEPEST = 16

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """A YAML document: where it came from, its text, its value, and the line of each location."""

    name: str
    text: str
    value: Any
    lines: dict[Location, int]

    def place(self, location: Location) -> str:
        """`file:line` of the value at `location`, or of the nearest one that encloses it."""
        while location not in self.lines and location:
            location = location[:-1]
        return f"{self.name}:{self.lines.get(location, 1)}"

    def error(self, location: Location, sentence: str) -> SpecError:
        """The error that says `sentence` of the value at `location`."""
        field = ".".join(str(part) for part in location)
        return SpecError(f"{self.place(location)}: {field + ': ' if field else ''}{sentence}")


def read_text(path: Path) -> str:
    """The UTF-8 text of a YAML file; SpecError if it cannot be had."""
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except IsADirectoryError:
        raise SpecError(f"{path}: is a directory; expected a YAML file") from None
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror or error}; expected a YAML file") from None
    if len(raw) > _MOST_BYTES:
        raise SpecError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB; split it into themes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def parse(name: str, text: str, kind: type = dict) -> Document:
    """The document in `text`, which came from `name`; its value is a `kind`, dict or list.

    Raises SpecError, naming file and line, for text that is not YAML, for anchors and aliases, for
    a duplicate key, for nesting deeper than any case spec needs, and for a document of another kind.
    """
    try:
        _refuse_aliases_and_depth(name, text)
        node = yaml.compose(text, Loader=_LOADER)
        lines: dict[Location, int] = {}
        loader = _LOADER("")
        value = _construct(name, node, (), lines, loader) if node is not None else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise SpecError(f"{name}{line}: not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        sentence = " ".join(str(error).split())
        raise SpecError(f"{name}: not YAML: {sentence}") from None
    if not isinstance(value, kind):
        held = "nothing" if value is None else f"a {type(value).__name__}"
        expected = "a mapping of field: value" if kind is dict else "a list"
        raise SpecError(f"{name}:1: holds {held}; expected {expected}")
    return Document(name, text, value, lines)


def _refuse_aliases_and_depth(name: str, text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        line = _line(event)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise SpecError(f"{name}:{line}: anchors and aliases are not allowed; write it out")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise SpecError(f"{name}:{line}: is nested deeper than {_DEEPEST} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _line(node: yaml.Node | yaml.Event) -> int:
    return node.start_mark.line + 1 if node.start_mark else 1


def _construct(
    name: str, node: yaml.Node, location: Location, lines: dict[Location, int], loader: Any
) -> Any:
    lines[location] = _line(node)
    if isinstance(node, yaml.SequenceNode):
        return [
            _construct(name, child, (*location, index), lines, loader)
            for index, child in enumerate(node.value)
        ]
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            line = _line(key_node)
            if not isinstance(key, Hashable) or not isinstance(key, str):
                raise SpecError(f"{name}:{line}: key {key!r} is not a string")
            if key in mapping:
                raise SpecError(f"{name}:{line}: duplicate key {key!r}")
            mapping[key] = _construct(name, value_node, (*location, key), lines, loader)
        return mapping
    return loader.construct_object(node, deep=True)
