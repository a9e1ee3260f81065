"""Fuzzing: random questions without end, judged by exact answers; only findings are kept.

What went wrong is grouped by the explanation. Of each group a few small cases are kept, and shrunk in the
end. So memory does not grow with the questions.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ..cases.console import format_own_error, say
from ..cases.errors import GrucibleError
from ..cases.operators import OPERATORS
from ..cases.operators.readings import ReadingNames
from ..cases.operators.readings import about as about_reading
from ..cases.process import INTERRUPTED, end_if_interrupted
from ..cases.selection import WHOLE, Shard
from ..cases.specs.pairs import PairsAsked
from ..cases.specs.random_space import RandomSpace
from ..gen.drawing import LAST, bytes_of
from ..gen.making import Made, make_random
from ..gen.posed import answered_block
from ..gen.processes import open_executor
from ..vectors.block import Block
from ..vectors.case import rows_of
from ..vectors.vector_set import VectorSet
from .again import Again, describe_change, other_rows
from .diagnosis.contradictions import Passing
from .diagnosis.diagnose import diagnose
from .diagnosis.failing import FailingBlock, failing_blocks
from .diagnosis.finding import ASKED_AGAIN, ON_MORE, Diagnosis
from .grouping import Findings, FuzzFinding, singles
from .judging.case_result import CaseResult, mask
from .judging.criterion import Criterion
from .judging.expectations import Expectation
from .judging.grade import Grade
from .judging.judge import judge_blocks
from .observed.isolated import GONE
from .observed.source import Observed, Source, observe_block, stack_replies
from .reports.text import ALONE
from .shrink import Shrunk, shrink

FIRST, CHUNK, CHUNK_BYTES = 256, 2048, 24 << 20
"""Questions of the first chunk, and maximum questions and bytes of later ones, each twice the one before."""
RANGES, NO_END = 4, 10**18
"""Minimum ranges of questions that each shard asks, so that all end at about the same time; any number."""
PACE = 4.0
"""Seconds of a chunk's questions where time is limited: it is looked at after each chunk."""
SHRINKS, SHRINK_SECONDS, ALL_SECONDS = 2, 20.0, 180.0
"""Maximum cases of a finding that are shrunk, seconds for each, and for all; others are kept as they are."""
EXPLAINED, FRUITLESS = 96, 4
"""Maximum cases that are diagnosed together, and fruitless diagnoses in a row of an operator and dtype."""
PASSED, PASSED_BYTES = 64, 64 << 20
"""Maximum blocks of cases that passed, against which a diagnosis is tested, and their bytes."""
TWO = "two readings of one point"
UNEXPLAINED = "wrong numbers that no finding explains"
UNDIAGNOSED = "wrong numbers, not diagnosed to save time; no finding of other cases explains them"


class _Kept(Passing):
    """The cases that passed and are kept in memory."""

    def __init__(self, blocks: Sequence[Block], criteria: Mapping[str, Criterion]) -> None:
        super().__init__([], criteria)
        self.blocks = list(blocks)
        self.complete = False
        for block in blocks:
            self.counts[block.dtype] += len(block)


@dataclass
class Fuzzed:
    """What was asked of a runtime, and what was found.

    `tally` counts cases of deciding tiers by operator, dtype and verdict; `undeciding` the others. `undrawn`
    and `unsupported` count by reason the questions that could not be drawn, or are not supported. `ranges`
    has, as seed, start and stop, the numbers of the questions that were looked at. `stopped` says why a
    runtime is asked no more.
    """

    runtime: str
    version: str
    seed: int
    spaces: Sequence[RandomSpace]
    criteria: Mapping[str, Criterion]
    findings: Findings
    tally: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    undeciding: int = 0
    undrawn: Counter[str] = field(default_factory=Counter)
    unsupported: Counter[str] = field(default_factory=Counter)
    ranges: list[tuple[int, int, int]] = field(default_factory=list)
    replayed: int = 0
    asked_again: int = 0
    pairs: dict[str, PairsAsked] = field(default_factory=dict)
    seconds: float = 0.0
    stopped: str = ""
    interrupted: bool = False
    lost: list[str] = field(default_factory=list)
    """What was left out of the questions, as more than one process died of it, and why."""
    _passed: list[Block] = field(default_factory=list)
    _passed_bytes: int = 0
    _fruitless: Counter[tuple[str, str]] = field(default_factory=Counter)
    _waiting: list[tuple[list[FailingBlock], dict[str, CaseResult]]] = field(default_factory=list)
    followed: dict[tuple[str, str], dict[ReadingNames, tuple[int, Block | None, CaseResult]]] = (
        field(default_factory=dict)
    )
    """By owner and ledger entry, how many cases follow each reading, and one of them."""

    @property
    def asked_to(self) -> int:
        """The number of questions that were looked at."""
        return sum(stop - start for _, start, stop in self.ranges)

    def look_at(self, seed: int, start: int, stop: int) -> None:
        """Count questions that were looked at; raise GrucibleError for one that was before."""
        for other, begins, ends in self.ranges:
            if other == seed and start < ends and begins < stop:
                raise GrucibleError(
                    f"question {max(start, begins)} of seed {seed} was asked twice; merge reports of other "
                    "shards or seeds"
                )
        joined = list[tuple[int, int, int]]()
        for one in sorted([*self.ranges, (seed, start, stop)]):
            if joined and joined[-1][0] == one[0] and joined[-1][2] == one[1]:
                one = (one[0], joined.pop()[1], one[2])
            joined.append(one)
        self.ranges = joined

    def without_passing(self) -> Fuzzed:
        """Forget cases that passed, so that the rest is small."""
        return replace(self, _passed=[])

    def merge(self, other: Fuzzed) -> None:
        """Add what was asked and found elsewhere of the same runtime. `two_readings` comes later."""
        for one in other.ranges:
            self.look_at(*one)
        self.findings.merge(other.findings)
        self.tally.update(other.tally)
        self.undrawn = _count_alike(self.undrawn, other.undrawn)
        self.unsupported = _count_alike(self.unsupported, other.unsupported)
        self.undeciding += other.undeciding
        self.replayed += other.replayed
        self.asked_again += other.asked_again
        self.seconds += other.seconds
        self.stopped = self.stopped or other.stopped
        self.lost += other.lost
        self.interrupted = self.interrupted or other.interrupted
        for prefix, pairs in other.pairs.items():
            self.pairs.setdefault(prefix, PairsAsked()).merge(pairs)
        for point, readings in other.followed.items():
            mine = self.followed.setdefault(point, {})
            for reading, (count, block, result) in readings.items():
                known = mine.get(reading)
                mine[reading] = (known[0] + count, *known[1:]) if known else (count, block, result)

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
        return self.findings.new

    def pace(self) -> int:
        """Count the questions of PACE seconds at the rate so far; FIRST where there is no rate yet."""
        return max(1, int(PACE * self.asked_to / self.seconds)) if self.seconds else FIRST

    @property
    def exit_status(self) -> int:
        """130 where it was interrupted; else 1 for new findings, a runtime that stopped, or no answer."""
        if self.interrupted:
            return INTERRUPTED
        return int(
            bool(
                self.new
                or self.stopped
                or self.lost
                or not self.counts["passed"] + self.counts["failed"]
            )
        )

    def see(self, source: Source, blocks: Sequence[Block]) -> dict[str, CaseResult]:
        """Ask, judge and explain the cases of blocks; return the results by id."""
        results = self.ask(source, blocks)
        self.explain(source)
        return results

    def ask(self, source: Source, blocks: Sequence[Block]) -> dict[str, CaseResult]:
        """Ask and judge the cases of blocks; return the results by id. What fails waits for `explain`."""
        replies = iter(list(source.answer(q for block in blocks for q in block.questions())))
        again, results, failing = Again(), dict[str, CaseResult](), list[FailingBlock]()
        grades = {dtype: Grade(dtype, one) for dtype, one in self.criteria.items()}
        asked, judged = list[tuple[Block, Observed]](), list[tuple[Block, list[CaseResult]]]()
        for block in blocks:
            some = list(itertools.islice(replies, len(block)))
            gone = (r for r in some if r.status == "missing" or r.message.startswith(GONE))
            self.stopped = self.stopped or next((one.message for one in gone), "")
            asked.append((block, stack_replies(block, some)))
        for (block, observed), found in zip(asked, judge_blocks(asked, grades), strict=True):
            again.see(block, found)
            judged.append((block, found))
            results |= {one.id: one for one in found}
            wrong = [n for n, one in enumerate(found) if one.decides and one.verdict == "failed"]
            if wrong:
                outputs = rows_of(observed.outputs, wrong)
                mine = block.rows(np.array(wrong))
                failing += failing_blocks(mine, outputs, self.criteria[block.dtype])
        if not self.stopped:
            again.ask(source, self.criteria)
        for block, found in judged:  # after all that a signal may interrupt: a count is whole
            self._keep(block, found)
        self.asked_again += again.asked
        results = {one.id: one for one in again.apply([*results.values()])}
        for block in again.sample:
            [case_id] = block.ids
            if (rows := again.rows.get(case_id)) is not None:
                changed = next(other for other, words in other_rows(block) if words == rows)
                about = describe_change("right cases", unlike=not rows)
                self.findings.add((ASKED_AGAIN, not rows), about, changed, results[case_id])
        self._waiting.append((failing, results))
        return results

    def explain(self, source: Source) -> None:
        """Explain the failures that wait for it, and count the cases that were asked."""
        parts = [part for failing, _ in self._waiting for part in failing]
        results = {case_id: one for _, some in self._waiting for case_id, one in some.items()}
        self._waiting.clear()
        self._explain(source, parts, results)
        for one in results.values():
            self.tally[one.operator, one.dtype, one.verdict] += _counts(one)
            self.undeciding += not _counts(one)
        whys = (o.message for o in results.values() if o.decides and o.verdict == "unsupported")
        self.unsupported = _count_alike(self.unsupported, Counter(whys))

    def _keep(self, block: Block, results: Sequence[CaseResult]) -> None:
        """Keep errors as findings, some of what passed, and the readings that were followed."""
        deciding = [(row, one) for row, one in enumerate(results) if one.decides]
        passed = [row for row, one in deciding if one.verdict == "passed"]
        if passed:
            self._passed.append(block.rows(np.array(passed[:16])))
            self._passed_bytes += self._passed[-1].nbytes
            while len(self._passed) > PASSED or self._passed_bytes > PASSED_BYTES:
                dropped = self._passed.pop(sum(map(len, self._passed)) % len(self._passed))
                self._passed_bytes -= dropped.nbytes
        for row, one in deciding:
            alone = np.array([row])
            if one.verdict == "error":
                kind = one.fault.kind if one.fault else "raised"
                about = f"{kind}: {one.message}"
                self.findings.add((kind, mask(one.message)), about, block.rows(alone), one)
            elif one.verdict == "passed":
                for ledger, reading in one.followed.items():
                    point = self.followed.setdefault((OPERATORS[one.operator].owner, ledger), {})
                    first = point.get(reading) or (0, block.rows(alone), one)
                    point[reading] = first[0] + 1, *first[1:]

    def _explain(
        self, source: Source, parts: list[FailingBlock], results: Mapping[str, CaseResult]
    ) -> None:
        """Group cases with wrong numbers by known findings, and diagnose some of what is left."""
        looked_at, hints = set[str](), dict[tuple[str, str], Sequence[str]]()
        parts = [left for part in parts for left in self.findings.take_known(part, results)]
        while not self.interrupted and (some := self._next(parts, looked_at)):
            try:
                found = self._diagnosis(source, some, results)
            except KeyboardInterrupt:  # what is left is counted, not diagnosed
                self.interrupted = True
                break
            if found.broke_off:
                break
            fruitful = set[tuple[str, str]]()
            for alone in singles(some):
                [case_id] = alone.block.ids
                if one := found.by_case.get(case_id):
                    about = f"{'' if one.certain else 'perhaps: '}{one.about}"
                    about += f", first seen {one.where}" if one.where else ""
                    key = (one.kind, one.names, one.certain)
                    self.findings.add(key, about, alone.block, results[case_id], one, alone)
                    fruitful.add((alone.block.operator, alone.block.dtype))
            for place in {(part.block.operator, part.block.dtype) for part in some}:
                self._fruitless[place] = 0 if place in fruitful else self._fruitless[place] + 1
            for part in _without(found.by_case, some):
                place = part.block.operator, part.block.dtype
                hints[place] = hints.get(place) or found.hints
            looked_at.update(case_id for part in some for case_id in part.block.ids)
            parts = _without(found.by_case, parts)
            parts = [left for part in parts for left in self.findings.take_known(part, results)]
        for alone in singles(parts):
            block = alone.block
            what = UNEXPLAINED if looked_at.issuperset(block.ids) else UNDIAGNOSED
            about = f"{what}, {block.operator} {block.dtype}"
            self.findings.add(about, about, block, results[block.ids[0]], None, alone)
            if what == UNEXPLAINED and (mine := self.findings.get((about, False))):
                mine.hints = mine.hints or hints[block.operator, block.dtype]

    def _next(
        self, parts: Sequence[FailingBlock], looked_at: Collection[str]
    ) -> list[FailingBlock]:
        """Take the cases that are diagnosed next, if any; these are twice EXPLAINED in all."""
        some, room = list[FailingBlock](), EXPLAINED
        for part in _without(looked_at, parts) if len(looked_at) < 2 * EXPLAINED else ():
            if room and self._fruitless[part.block.operator, part.block.dtype] < FRUITLESS:
                some.append(part.rows(np.arange(min(len(part), room))))
                room -= len(some[-1])
        return some

    def _diagnosis(
        self, source: Source, parts: Sequence[FailingBlock], results: Mapping[str, CaseResult]
    ) -> Diagnosis:
        """Find what explains some cases; an error there leaves them undiagnosed."""
        classes = {
            case_id: results[case_id].arithmetic for part in parts for case_id in part.block.ids
        }
        passing = _Kept(self._passed, self.criteria)
        try:
            return diagnose(parts, classes, passing, (), lambda asked: list(source.answer(asked)))
        except (GrucibleError, OSError) as error:
            self.stopped = self.stopped or str(error)
            return Diagnosis(broke_off=str(error))
        except Exception as error:
            say(f"grucible: a diagnosis broke off: {format_own_error(error)}", err=True)
            return Diagnosis(broke_off=str(error))

    def count_pairs(self, made: Made, results: Mapping[str, CaseResult]) -> None:
        """Count the pairs of values that were asked, and the questions that could not be drawn."""
        whys = (one.why.partition(LAST)[2] or one.why for one in made.undrawn)
        self.undrawn = _count_alike(self.undrawn, Counter([*made.impossible, *whys]))
        for case in made.specs:
            result = results.get(case.id)
            if result and result.decides:
                compared = _counts(result) and result.verdict in ("passed", "failed")
                self.pairs[case.id.rsplit("/", 2)[0]].see(case.factors, compared=compared)

    def two_readings(self) -> None:
        """Make a finding of each ambiguous point on which cases follow two readings."""
        for key in [key for key in self.findings if str(key[0]).startswith(TWO)]:
            del self.findings[key]  # of parts that were merged
        for (_, ledger), followed in self.followed.items():
            if len(followed) > 1:
                count, block, result = min(followed.values(), key=lambda one: one[0])
                rest = sum(one[0] for one in followed.values()) - count
                [names] = [n for n, one in followed.items() if one[2] is result]
                words = about_reading(names) if names else "the stored one"
                about = f"{TWO} ({ledger}): {count} cases follow {words}, {rest} another"
                result = replace(result, verdict="failed", holds=(), arithmetic="")
                self.findings.add(about, about, block, result, count=count)

    def shrink(
        self,
        source: Source,
        advance: Callable[[FuzzFinding], None],
        restart: Callable[[], None] = lambda: None,
    ) -> None:
        """Shrink a few cases of each new finding, as long as there is time; say why where that fails."""
        until = time.monotonic() + ALL_SECONDS
        every = [(one, block) for one in self.new for block, _ in one.cases[:SHRINKS]]
        for one, block in every:
            seconds = min(SHRINK_SECONDS, until - time.monotonic())
            if seconds > 0:
                advance(one)
                try:
                    small = shrink(
                        block, source, self.criteria, seconds, is_known=self._is_known, restart=restart
                    )  # fmt: skip
                    one.shrunk.append(small)
                    self._explain_shrunk(source, one, small)
                    if small.interrupted:
                        raise KeyboardInterrupt
                except GrucibleError as error:
                    one.unsteady = str(error).replace(ALONE, f" when it is asked alone: {ON_MORE}")
                except Exception as error:  # nothing found is lost
                    say(f"grucible: shrinking broke off: {format_own_error(error)}", err=True)

    def _is_known(self, result: CaseResult, part: FailingBlock) -> bool:
        """Say whether wrong numbers are expected."""
        return self.findings.expectation(result, None, part) is not None

    def _explain_shrunk(self, source: Source, one: FuzzFinding, small: Shrunk) -> None:
        """Find what a shrunk case looks like if nothing explained the larger one."""
        if one.diagnosis is None and small.result.verdict == "failed":
            block = answered_block(small.question)
            observed = observe_block(source, block)
            if observed.status[0] == "ok":
                parts = failing_blocks(block, observed.outputs, self.criteria[block.dtype])
                found = self._diagnosis(source, parts, {block.ids[0]: small.result})
                one.looks_like |= {one.about: None for one in found.findings if one.certain}


def _without(ids: Container[str], parts: Iterable[FailingBlock]) -> list[FailingBlock]:
    """Leave cases out of parts."""
    kept = [(part, np.array([one not in ids for one in part.block.ids])) for part in parts]
    return [part.rows(rows) for part, rows in kept if rows.any()]


def _count_alike(known: Counter[str], more: Counter[str]) -> Counter[str]:
    """Add up counts by reason; of reasons that are alike but for numbers, the first in order stands."""
    both, found = known + more, Counter[str]()
    alike = dict[str, str]()
    for why in sorted(both):
        found[alike.setdefault(mask(why), why)] += both[why]
    return found


def _counts(one: CaseResult) -> bool:
    """Say whether a case counts: its tier does, and if it passed, its tolerances say enough to decide."""
    return one.decides and (one.verdict, one.judged_by) != ("passed", "nothing")


def fuzz(
    source: Source,
    spaces: Sequence[RandomSpace],
    criteria: Mapping[str, Criterion],
    *,
    dtypes: Sequence[str] = (),
    seed: int = 0,
    cases: int | None = None,
    seconds: float | None = None,
    shard: Shard = WHOLE,
    ranges: Iterable[tuple[int, int]] | None = None,
    jobs: int = 1,
    expectations: Sequence[Expectation] = (),
    replay: VectorSet | None = None,
    advance: Callable[[Fuzzed], None] = lambda _: None,
) -> Fuzzed:
    """Ask a runtime random questions until `cases` are asked, or `seconds` are over, or Ctrl-C.

    The questions of the spaces' operators and dtypes take turns; a `shard` is every n-th range of them,
    unless `ranges` are given. Those of `replay` are asked first, and explained with the first chunk: without
    cases that pass, all that fits would be certain. `advance` sees what was found after each chunk. `jobs`
    processes make the questions. Raises GrucibleError if no space has one of the dtypes. A later error ends
    it as well, and nothing that was found is lost.
    """
    named = source.name, source.version
    found, streams = start_fuzzing(*named, spaces, criteria, dtypes, seed, expectations)
    ranges = question_ranges(cases, shard) if ranges is None else ranges
    began = time.monotonic()
    with np.errstate(all="ignore"):
        try:
            with open_executor(jobs) as executor, saying_so():
                for rows in replay.slices() if replay else ():
                    found.ask(source, [rows.block])
                    found.replayed += len(rows.block)
                pace = found.pace if seconds else lambda: CHUNK
                for start, stop, made in _made_ahead(executor, jobs, streams, seed, ranges, pace):
                    found.count_pairs(made, found.see(source, made.blocks))
                    found.look_at(seed, start, stop)
                    found.seconds = time.monotonic() - began
                    advance(found)
                    end_if_interrupted()
                    over = seconds is not None and found.seconds >= seconds
                    if found.interrupted or found.stopped or over:
                        break
        except KeyboardInterrupt:
            found.interrupted = True
        except (GrucibleError, OSError) as error:
            if not found.asked_to + found.replayed:
                raise
            found.stopped = str(error)
        found.explain(source)
        found.two_readings()
    return found


def start_fuzzing(
    name: str,
    version: str,
    spaces: Sequence[RandomSpace],
    criteria: Mapping[str, Criterion],
    dtypes: Sequence[str],
    seed: int,
    expectations: Sequence[Expectation],
) -> tuple[Fuzzed, list[tuple[RandomSpace, str]]]:
    """Begin with nothing asked of a runtime; list the spaces and dtypes that take turns."""
    streams = [
        (space, dtype)
        for space in spaces
        for dtype in space.spec.model.dtypes
        if not dtypes or dtype in dtypes
    ]
    if not streams:
        raise GrucibleError(f"no operator to ask has {' or '.join(dtypes)}; name another --dtype")
    found = Fuzzed(name, version, seed, spaces, criteria, Findings(expectations))
    found.pairs = {space.prefix[:-1]: PairsAsked(space) for space, _ in streams}
    return found, streams


@contextmanager
def saying_so() -> Iterator[None]:
    """Say at once that Ctrl-C was seen."""
    try:
        yield
    except KeyboardInterrupt:
        say("interrupted: the report follows", err=True)
        raise


def _made_ahead(
    executor: Executor,
    jobs: int,
    streams: Sequence[tuple[RandomSpace, str]],
    seed: int,
    ranges: Iterable[tuple[int, int]],
    pace: Callable[[], int],
) -> Iterator[tuple[int, int, Made]]:
    """Yield the chunks of questions in order, each with its first number and the next; make some ahead.

    A chunk has at most `pace()` questions.
    """
    ahead: deque[tuple[int, int, Future[Made]]] = deque()
    most = _chunk(streams, seed)
    asked = split(ranges, lambda: min(most, pace()))
    while True:
        for start, stop in itertools.islice(asked, jobs + 1 - len(ahead)):
            future = executor.submit(make_random, streams, seed, start, stop)
            ahead.append((start, stop, future))
        if not ahead:
            return
        start, stop, future = ahead.popleft()
        yield start, stop, future.result()


def split(ranges: Iterable[tuple[int, int]], most: Callable[[], int]) -> Iterator[tuple[int, int]]:
    """Split ranges of numbers into chunks, each at most twice as long as the one before."""
    size = FIRST
    for start, end in ranges:
        while start < end:
            stop = min(start + min(size, most()), end)
            yield start, stop
            start, size = stop, min(2 * size, CHUNK)


def question_ranges(cases: int | None, shard: Shard) -> Iterator[tuple[int, int]]:
    """Yield the ranges of numbers, below `cases` if that is given, that a shard asks: every n-th."""
    size = CHUNK if cases is None else max(1, min(CHUNK, cases // (RANGES * shard.of)))
    size = size if shard.of > 1 else NO_END
    for start in itertools.count((shard.number - 1) * size, shard.of * size):
        if start >= (cases or NO_END):
            return
        yield start, min(start + size, cases or NO_END)


def _chunk(streams: Sequence[tuple[RandomSpace, str]], seed: int) -> int:
    """Count the questions of a chunk by the bytes of some cases."""
    sizes = []
    for (space, dtype), number in itertools.product(streams, range(4)):
        with suppress(GrucibleError):
            sizes.append(bytes_of(space.case(dtype, seed, number)))
    return max(1, min(CHUNK, CHUNK_BYTES * len(sizes) // max(1, sum(sizes))))
