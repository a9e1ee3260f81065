"""Measure what the diagnosis says of wrong GRUs: python tests/diagnosis/run.py [NAME ...].

Each wrong GRU is judged by the float32 questions of its operator in the core vectors, those of THEMES, and
what the report says is marked. `results.json` has the findings of the last run, `second.json` those on the second list and
`real.json` those on the third; a mark that is worse than there ends the command with 1.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from diagnosis.kernel import Kernel  # noqa: E402
from diagnosis.kernels import HELDOUT, LAST, LISTED, UNLISTED  # noqa: E402
from diagnosis.real import REAL  # noqa: E402
from diagnosis.second import SECOND  # noqa: E402
from diagnosis.wrong import WrongGru, judging, read_table  # noqa: E402

from grucible import Report  # noqa: E402
from grucible.check.observed.source import FromRuntime  # noqa: E402
from grucible.check.runtimes.runtime import describe_runtime  # noqa: E402
from grucible.check.verdict import Demand, judge  # noqa: E402
from grucible.vectors.vector_set import VectorSet, open_set  # noqa: E402

GROUPS = {
    "in the catalogue": LISTED,
    "by somebody who had not seen the catalogue": UNLISTED,
    "by a second who had not seen it": HELDOUT,
    "by a third, judged last": LAST,
}
"""The wrong kernels, by who thought of them."""


@dataclass(frozen=True)
class WrongList:
    """A list of wrong GRUs: the kernels by who thought of them, what is expected, and the file of the last run."""

    groups: Mapping[str, Mapping[str, type[Kernel]]]
    expected: str
    results: str

    @cached_property
    def wrong(self) -> dict[str, WrongGru]:
        """The wrong GRUs by name."""
        return read_table(self.groups, self.expected)

    def kept(self) -> dict[str, Findings]:
        """Read the findings of the last run, by name."""
        value = json.loads((HERE / self.results).read_text(encoding="utf-8"))
        return {name: Findings.from_json(findings) for name, findings in value.items()}

    def keep(self, findings: Mapping[str, Findings]) -> None:
        """Write findings, a line for each wrong GRU."""
        lines = [
            f"{json.dumps(name)}: {json.dumps(asdict(findings[name]))}"
            for name in self.wrong
            if name in findings
        ]
        (HERE / self.results).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")

    def totals(self, findings: Mapping[str, Findings]) -> Iterator[str]:
        """Count the marks by group of wrong GRUs, in a Markdown table."""
        yield "| | wrong GRUs | " + " | ".join(MARKS) + " |"
        yield "| --- |" + " ---: |" * (1 + len(MARKS))
        for title in (*self.groups, "all"):
            given = [
                mark(findings[one.name], one)
                for one in self.wrong.values()
                if one.name in findings and title in (one.group, "all")
            ]
            counts = Counter(given)
            yield f"| {title} | {len(given)} | " + " | ".join(str(counts[m]) for m in MARKS) + " |"

    def page(self, findings: Mapping[str, Findings]) -> Iterator[str]:
        """Tabulate bugs with their source, how many cases fail, and what is said, in Markdown."""
        known = {name: findings[name] for name in self.wrong if name in findings}
        marks = Counter(mark(found, self.wrong[name]) for name, found in known.items())
        caught = sum(found.failed > 0 for found in known.values())
        yield BUGS.format(of=len(known), caught=caught, right=marks["right"], wrong=marks["wrong"])
        yield "| bug | what is wrong | cases that fail | what grucible says |"
        yield "| --- | --- | ---: | --- |"
        for name, found in known.items():
            one = self.wrong[name]
            said = [s.in_words() for s in found.sentences] or found.hints or ["nothing"]
            cells = [link(one.source), one.mistakes, str(found.failed), "; ".join(said)]
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


BUGS = """# Bugs of real libraries

Each of these {of} bugs was reported in public. We modelled it in a GRU of our own, and asked that one the float32
cases of one operator in the themes core, core_with_zero, plain and plain_sizes.
**{caught} of {of} are caught**; {right} are named, or their place is; {wrong} sentences are wrong.
"What is wrong" was written before grucible judged the model. Made by `python tests/diagnosis/run.py --list real --page`.
"""


def link(source: str) -> str:
    """Make a link that shows the project and the number or commit."""
    _, _, _, _, project, _, number = source.split("/")
    return f"[{project} {number[:10]}]({source})"


LISTS = {
    "first": WrongList(GROUPS, "expected.yaml", "results.json"),
    "second": WrongList({"by a fourth, who had not seen it": SECOND}, "second.yaml", "second.json"),
    "real": WrongList({"bugs from public trackers": REAL}, "real.yaml", "real.json"),
}

Mark = Literal["right", "in part", "silent", "wrong"]
MARKS: tuple[Mark, ...] = ("right", "in part", "silent", "wrong")
"""From the best to the worst."""


@dataclass(frozen=True)
class Sentence:
    """One finding: sentences joined by "; and ", others that may be true as well, and the place of all."""

    text: str
    certain: bool
    explains: int
    others: Sequence[str] = ()
    where: str = ""

    def readings(self) -> list[list[str]]:
        """Split each of what may be true into its sentences, each with the place behind it."""
        where = f", {self.where}" if self.where else ""
        return [[f"{s}{where}" for s in one.split("; and ")] for one in (self.text, *self.others)]

    def in_words(self) -> str:
        """Write it as the report does."""
        said = ", or ".join((self.text, *self.others))
        return (
            f"{'' if self.certain else 'perhaps '}{said}{f', {self.where}' if self.where else ''}"
        )


@dataclass(frozen=True)
class Findings:
    """What a report says of a wrong GRU: how many cases failed, its findings, and its hints."""

    failed: int
    unexplained: int
    sentences: Sequence[Sentence]
    hints: Sequence[str]

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Findings:
        """Read what `asdict` gave."""
        return cls(**dict(value) | {"sentences": [Sentence(**one) for one in value["sentences"]]})


@cache
def _questions(operator: str) -> VectorSet:
    return open_set(select=judging(operator))


def report_of(wrong: WrongGru) -> Report:
    """Judge a wrong GRU by the float32 questions of its operator in the core vectors, those of THEMES."""
    source = FromRuntime(describe_runtime(wrong.name, wrong.kernel()))
    return judge(_questions(wrong.operator), source, Demand())


def findings_of(report: Report) -> Findings:
    """Take what the diagnosis says from a report."""
    found = report.diagnosis
    sentences = [
        Sentence(
            text=one.about,
            certain=one.certain,
            explains=one.explains,
            others=[
                "; and ".join(one.sentence((name,)) for name in names) for names in one.alternatives
            ],
            where=one.where,
        )
        for one in found.findings
    ]
    return Findings(found.failed, found.unexplained, sentences, list(found.hints))


def mark(findings: Findings, wrong: WrongGru) -> Mark:
    """Mark the findings on a wrong GRU.

    Wrong: a confident sentence is not true, and neither is what it says may be instead. Right: every mistake is
    named confidently, or its place is named. In part: some mistakes are named, or only perhaps. Silent: none.
    """
    true = "|".join((*wrong.named, *([wrong.also] if wrong.also else [])))
    certain = [one for one in findings.sentences if one.certain]
    for one in (one for one in certain if not one.text.startswith("asked again")):  # as was seen
        if not any(all(_in(true, [s]) for s in reading) for reading in one.readings()):
            return "wrong"
    texts = [s for one in certain for reading in one.readings() for s in reading]
    again = [hint for hint in findings.hints if hint.startswith("asked again")]
    named = [_in(mistake, texts + again) for mistake in wrong.named]
    if all(named) or (wrong.place and _in(wrong.place, [*texts, *findings.hints])):
        return "right"
    perhaps = [s for one in findings.sentences for reading in one.readings() for s in reading]
    perhaps += findings.hints
    return "in part" if any(named) or any(_in(one, perhaps) for one in wrong.named) else "silent"


def _in(pattern: str, texts: Sequence[str]) -> bool:
    return any(re.search(pattern, text, re.IGNORECASE) for text in texts)


def _judged(asked: tuple[str, str]) -> tuple[str, Findings, float]:
    """Judge a wrong GRU of a list, by their names; a process cannot hand the other a kernel."""
    of, name = asked
    start = time.process_time()
    findings = findings_of(report_of(LISTS[of].wrong[name]))
    return name, findings, time.process_time() - start


def main() -> None:
    """Judge wrong GRUs, print their marks and totals, and say which marks changed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="wrong GRUs; default: all")
    parser.add_argument("--list", choices=LISTS, default="first", help="default: %(default)s")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="processes; default: %(default)s"
    )
    parser.add_argument(
        "--page", action="store_true", help="print the kept findings as a page; judge nothing"
    )
    parser.add_argument("--keep", action="store_true", help="write the findings to the list's file")
    asked = parser.parse_args()
    table = LISTS[asked.list]
    if asked.page:
        print(*table.page(table.kept()), sep="\n")
        return
    if unknown := sorted(set(asked.names) - set(table.wrong)):
        parser.error(f"no wrong GRU of the {asked.list} list is called {', '.join(unknown)}")
    start, before, now, worse, spent = time.monotonic(), table.kept(), dict[str, Findings](), 0, 0.0
    with multiprocessing.Pool(asked.jobs) as pool:
        wanted = [(asked.list, name) for name in asked.names or table.wrong]
        for name, findings, seconds in pool.imap_unordered(_judged, wanted):
            now[name] = findings
            given = mark(findings, table.wrong[name])
            was = mark(before[name], table.wrong[name]) if name in before else given
            changed = f"  was {was}" if was != given else ""
            worse += MARKS.index(given) > MARKS.index(was)
            spent += seconds
            print(f"{given:8}{seconds:6.1f} s  {name}{changed}", flush=True)
    minutes = (time.monotonic() - start) / 60
    print(*table.totals(now), "", sep="\n")
    print(
        f"{minutes:.1f} minutes of {asked.jobs} processes, {spent:.0f} s of CPU time; "
        f"{worse} marks are worse than before"
    )
    if asked.keep:
        table.keep(before | now)
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
