"""Adding to the covering arrays of a spec file the rows they lack; all else in the file stays."""

from __future__ import annotations

import copy
import errno
import os
from pathlib import Path

import yaml

from ..errors import SpecError
from ..specs.spec_file import CaseSpecFile
from ..specs.spec_model import Assignment, Covering
from ..specs.yaml_source import Document, parse
from ..whole_file import replace_file, writing_to
from .counts import check_counts
from .covering_arrays import missing_rows


def extend(spec: CaseSpecFile) -> int:
    """Add to each covering array in the file of `spec` the rows it lacks; returns how many.

    Not a character of what is there changes, but for the brackets of `rows: []`. Raises SpecError
    where no row can hold a pair, and where `rows` is not a list with a row per line; GrucibleError where
    the file cannot be written, and then it stays as it was.
    """
    check_counts(spec)
    text, wanted = spec.document.text, copy.deepcopy(spec.document.value)
    added = 0
    for index in reversed(range(len(spec.model.cases))):  # so that earlier places stay true
        entry = spec.model.cases[index]
        if isinstance(entry, Covering) and (rows := missing_rows(spec, index, entry)):
            text = _with_rows(text, spec.document, index, rows)
            wanted["cases"][index]["rows"] += [list(row.values()) for row in rows]
            added += len(rows)
            _verify(spec.document, index, text, wanted)
    if added:
        path = Path(spec.document.name)
        with writing_to(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            replace_file(path.resolve(), text.encode("utf-8"))
    return added


def _with_rows(text: str, document: Document, index: int, rows: list[Assignment]) -> str:
    """`text` with `rows` below those of entry `index`, in the same indentation."""
    location = ("cases", index, "rows")
    place = document.places[location]
    in_braces = text[document.places["cases", index].start] == "{"
    if in_braces or text[place.start : place.stop].strip("[ \t\r\n")[:1] == "#":
        raise _refused(document.place(location))
    newline = "\r\n" if "\r\n" in text else "\n"
    if (*location, 0) in document.places:
        first = document.places[*location, 0].start
        lead = text[text.rfind("\n", 0, first) + 1 : first]
        head, tail = text[: place.stop], text[place.stop :]
    else:
        named = text.rfind("rows", 0, place.start)
        lead = " " * (named - text.rfind("\n", 0, named) + 1) + "- "
        head, tail = text[: place.start].rstrip(), text[place.stop :]
    rest, _, below = tail.partition(newline)  # a comment after the last row stays beside it
    lines = [head + rest.rstrip(), *(lead + _flow(row) for row in rows), below]
    return newline.join(lines)


def _flow(row: Assignment) -> str:
    values = list(row.values())
    return str(yaml.safe_dump(values, default_flow_style=True, width=10_000)).strip()


def _verify(document: Document, index: int, text: str, wanted: object) -> None:
    """Raise SpecError unless `text`, with rows added to entry `index`, holds what is `wanted`."""
    try:
        made = parse(document.name, text).value
    except SpecError:
        made = None
    if made != wanted:
        raise _refused(document.place(("cases", index, "rows")))


def _refused(place: str) -> SpecError:
    return SpecError(
        f"{place}: rows cannot be added here; expected `rows: []` in a line of its own, or below `rows:` "
        "a line `- [value, ...]` for each row"
    )
