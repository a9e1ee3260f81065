"""A list of known findings brought up to date: what still holds stays as it stands, comments included."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...cases.errors import GrucibleError, SpecError
from ...cases.files import check_replaceable, write_whole
from ...cases.specs.yaml_source import Document, parse, read_text
from ..expecting.reading import expectations_of
from ..foretold import foretold, left_out
from ..judging.expectations import Expectation
from ..judging.sayable import HOW
from ..report import Report
from .groups import Group, groups, refused_not

_ANYTHING = b""
_COMMENT = re.compile(r"#.*")
_END = re.compile(r"^\.\.\.[ \t]*", re.MULTILINE)
_WIDTH = 100
_MOST_SOUGHT = 100
"""So many groups get globs, the largest; cases of others are named one by one."""
MOST_BYTES = 4 << 20
"""A list may be so long, for it must be read again."""


@dataclass(frozen=True)
class Listed:
    """A list that is there: its text, as it was `read`, None where there is no file, and its entries."""

    document: Document
    entries: Sequence[Expectation]
    read: str | None


@dataclass(frozen=True)
class Written:
    """What became of a list: its entries, and how many of them were `added`, and how many taken out."""

    entries: Sequence[Expectation]
    added: int
    removed: int

    @property
    def in_words(self) -> str:
        """What was changed."""
        kept = len(self.entries) - self.added
        changed = f"{self.added} new, {kept} kept, {self.removed} taken out"
        return f"{len(self.entries)} {'entry' if len(self.entries) == 1 else 'entries'}: {changed}"


def listed(path: Path) -> Listed:
    """The list at a path, an empty one where nothing is, or comments alone. Raises SpecError for what is no
    such list, and for one that is not written with an entry below the other."""
    read = _read(path)
    check_replaceable(path, _ANYTHING)
    text = read or ""
    if not text.strip():
        return Listed(Document(str(path), "", [], {}), (), read)
    if all(line.lstrip()[:1] in ("", "#") for line in text.splitlines()):
        return Listed(Document(str(path), text, [], {}), (), read)
    document = parse(str(path), text, list)
    entries = expectations_of(document)
    if entries and text[document.places[()].start] != "-":
        raise document.error(
            (), 'cannot be added to; write each entry on a line that begins with "- "'
        )
    return Listed(document, entries, read)


def _read(path: Path) -> str | None:
    return read_text(path, list) if path.exists() else None


def write_listed(
    path: Path, old: Listed, report: Report, vectors: Path | None, select: Sequence[str]
) -> Written:
    """Write the list of all that goes wrong in a report, which was made without expectations.

    Entries of the `old` list that still hold stay; stale ones, and those whose cases all fail in another way,
    go. Nothing is written where nothing changed. Raises GrucibleError where the list would be too long to be
    read, where it cannot be written, and where somebody else wrote it since it was read.
    """
    held = foretold(report, old.entries, vectors, select)
    kept = [one for one in old.entries if _holds(one, held)]
    left = foretold(report, kept, vectors, select)
    before, after = _new(left, left_out(report, vectors, select))
    text = _edited(old, kept, before, after, report)
    if len(text.encode("utf-8")) > MOST_BYTES:
        raise GrucibleError(
            f"{path}: a list of {len(report.unexpected)} failures that have little in common would be "
            f"larger than {MOST_BYTES >> 20} MiB"
        )
    entries = [*before, *kept, *after]
    _verify(path, text, entries)
    if _read(path) != old.read:
        raise GrucibleError(
            f"{path}: was changed while the check ran, and stays as it is; check again to write the list"
        )
    if text != old.read:
        write_whole(path, text, mark=_ANYTHING)
    added = len(before) + len(after)
    placed = expectations_of(parse(str(path), text, list))
    return Written(placed, added, len(old.entries) - len(kept))


def _holds(one: Expectation, held: Report) -> bool:
    """Whether an entry is good for something: an excuse, or of what was not judged."""
    [*found] = (use for use in held.uses if use.expectation is one)
    return not found or not (found[0].stale or (found[0].otherwise and not found[0].failed))


def _new(left: Report, elsewhere: Sequence[str]) -> tuple[list[Expectation], list[Expectation]]:
    """The entries that are lacking: those that must stand before others, which name their cases and say
    something else, and those that stand after them. None names cases that were left out, `elsewhere`."""
    shadowed = [r.id for r in left.unexpected if r.instead]
    excused = [r.id for r in left.expected_failures]
    passed = [r.id for r in left.results if r.decides and r.verdict == "passed"]
    right = [*passed, *elsewhere]
    found = groups(left.unexpected, left.diagnosis)
    free = [r.id for r in left.unexpected if not r.instead]
    first = _entries([_only(one, set(shadowed)) for one in found], [*right, *excused, *free])
    last = _entries([_only(one, set(free)) for one in found], right)
    return first, [*last, *refused_not(left.refusals, elsewhere)]


def _only(group: Group, ids: set[str]) -> Group:
    return replace(group, ids=[one for one in group.ids if one in ids])


def _entries(found: Sequence[Group], others: Sequence[str]) -> list[Expectation]:
    """The entries of groups; none of them names cases of `others`, or of a group behind its own."""
    by_size = sorted(range(len(found)), key=lambda place: -len(found[place].ids))
    sought = {place for place in by_size[:_MOST_SOUGHT] if len(found[place].ids) > 1}
    made: list[Expectation] = []
    for place, group in enumerate(found):
        if place in sought:
            behind = [one for later in found[place + 1 :] for one in later.ids]
            made += group.entries([*others, *behind])
        else:
            made += replace(group, one_by_one=True).entries(())
    return made


def _edited(
    old: Listed,
    kept: Sequence[Expectation],
    before: Sequence[Expectation],
    after: Sequence[Expectation],
    report: Report,
) -> str:
    """The text of the list, with the entries that stay as they stand in the old one."""
    if old.document.places and not before and not after and len(kept) == len(old.entries):
        return old.document.text
    text = _without_brackets(old) or _head(report)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    starts = [old.document.places[(index,)].line - 1 for index in range(len(old.entries))]
    first = _comment_above(lines, starts[0]) if starts else len(lines)
    head, pieces = lines[:first], []
    for place, one in enumerate(old.entries):
        stop = _comment_above(lines, starts[place + 1]) if place + 1 < len(starts) else len(lines)
        piece = lines[_comment_above(lines, starts[place]) : stop]
        if any(one is other for other in kept):
            pieces.append("".join(piece))
        else:
            pieces.append(
                "".join(
                    piece[_length(piece, starts[place] - _comment_above(lines, starts[place])) :]
                )
            )
    told = [_entry(one, newline) for one in before]
    made = _joined(["".join(head), *told, "".join(pieces)], newline)
    made = _joined([made, *(_entry(one, newline) for one in after)], newline)
    return made if kept or before or after else _joined([made, f"[]{newline}"], newline)


def _without_brackets(old: Listed) -> str:
    """The text of a list, to which entries can be added: without `[]`, which says that there are none, and
    without `...`, which ends it. Comments stay."""
    text = old.document.text
    if old.document.places and not old.entries:
        _, start, stop = old.document.places[()]
        inside = "\n".join(_COMMENT.findall(text[start:stop]))
        text = text[:start] + inside + text[stop:].lstrip(" \t")
    return _END.sub("", text)


def _comment_above(lines: Sequence[str], start: int) -> int:
    """The line where the comment that stands directly above an entry begins."""
    while start and lines[start - 1].startswith("#"):
        start -= 1
    return start


def _length(piece: Sequence[str], start: int) -> int:
    """How many lines of a piece an entry takes that begins at a line of it, with its comment above and the
    empty lines below."""
    stop = start + 1
    while stop < len(piece) and not piece[stop].startswith("#"):
        stop += 1
    return stop


def _joined(parts: Sequence[str], newline: str) -> str:
    """Texts, an empty line between one and the next."""
    kept = [part.rstrip("\r\n") for part in parts if part.strip()]
    return (newline * 2).join(kept) + newline if kept else ""


def _head(report: Report) -> str:
    version = f" {report.runtime_version}" if report.runtime_version else ""
    name = "".join(c if c.isprintable() else " " for c in f"{report.runtime}{version}")[:_WIDTH]
    return (
        f"# What {name} is known to do otherwise.\n"
        "# Written by `grucible check --write-expect`; writing it again changes only what changed.\n"
    )


def _entry(one: Expectation, newline: str) -> str:
    lines = [f"- cases: {_quoted(one.cases)}"]
    for field in HOW:
        texts = [_quoted(text) for text in getattr(one, field)]
        if texts:
            value = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
            lines.append(f"  {field}: {value}")
    lines += [f"  reason: {_quoted(one.reason)}", '  link: ""']
    return newline.join(lines) + newline


def _quoted(text: str) -> str:
    """A text as YAML has it: as it is where that says the same, otherwise in double quotes."""
    if _PLAIN.fullmatch(text):
        return text
    return '"' + "".join(_escaped(character) for character in text) + '"'


_PLAIN = re.compile(r"[a-z][a-z0-9]*(-[A-Za-z0-9]+)+|float(16|32|64)|tf32")


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code < 0xE000:
        return "\\uFFFD"  # half of a surrogate, which no file holds
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def _verify(path: Path, text: str, entries: Sequence[Expectation]) -> None:
    """Raise GrucibleError unless a text holds the entries."""
    try:
        made = expectations_of(parse(str(path), text, list))
    except SpecError as error:
        raise GrucibleError(
            f"{path}: cannot be written as a list that can be read: {error}"
        ) from None
    if made != list(entries):
        raise GrucibleError(
            f'{path}: cannot be changed in place; write each entry on a line that begins with "- "'
        )
