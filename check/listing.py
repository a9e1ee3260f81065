"""Write the list of known findings: keep the entries that still hold, and add new ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import yaml

from ..cases.console import escape
from ..cases.errors import GrucibleError
from ..cases.files import check_replaceable, write_whole
from ..cases.operators.readings import without_readings
from ..cases.selection import literal, matches
from ..cases.specs.yaml_source import read_text
from ..gen.tolerances.classes import CLASSES
from .diagnosis.finding import Diagnosis
from .expecting import apply_expectations, find_left_out, parse_expectations
from .judging.case_result import VARYING, CaseResult
from .judging.expectations import HOW, UNEXPLAINED, Expectation, find_globs, is_misreading
from .refusals import Refusal
from .report import Report

_MAX_GROUPS, _MAX_GLOBS, _MAX_ALL = 100, 40, 800
"""Maximum groups named by globs, globs of a group, and of all; looking for more takes too long."""
_MIN_MESSAGE, _MAX_MESSAGE, _MAX_REASON = 4, 100, 300
_ANY_LIST = b""
"""A mark that any file has: what the list holds was checked when it was read."""
_ENTRY = re.compile(r"^(?=-\s)", re.MULTILINE)
_COMMENT = re.compile(r"^(?=#|\.\.\.)", re.MULTILINE)
_EMPTY = re.compile(r"^\[\s*\][ \t]*", re.MULTILINE)


@dataclass(frozen=True)
class FindingList:
    """A list as it was read: its text ("" if there is no file) and its entries."""

    path: Path
    text: str
    entries: Sequence[Expectation]


def read_list(path: Path) -> FindingList:
    """Read the list at a path; without entries, there may be no file. Raises SpecError for other files."""
    text = read_text(path, list) if path.exists() else ""
    check_replaceable(path, _ANY_LIST)
    if _is_blank(text):
        return FindingList(path, text, ())
    entries = parse_expectations(str(path), text)
    if len(_ENTRY.split(text)) - 1 != len(_by_entry(entries)):
        raise GrucibleError(f'{path}: write each entry on a line that begins with "- "')
    return FindingList(path, text, entries)


def _by_entry(expectations: Sequence[Expectation]) -> list[list[Expectation]]:
    """Group the expectations of each entry, which differ in their globs alone."""
    alike = groupby(expectations, lambda one: (one.place, replace(one, cases="*")))
    return [list(some) for _, some in alike]


def _is_blank(text: str) -> bool:
    """Say whether a text holds nothing but blank lines and comments."""
    return all(line.lstrip()[:1] in ("", "#") for line in text.splitlines())


def write_list(
    old: FindingList, report: Report, vectors: Path | None, select: Sequence[str]
) -> tuple[list[Expectation], str]:
    """Write the list of all that is wrong in a report, which was made without expectations.

    Entries of the `old` list that still hold stay unchanged, with their comments; new entries come before
    them. Entries that are stale, or whose failing cases all fail in another way, are taken out. Returns the
    entries, and in words what changed. Raises GrucibleError where the list cannot be written, or was changed
    since it was read.
    """
    path = old.path
    uses = apply_expectations(report, old.entries, vectors, select).uses
    gone = [use.expectation for use in uses if use.stale or (use.otherwise and not use.failed)]
    kept = [one for one in old.entries if not any(one is other for other in gone)]
    left = apply_expectations(report, kept, vectors, select)
    new = _make_entries(left, find_left_out(report, vectors, select))
    text = _edit(old, kept, new, report)
    entries = parse_expectations(str(path), text)
    assert entries == [*new, *kept]
    if read_list(path).text != old.text:
        raise GrucibleError(f"{path}: was changed while the check ran, and stays as it is")
    if text != old.text:
        write_whole(path, text, mark=_ANY_LIST)
    added, there, before = (len(_by_entry(some)) for some in (new, kept, old.entries))
    counts = f"{added} new, {there} kept, {before - there} taken out"
    return entries, f"{added + there} {'entry' if added + there == 1 else 'entries'}: {counts}"


def _edit(
    old: FindingList, kept: Sequence[Expectation], new: Sequence[Expectation], report: Report
) -> str:
    """Edit the text of a list: take entries out, but not the comments below them; put new entries first.

    An entry of which a part is kept is written anew.
    """
    if len(kept) == len(old.entries) and not new and not _is_blank(old.text):
        return old.text
    name = escape(f"{report.runtime} {report.runtime_version}".rstrip())[:_MAX_MESSAGE]
    title = (
        f"# What {name} is known to do otherwise.\n"
        "# Written by `grucible check --write-expect`; writing it again changes only what changed.\n"
    )
    head, *pieces = _ENTRY.split(old.text or title)
    chunks = [head if old.entries else _EMPTY.sub("", head), *map(_format_entry, _by_entry(new))]
    parts = {some[0].place: some for some in _by_entry(kept)}
    for entry, piece in zip(_by_entry(old.entries), pieces, strict=True):
        part, comments = parts.get(entry[0].place, []), _COMMENT.split(piece, maxsplit=1)[1:]
        chunks += (
            [piece] if part == entry else [*map(_format_entry, [part] * bool(part)), *comments]
        )
    if not new and not kept:
        chunks.append("[]")
    return "\n\n".join(chunk.strip("\n") for chunk in chunks if chunk.strip()) + "\n"


def _format_entry(alike: Sequence[Expectation]) -> str:
    one = alike[0]
    several = {"cases": [other.cases for other in alike]}
    several |= {field: list(getattr(one, field)) for field in HOW}
    values = {field: texts[0] if len(texts) == 1 else texts for field, texts in several.items()}
    entry = {**values, "reason": one.reason, "link": one.link}
    written = {field: value for field, value in entry.items() if value != []}
    return yaml.safe_dump([written], sort_keys=False, allow_unicode=True, width=1 << 20)


def _make_entries(left: Report, left_out: Sequence[str]) -> list[Expectation]:
    """Make entries for what is unexpected; none names a case that is right, expected or left out."""
    groups = group_failures(left.unexpected, left.diagnosis)
    right = [r.id for r in left.results if r.decides and r.verdict == "passed"]
    right += [*left_out, *(r.id for r in left.expected_failures)]
    made, count = list[Expectation](), 0
    for place, (expected, ids) in enumerate(groups):
        behind = [one for _, later in groups[place + 1 :] for one in later]
        named = (
            place < _MAX_GROUPS and UNEXPLAINED not in expected.diagnosis
        )  # which would excuse anything
        most = min(_MAX_GLOBS, _MAX_ALL - count) if named else 0
        globs, rest = find_globs(ids, [*right, *behind], most)
        count += len(globs)
        made += [replace(expected, cases=cases) for cases in (*globs, *map(literal, rest))]
    return [*made, *_expect_accepted(left.refusals, left_out)]


def _expect_accepted(refusals: Sequence[Refusal], left_out: Sequence[str]) -> Iterator[Expectation]:
    """Expect what was wrongly accepted: by operator and defect or, where that glob matches more, by id."""
    wrong = [one for one in refusals if one.wrong and not one.expected]
    right = [*(one.id for one in refusals if not one.accepted), *left_out]
    for operator, defect in dict.fromkeys((one.operator, one.defect) for one in wrong):
        mine = [one for one in wrong if (one.operator, one.defect) == (operator, defect)]
        glob = f"{operator}/invalid/*/{defect}"
        clean = not any(matches(one, glob) for one in right)
        for cases in [glob] if clean else [one.id for one in mine]:
            yield Expectation(cases, f"accepted although it must be refused: {mine[0].about}")


def group_failures(
    results: Sequence[CaseResult], diagnosis: Diagnosis
) -> list[tuple[Expectation, list[str]]]:
    """Group cases that went wrong; give for each group an expectation, of any case, and its ids.

    Special groups come before general ones: errors before wrong numbers, misreadings before coarse
    arithmetic, and otherwise small groups before large ones.
    """
    groups: dict[tuple[int, object], list[CaseResult]] = {}
    for result in results:
        if result.wrong:
            groups.setdefault(_find_kind(result, diagnosis), []).append(result)
    ordered = sorted(groups.items(), key=lambda one: (one[0][0], len(one[1])))
    return [
        (_expect(kind, cases, diagnosis), [r.id for r in cases]) for (kind, _), cases in ordered
    ]


def _find_kind(result: CaseResult, diagnosis: Diagnosis) -> tuple[int, object]:
    """Find the kind of a failure (message, diagnosis, class, unexplained), and the key of its group."""
    finding = diagnosis.by_case.get(result.id)
    if result.verdict == "failed":
        if finding and finding.kind != "arithmetic":
            return 1, frozenset(without_readings(finding.names))
        if result.holds:
            return 2, result.dtype
        if result.message.startswith("expected "):
            return 3, None
    return 0, (result.verdict, *_constant_parts(result.message))


def _constant_parts(message: str) -> list[str]:
    """List the parts of a message between its numbers and dtypes, which vary from case to case."""
    return [part.strip() for part in VARYING.split(" ".join(message.split()))]


def _expect(kind: int, cases: Sequence[CaseResult], diagnosis: Diagnosis) -> Expectation:
    """Describe what cases of a kind have in common."""
    first = cases[0]
    if kind == 1:
        finding = diagnosis.by_case[first.id]
        where = f", {finding.where}" if finding.where else ""
        known = all(map(is_misreading, finding.names))
        names = without_readings(finding.names) if known else (UNEXPLAINED,)
        return Expectation("*", f"{finding.in_short}{where}", diagnosis=names)
    if kind == 2:  # the best class of arithmetic that all cases hold, or else the best of each
        shared = [c.name for c in CLASSES[first.dtype] if all(c.name in one.holds for one in cases)]
        names = (*shared[:1],) or (*dict.fromkeys(one.arithmetic for one in cases),)
        reason = f"{first.dtype}: as near as {' or '.join(names)} arithmetic gives"
        return Expectation("*", reason, observed=names)
    message = " ".join(first.message.split())[:_MAX_REASON]
    if first.verdict == "failed":  # the message is the judge's own
        reason = "TODO: why; the numbers are wrong, and nothing explains them"
        return Expectation("*", reason if kind == 3 else message, diagnosis=(UNEXPLAINED,))
    part = find_shared_part(message)
    reason = f'{first.verdict}: "{message}"' if message else first.verdict
    return Expectation("*", reason, message=(part,) if part else ())


def find_shared_part(message: str) -> str:
    """Find the longest part of a message between its numbers and dtypes; "" if that part is short."""
    parts = filter(str.isprintable, _constant_parts(message))
    best = max(parts, key=len, default="")[:_MAX_MESSAGE].strip()
    return best if len(best) >= _MIN_MESSAGE else ""
