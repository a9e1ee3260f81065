"""Messages in files, where no pipe leads to a program: `grucible ask` writes questions, it writes answers.

An answer need not name its question. So the questions stand beside the answers, and each is compared with
what the vectors ask before its answer is judged. Nothing of a file is kept but the message at hand.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ...cases.console import join_lines
from ...cases.errors import GrucibleError, VectorFileError
from ...cases.files import MOST_NAMES, files_below, whole_file, writing_to
from ...cases.question import Question
from ...cases.selection import nothing_selected
from ...vectors.reader import VectorFile
from ...vectors.vector_set import VectorSet
from ..protocol.header import (
    MOST_LINE_BYTES,
    Hello,
    OtherQuestion,
    ProtocolError,
    answer_head,
    array_of,
    check_hello,
    header_lines,
    hello_lines,
    hello_of,
    line_too_long,
    parsed,
    question_of,
    question_parts,
)
from .outputs_file import FromOutputs, Maker
from .source import Fault, Reply, make_reply

QUESTIONS, ANSWERS = ".questions", ".answers"
_BEGINS = re.compile(rb"grucible \d")
"""What a file of questions begins with."""
_AGAIN = "write the questions again with grucible ask, and have them answered anew"


class Exchange(NamedTuple):
    """The file of the questions of a vector file, and that of the answers to them."""

    questions: Path
    answers: Path


def exchange(root: Path, relative: str) -> Exchange:
    """Name the files in a directory for the vector file at `relative`."""
    name = relative.removesuffix(".h5")
    return Exchange(root / f"{name}{QUESTIONS}", root / f"{name}{ANSWERS}")


class Asked(NamedTuple):
    """A file of questions that was written, with their number and its size in bytes."""

    files: Exchange
    questions: int
    bytes: int


def ask(
    vectors: VectorSet,
    out: Path,
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Asked]:
    """Write the questions of a set of vectors into the directory `out`; yield what was written.

    Each vector file gives a file: the judge's side of the protocol, its hello, then question after question.
    It appears whole. Raises GrucibleError where it cannot be written, and where answers to other questions
    stand beside its place: with new ones they would be taken for theirs.
    """
    if not vectors.wanted:
        raise nothing_selected(vectors.select)
    for file, blocks in vectors.wanted:
        file.verify_content(blocks)
        yield _write(file, blocks, exchange(out, file.relative), vectors.select, advance)


def _write(
    vectors: VectorFile,
    blocks: Iterable[str],
    files: Exchange,
    select: Sequence[str],
    advance: Callable[[int], None],
) -> Asked:
    count = size = 0
    with writing_to(files.questions):
        files.questions.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(files.questions, mark=_BEGINS) as file:
        size += file.write(hello_lines())
        for path in blocks:
            for _, block in vectors.block(path).selected(select):
                for question in block.questions():
                    size += sum(map(file.write, question_parts(question)))
                    count += 1
                advance(len(block))
        file.flush()
        _check_answers(files, Path(file.name))
    return Asked(files, count, size)


def _check_answers(files: Exchange, new: Path) -> None:
    """Raise GrucibleError where answers are there, and not to the new questions."""
    if not files.answers.exists():
        return
    if not files.questions.exists() or not filecmp.cmp(files.questions, new, shallow=False):
        raise GrucibleError(
            f"{files.answers}: is there already, and answers other questions than these; move it away, "
            "or name another directory"
        )


class CutShort(Exception):
    """The file ends in the middle of a message."""


class Stream:
    """An open file of messages; `at` is the byte at which the next thing is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._size = file, os.fstat(file.fileno()).st_size
        self.at = 0

    @property
    def ended(self) -> bool:
        """Whether nothing is left."""
        return self.at >= self._size

    def lines(self) -> list[str]:
        """Read the lines of the header at `at`, without its `end`. Raises CutShort and ProtocolError."""
        self._file.seek(self.at)
        return header_lines(self._line)

    def _line(self) -> bytes:
        line = self._file.readline(MOST_LINE_BYTES + 1)
        self.at += len(line)
        if line.endswith(b"\n"):
            return line[:-1]
        if len(line) > MOST_LINE_BYTES:
            raise line_too_long()
        raise CutShort

    def skip(self, count: int) -> None:
        """Pass over `count` bytes; CutShort where there are fewer."""
        if count > self._size - self.at:
            raise CutShort
        self.at += count

    def data(self, count: int) -> bytes:
        """Read the next `count` bytes; CutShort where there are fewer."""
        start = self.at
        self.skip(count)
        self._file.seek(start)
        data = self._file.read(count)
        if len(data) < count:
            raise CutShort
        return data


@contextlib.contextmanager
def open_stream(path: Path) -> Iterator[Stream]:
    """Open the regular file at `path`; VectorFileError for what is none, such as a pipe."""
    if not path.is_file():
        raise VectorFileError(f"{path}: is no regular file; expected one of messages")
    with path.open("rb") as file:
        yield Stream(file)


class _Place(NamedTuple):
    """Where a question stands: its number from 0, and its bytes `start` … `stop`."""

    number: int
    start: int
    stop: int


class _Questions:
    """The questions of an open file, in order and without their inputs.

    Raises VectorFileError for what is no such file, and for a question that is none of the `known` ids.
    """

    def __init__(self, path: Path, stream: Stream, known: Collection[str]) -> None:
        self.path, self._stream = path, stream
        self.questions: list[Question] = []
        self._places: dict[str, _Place] = {}
        try:
            check_hello(parsed(stream.lines()))
            while not stream.ended:
                self._read_one(known)
        except CutShort:
            raise VectorFileError(f"{path}: is cut short; {_AGAIN}") from None
        except (ProtocolError, KeyError, ValueError):
            raise VectorFileError(f"{path}: is no file of questions; {_AGAIN}") from None

    def _read_one(self, known: Collection[str]) -> None:
        start = self._stream.at
        question, inputs = question_of(self._stream.lines())
        self._stream.skip(sum(one.bytes for one in inputs))
        if question.id not in known:
            raise VectorFileError(
                f"{self.path}: {question.id} is not a case of the vectors; {_AGAIN}"
            )
        if question.id in self._places:
            raise VectorFileError(f"{self.path}: asks {question.id} twice; {_AGAIN}")
        self._places[question.id] = _Place(len(self.questions), start, self._stream.at)
        self.questions.append(question)

    def number(self, question: Question) -> int | None:
        """Find the number of a question of the vectors, from 0; None where it is not asked.

        Raises VectorFileError where it is asked, and not in the bytes that would be written today.
        """
        place = self._places.get(question.id)
        if place is None:
            return None
        wanted = b"".join(question_parts(question))
        self._stream.at = place.start
        if len(wanted) != place.stop - place.start or self._stream.data(len(wanted)) != wanted:
            raise VectorFileError(
                f"{self.path}: {question.id} is not asked as the vectors ask it; {_AGAIN}"
            )
        return place.number


class _Answers:
    """The answers of an open file to `questions`, as far as they can be followed."""

    def __init__(self, path: Path, stream: Stream, questions: Sequence[Question]) -> None:
        self._path, self._stream = path, stream
        self._starts: list[int] = []
        self._broken, self._absent = "", ""
        self.hello = self._read_hello()
        self._follow(questions)

    def _read_hello(self) -> Hello:
        try:
            hello = hello_of(self._stream.lines())
        except CutShort:
            why = "ends before its hello does; expected the line `grucible 1` first"
            raise VectorFileError(f"{self._path}: {why}") from None
        except ProtocolError as error:
            raise VectorFileError(f"{self._path}: {join_lines(str(error))}") from None
        if hello.unusable:
            raise VectorFileError(f"{self._path}: {join_lines(hello.unusable)}")
        return hello

    def _follow(self, questions: Sequence[Question]) -> None:
        """Find where each answer begins; stop where nobody can know any more."""
        total = len(questions)
        for number, question in enumerate(questions):
            start, whole = self._stream.at, f"{number} of {total} answers"
            if self._stream.ended:
                self._absent = f"{self._path} ends after {whole}"
                return
            self._broken = self._pass_over(question, f"number {number + 1} in {self._path.name}")
            if self._broken:
                self._absent = f"{self._path} cannot be followed after {whole}: see {question.id}"
                return
            self._starts.append(start)
        if not self._stream.ended:
            raise VectorFileError(
                f"{self._path}: more stands after the answers to all {total} questions; were they made "
                "for others?"
            )

    def _pass_over(self, question: Question, which: str) -> str:
        """Pass over an answer; say what is wrong with it, "" if nothing."""
        try:
            self._stream.skip(answer_head(self._stream.lines(), question).bytes)
        except CutShort:
            return f"the answers end in the middle of this one ({which})"
        except OtherQuestion as error:
            raise VectorFileError(
                f"{self._path}: is not made for these questions: {join_lines(str(error))} ({which})"
            ) from None
        except ProtocolError as error:
            return f"the answers break the protocol: {join_lines(str(error))} ({which})"
        return ""

    def reply(self, number: int, question: Question) -> Reply:
        """Read the answer to the question of this number, or why there is none."""
        if number >= len(self._starts):
            if self._broken and number == len(self._starts):
                return Reply("error", {}, self._broken, Fault("malformed"))
            return Reply("missing", {}, self._absent)
        self._stream.at = self._starts[number]
        head = answer_head(self._stream.lines(), question)
        outputs = {one.name: array_of(one, self._stream.data(one.bytes)) for one in head.outputs}
        return make_reply(head, outputs)


class _Opened(NamedTuple):
    """The exchange of a vector file, and what is in its files, as far as they are there."""

    files: Exchange
    questions: _Questions | None
    answers: _Answers | None

    def reply(self, question: Question) -> Reply:
        """Read the answer to a question, or why there is none."""
        if self.questions is None:
            return Reply("missing", {}, f"there is no {self.files.questions}")
        number = self.questions.number(question)
        if self.answers is None:
            return Reply("missing", {}, f"there is no {self.files.answers}")
        if refused := self.answers.hello.refuses(question):
            return Reply("unsupported", {}, refused)
        if number is None:
            return Reply("missing", {}, f"is not asked in {self.files.questions}")
        return self.answers.reply(number, question)


class FromAnswers:
    """A `Source` that reads answers from the directory `root`, into which `ask` wrote the questions.

    Raises VectorFileError where the questions are not those of the vectors, where there are more answers
    than questions, where an answer names another question, and where a hello names another program than that
    of a file before. What is absent is missing.
    """

    def __init__(self, root: Path, vectors: VectorSet) -> None:
        self._maker = Maker(root)
        self._opened: dict[str, _Opened] = {}
        self._of_theme: dict[str, _Opened] = {}
        with contextlib.ExitStack() as stack:
            for file, _ in vectors.wanted:
                opened = self._open(exchange(root, file.relative), file, stack)
                self._of_theme[file.prefix] = opened
                for question in opened.questions.questions if opened.questions else ():
                    self._opened[question.id] = opened
            self._stack = stack.pop_all()

    def _open(self, files: Exchange, vectors: VectorFile, stack: contextlib.ExitStack) -> _Opened:
        if not files.questions.exists():
            return _Opened(files, None, None)
        known = {case_id for ids in vectors.ids().values() for case_id in ids}
        stream = stack.enter_context(open_stream(files.questions))
        questions = _Questions(files.questions, stream, known)
        if not files.answers.exists():
            return _Opened(files, questions, None)
        stream = stack.enter_context(open_stream(files.answers))
        answers = _Answers(files.answers, stream, questions.questions)
        self._maker.see(files.answers, answers.hello.name, answers.hello.version)
        return _Opened(files, questions, answers)

    @property
    def name(self) -> str:
        """The name of the program that wrote the answers."""
        return self._maker.name

    @property
    def version(self) -> str:
        """The version of that program."""
        return self._maker.version

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        """Yield the stored answer to each question."""
        for question in questions:
            theme = self._of_theme[f"{question.operator}/{question.theme}/"]
            yield self._opened.get(question.id, theme).reply(question)

    def finish(self) -> Reply | None:
        """Nothing ends."""
        return None

    def close(self) -> None:
        """Close the files."""
        self._stack.close()


def outputs_at(path: Path, vectors: VectorSet) -> FromOutputs | FromAnswers:
    """Open outputs made elsewhere, and compare which cases they have with `vectors`.

    They are answers where the directory `path` holds files of `grucible ask`, else outputs files. Raises
    VectorFileError where there is nothing, and where they do not belong to the vectors.
    """
    if path.is_file() and path.suffix in (QUESTIONS, ANSWERS):
        raise VectorFileError(
            f"{path}: give the directory in which it stands, that of grucible ask"
        )
    if path.is_dir() and any(files_below(path, QUESTIONS, ANSWERS, most=MOST_NAMES)):
        return FromAnswers(path, vectors)
    return FromOutputs(path, vectors)
