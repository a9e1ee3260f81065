"""Fuzzing: random questions without end, judged by exact answers; only findings are kept.

What went wrong is grouped by the explanation. Of each group a few small cases are kept, and shrunk in the
end. So memory does not grow with the questions.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..cases.console import format_own_error, say
from ..cases.errors import GrucibleError
from ..cases.operators.readings import about as about_reading
from ..cases.process import INTERRUPTED, end_if_interrupted
from ..cases.question import Question
from ..cases.selection import AND, matches
from ..cases.specs.pairs import PairsAsked
from ..cases.specs.random_space import RandomSpace
from ..gen.drawing import bytes_of
from ..gen.files import open_executor
from ..gen.making import Made, make_random
from ..gen.posed import Posed, write_answered
from ..gen.variants.known import variant_called
from ..vectors.block import Block
from ..vectors.vector_set import VectorSet, open_set
from .again import Again
from .diagnosis.contradictions import Passing
from .diagnosis.diagnose import diagnose
from .diagnosis.failing import FailingBlock
from .diagnosis.finding import ASKED_AGAIN, NO_VARIANTS, Diagnosis, Finding
from .expecting import apply_expectation
from .judging.case_result import CaseResult, mask
from .judging.criterion import Criterion
from .judging.expectations import Expectation
from .judging.grade import Grade
from .judging.judge import judge_block
from .observed.isolated import GONE
from .observed.source import Source, stack_replies
from .shrink import SHRUNK, Shrunk, shrink, shrunk_id

FIRST, CHUNK, CHUNK_BYTES = 256, 2048, 24 << 20
"""Questions of the first chunk, and maximum questions and bytes of later ones, each twice the one before."""
MOST_FINDINGS, KEPT, SHRINKS = 64, 3, 2
"""Maximum findings, cases of each that are kept, and of these the number that is shrunk."""
SHRINK_SECONDS = 20.0
"""Maximum seconds that a case is shrunk."""
EXPLAINED, FRUITLESS = 96, 4
"""Maximum cases that are diagnosed together, and fruitless diagnoses in a row of an operator and dtype."""
PASSED = 64
"""Maximum blocks of cases that passed, against which a diagnosis is tested."""
MORE = "more kinds of failures, which are only counted"
UNEXPLAINED = "wrong numbers that nothing explains"


@dataclass
class FuzzFinding:
    """One way in which a runtime went wrong, in `count` cases; a few small ones are kept.

    `diagnosis` is what explains wrong numbers, None where nothing does and for errors. `where` counts by
    operator and dtype; `expected` says for each which expectation holds there, if one does.
    """

    about: str
    diagnosis: Finding | None = None
    count: int = 0
    cases: list[tuple[Block, CaseResult]] = field(default_factory=list)
    where: Counter[tuple[str, str]] = field(default_factory=Counter)
    expected: dict[tuple[str, str], Expectation | None] = field(default_factory=dict)
    shrunk: list[Shrunk] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def new(self) -> bool:
        """Whether no expectation holds for it in some operator and dtype."""
        return not all(self.expected.get(place) for place in self.where)

    def questions(self) -> Iterator[Question]:
        """Yield the questions to keep: shrunk ones first, then those that were not shrunk."""
        yield from (one.question for one in self.shrunk)
        for block, _ in self.cases[len(self.shrunk) :]:
            question = block.question(0)
            yield replace(question, id=shrunk_id(question.id))


class _Kept(Passing):
    """The cases that passed and are kept in memory."""

    def __init__(self, blocks: Sequence[Block], criteria: Mapping[str, Criterion]) -> None:
        super().__init__([], criteria)
        self.blocks = list(blocks)
        for block in blocks:
            self.counts[block.dtype] += len(block)


@dataclass
class Fuzzed:
    """What was asked of a runtime, and what was found.

    `tally` counts cases of deciding tiers by operator, dtype and verdict; `undeciding` the others. `undrawn`
    counts by reason the questions that could not be drawn. `asked_to` is the number of questions of the seed
    that were looked at. `stopped` says why a runtime is asked no more.
    """

    runtime: str
    version: str
    seed: int
    spaces: Sequence[RandomSpace]
    criteria: Mapping[str, Criterion]
    expectations: Sequence[Expectation] = ()
    tally: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    undeciding: int = 0
    undrawn: Counter[str] = field(default_factory=Counter)
    asked_to: int = 0
    replayed: int = 0
    asked_again: int = 0
    findings: dict[object, FuzzFinding] = field(default_factory=dict)
    pairs: dict[str, PairsAsked] = field(default_factory=dict)
    seconds: float = 0.0
    stopped: str = ""
    interrupted: bool = False
    _passed: list[Block] = field(default_factory=list)
    _fruitless: Counter[tuple[str, str]] = field(default_factory=Counter)
    _followed: dict[tuple[str, str], dict[object, tuple[int, Block, CaseResult]]] = field(
        default_factory=dict
    )

    @property
    def counts(self) -> Counter[str]:
        """The number of deciding cases with each verdict."""
        found: Counter[str] = Counter()
        for (_, _, verdict), count in self.tally.items():
            found[verdict] += count
        return found

    @property
    def new(self) -> list[FuzzFinding]:
        """The findings that no expectation holds for, the most frequent first."""
        found = [one for one in self.findings.values() if one.new]
        return sorted(found, key=lambda one: -one.count)

    @property
    def exit_status(self) -> int:
        """130 where it was interrupted; else 1 for new findings, a runtime that stopped, or no answer."""
        if self.interrupted:
            return INTERRUPTED
        return int(
            bool(self.new or self.stopped or not self.counts["passed"] + self.counts["failed"])
        )

    def see(self, source: Source, blocks: Sequence[Block]) -> dict[str, CaseResult]:
        """Ask and judge the cases of blocks; return the results by id."""
        replies = iter(list(source.answer(q for block in blocks for q in block.questions())))
        again, results, failing = Again(), dict[str, CaseResult](), list[FailingBlock]()
        for block in blocks:
            some = list(itertools.islice(replies, len(block)))
            if lost := [
                one.message
                for one in some
                if one.status == "missing" or one.message.startswith(GONE)
            ]:
                self.stopped = lost[0]
            observed = stack_replies(block, some)
            criterion = self.criteria[block.dtype]
            found = judge_block("", block, observed, Grade(block.dtype, criterion))
            again.see(block, found)
            results |= {one.id: one for one in found}
            self._keep(block, found)
            if rows := [
                n for n, one in enumerate(found) if one.decides and one.verdict == "failed"
            ]:
                outputs = {name: array[rows] for name, array in observed.outputs.items()}
                failing.append(FailingBlock(block.rows(np.array(rows)), outputs, criterion))
        if not self.stopped:
            again.ask(source, self.criteria)
        self.asked_again += again.asked
        for block in again.sample:
            if now := again.wrong.get(block.ids[0]):
                results[now.id] = replace(now, verdict="failed")
                self._find(
                    (ASKED_AGAIN,),
                    "right answers that change when the question is asked again",
                    block,
                    now,
                )
        self._explain(source, failing, results)
        for one in results.values():
            if one.decides:
                self.tally[one.operator, one.dtype, one.verdict] += 1
            else:
                self.undeciding += 1
        return results

    def _keep(self, block: Block, results: Sequence[CaseResult]) -> None:
        """Keep errors as findings, some of what passed, and the readings that were followed."""
        passed = [n for n, one in enumerate(results) if one.decides and one.verdict == "passed"]
        if passed:
            if len(self._passed) == PASSED:
                del self._passed[sum(map(len, self._passed)) % PASSED]
            self._passed.append(block.rows(np.array(passed[:16])))
        for row, one in enumerate(results):
            if one.decides and one.verdict == "error":
                kind = one.fault.kind if one.fault else "raised"
                masked = mask(one.message)
                self._find(
                    (kind, masked), f"{kind}: {one.message}", block.rows(np.array([row])), one
                )
            for ledger, reading in (
                one.followed.items() if one.decides and one.verdict == "passed" else ()
            ):
                point = self._followed.setdefault((one.operator.partition(".")[0], ledger), {})
                count, kept, first = point.get(reading) or (0, block.rows(np.array([row])), one)
                point[reading] = count + 1, kept, first

    def _find(
        self, key: object, about: str, block: Block, result: CaseResult,
        diagnosis: Finding | None = None, part: FailingBlock | None = None,
    ) -> None:  # fmt: skip
        """Count a case that went wrong as one of the finding `key`; keep it if it is small."""
        if key not in self.findings and len(self.findings) >= MOST_FINDINGS:
            key, about, diagnosis = MORE, MORE, None
        one = self.findings.setdefault(key, FuzzFinding(about, diagnosis))
        place = result.operator, result.dtype
        one.count += 1
        one.where[place] += 1
        if not one.expected.get(place):
            by_case = {result.id: diagnosis} if diagnosis else {}
            diagnosed = Diagnosis(by_case=by_case, unexplained_ids=frozenset())
            one.expected[place] = self._expected(result, diagnosed, part)
        one.cases.append((block, result))
        one.cases.sort(key=lambda kept: kept[0].nbytes)
        del one.cases[KEPT:]

    def _expected(
        self, result: CaseResult, diagnosed: Diagnosis, part: FailingBlock | None
    ) -> Expectation | None:
        """Find the first expectation that holds for a failure of this operator and dtype."""
        for one in self.expectations:
            if matches(result.id, _widen(one.cases) if one.says_how else one.cases):
                row = (part, 0) if part else None
                if apply_expectation(result, one, diagnosed, row).expected:
                    return one
        return None

    def _explain(
        self, source: Source, parts: list[FailingBlock], results: Mapping[str, CaseResult]
    ) -> None:
        """Group cases with wrong numbers by known findings, and diagnose what is left."""
        for _ in range(2):
            parts = [left for part in parts for left in self._known(part, results)]
            some, count = list[FailingBlock](), 0
            for part in parts:
                if (
                    count < EXPLAINED
                    and self._fruitless[part.block.operator, part.block.dtype] < FRUITLESS
                ):
                    some.append(part.rows(np.arange(min(len(part), EXPLAINED - count))))
                    count += len(some[-1])
            found = self._diagnosis(source, some, results) if some else Diagnosis()
            done = set()
            for part in some:
                for row, case_id in enumerate(part.block.ids):
                    one = found.by_case.get(case_id)
                    if one is not None:
                        perhaps = "" if one.certain else "perhaps: "
                        where = f", {one.where}" if one.where else ""
                        alone = part.rows(np.array([row]))
                        self._find(
                            (one.kind, one.names), f"{perhaps}{one.about}{where}", alone.block,
                            results[case_id], one, alone,
                        )  # fmt: skip
                        done.add(case_id)
                place = part.block.operator, part.block.dtype
                self._fruitless[place] = (
                    0 if done.intersection(part.block.ids) else self._fruitless[place] + 1
                )
            parts = [
                part.rows(np.array([one not in done for one in part.block.ids]))
                for part in parts
                if not done.issuperset(part.block.ids)
            ]
            if not done:
                break
        for part in parts:
            for row, case_id in enumerate(part.block.ids):
                alone = part.rows(np.array([row]))
                place = (part.block.operator, part.block.dtype)
                about = f"{UNEXPLAINED}, {' '.join(place)}"
                self._find((UNEXPLAINED, *place), about, alone.block, results[case_id], None, alone)

    def _known(
        self, part: FailingBlock, results: Mapping[str, CaseResult]
    ) -> Iterator[FailingBlock]:
        """Count the cases that a finding explains that is known; yield a part of the others, if any."""
        left = np.ones(len(part), bool)
        for key, one in [*self.findings.items()]:
            if one.diagnosis is None or not left.any():
                continue
            names = one.diagnosis.names
            if one.diagnosis.kind == "arithmetic":
                mine = np.array([names[0] in results[case_id].holds for case_id in part.block.ids])
            elif one.diagnosis.kind in NO_VARIANTS:
                continue
            else:
                try:
                    variants = [variant_called(name) for name in names]
                except (LookupError, ValueError):
                    continue
                mine = part.distances([variants])[0] <= 1.0
            for row in np.flatnonzero(mine & left).tolist():
                alone = part.rows(np.array([row]))
                self._find(
                    key, one.about, alone.block, results[part.block.ids[row]], one.diagnosis, alone
                )
            left &= ~mine
        if left.any():
            yield part.rows(left)

    def _diagnosis(
        self, source: Source, parts: Sequence[FailingBlock], results: Mapping[str, CaseResult]
    ) -> Diagnosis:
        """Find what explains some cases; an error of our own there leaves them unexplained."""
        classes = {
            case_id: results[case_id].arithmetic for part in parts for case_id in part.block.ids
        }
        passing = _Kept(self._passed, self.criteria)
        try:
            return diagnose(parts, classes, passing, (), lambda asked: list(source.answer(asked)))
        except (GrucibleError, OSError):
            raise
        except Exception as error:
            say(f"grucible: a diagnosis broke off: {format_own_error(error)}", err=True)
            return Diagnosis()

    def count_pairs(self, made: Made, results: Mapping[str, CaseResult]) -> None:
        """Count the pairs of values that were asked, and the questions that could not be drawn."""
        self.undrawn.update(made.impossible)
        self.undrawn.update(mask(one.why) for one in made.undrawn)
        for case in made.specs:
            result = results.get(case.id)
            if result and result.decides:
                compared = result.verdict in ("passed", "failed")
                self.pairs[case.operator].see(case.factors, compared=compared)

    def two_readings(self) -> None:
        """Make a finding of each ambiguous point on which cases follow two readings."""
        for (owner, ledger), followed in self._followed.items():
            if len(followed) > 1:
                count, block, result = min(followed.values(), key=lambda one: one[0])
                rest = sum(one[0] for one in followed.values()) - count
                [names] = [n for n, one in followed.items() if one[2] is result]
                words = about_reading(names) if names else "the stored one"  # type: ignore[arg-type]
                about = f"two readings of one point ({ledger}): {count} cases follow {words}, {rest} another"
                self._find((owner, ledger), about, block, replace(result, verdict="failed"))
                self.findings[owner, ledger].count = count

    def shrink(self, source: Source, advance: Callable[[FuzzFinding], None]) -> None:
        """Shrink a few cases of each new finding; say why where that fails."""
        for one in self.new:
            for block, _ in one.cases[:SHRINKS] if one.diagnosis or one.cases else ():
                advance(one)
                try:
                    one.shrunk.append(shrink(block, source, self.criteria, SHRINK_SECONDS))
                except GrucibleError as error:
                    one.notes.append(str(error))
                    break


def _widen(glob: str) -> str:
    """Leave all out of a glob but operator and dtype: a known finding has any other ids here."""
    found = []
    for one in glob.split(AND):
        parts = one.split("/")
        parts[-1] = "*"
        found.append("/".join([parts[0], "*", *parts[2:]] if len(parts) == 4 else parts))
    return AND.join(found)


def fuzz(
    source: Source,
    spaces: Sequence[RandomSpace],
    criteria: Mapping[str, Criterion],
    *,
    dtypes: Sequence[str] = (),
    seed: int = 0,
    cases: int | None = None,
    seconds: float | None = None,
    jobs: int = 1,
    expectations: Sequence[Expectation] = (),
    replay: VectorSet | None = None,
    advance: Callable[[Fuzzed], None] = lambda _: None,
) -> Fuzzed:
    """Ask a runtime random questions until `cases` are asked, or `seconds` are over, or Ctrl-C.

    The questions of the spaces' operators and dtypes take turns. Those of `replay` are asked first. `advance`
    sees what was found after each chunk. `jobs` processes make the questions. Raises GrucibleError if no
    space has one of the dtypes.
    """
    streams = [
        (space, dtype)
        for space in spaces
        for dtype in space.spec.model.dtypes
        if not dtypes or dtype in dtypes
    ]
    if not streams:
        raise GrucibleError(f"no operator to ask has {' or '.join(dtypes)}; name another --dtype")
    found = Fuzzed(source.name, source.version, seed, spaces, criteria, expectations)
    found.pairs = {space.operator.name: PairsAsked(space) for space, _ in streams}
    began = time.monotonic()
    with np.errstate(all="ignore"):
        try:
            for rows in replay.slices() if replay else ():
                found.see(source, [rows.block])
                found.replayed += len(rows.block)
            for stop, made in _made_ahead(streams, seed, cases, jobs):
                found.count_pairs(made, found.see(source, made.blocks))
                found.asked_to, found.seconds = stop, time.monotonic() - began
                advance(found)
                end_if_interrupted()
                if found.stopped or (seconds is not None and found.seconds >= seconds):
                    break
        except KeyboardInterrupt:
            found.interrupted = True
        found.two_readings()
    return found


def _made_ahead(
    streams: Sequence[tuple[RandomSpace, str]], seed: int, cases: int | None, jobs: int
) -> Iterator[tuple[int, Made]]:
    """Yield the chunks of questions in order, each with the number of the next; make some ahead."""
    ahead: deque[tuple[int, Future[Made]]] = deque()
    start, size, most = 0, FIRST, _chunk(streams, seed)
    with open_executor(jobs) as executor:
        while True:
            while len(ahead) <= jobs and (cases is None or start < cases):
                stop = start + min(size, most, size if cases is None else cases - start)
                ahead.append((stop, executor.submit(make_random, streams, seed, start, stop)))
                start, size = stop, min(2 * size, CHUNK)
            if not ahead:
                return
            stop, future = ahead.popleft()
            yield stop, future.result()


def _chunk(streams: Sequence[tuple[RandomSpace, str]], seed: int) -> int:
    """Count the questions of a chunk by the bytes of some cases."""
    sizes = []
    for (space, dtype), number in itertools.product(streams, range(4)):
        with suppress(GrucibleError):
            sizes.append(bytes_of(space.case(dtype, seed, number)))
    return max(1, min(CHUNK, CHUNK_BYTES * len(sizes) // max(1, sum(sizes))))


def write_found(found: Fuzzed, folder: Path) -> list[Path]:
    """Write the cases of new findings to a vector file for each operator, with what is there already."""
    posed: dict[str, dict[str, Question]] = {}
    for one in found.new:
        for question in one.questions():
            posed.setdefault(question.operator, {})[question.id] = question
    paths = []
    for operator, questions in posed.items():
        path = folder / f"{operator}.h5"
        if path.exists():
            old = (q for _, block in open_set(path).blocks() for q in block.questions())
            questions = {one.id: one for one in old if one.theme == SHRUNK} | questions
        name = f"{found.runtime} {found.version}".strip()
        about = f"found by grucible fuzz, which {name} gets wrong"
        write_answered(path, [Posed(i, lambda q=q: q) for i, q in questions.items()], about)  # type: ignore[misc]
        paths.append(path)
    return paths
