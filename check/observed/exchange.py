"""Messages in files, where no pipe leads to a program: `grucible ask` writes questions, it writes answers.

An answer need not name its question. So the questions stand beside the answers, and each is compared with
what the vectors ask before its answer is judged. Nothing of a file is kept but the message at hand.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

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
    parsed,
    question_of,
    question_parts,
)
from .outputs_file import FromFiles, FromOutputs
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


class AskedFiles(NamedTuple):
    """A file of questions that was written, with their number and its size in bytes."""

    files: Exchange
    questions: int
    bytes: int


def ask(
    vectors: VectorSet, out: Path, advance: Callable[[int], None] = lambda _: None
) -> Iterator[AskedFiles]:
    """Write the questions of a set of vectors into the directory `out`; yield what was written.

    Each vector file gives a file: the judge's side of the protocol, its hello, then question after question.
    It appears whole. Raises GrucibleError where it cannot be written, and where answers to other questions
    stand beside its place: with new ones they would be taken for theirs.
    """
    if not vectors.wanted:
        raise nothing_selected(vectors.select)
    for vector_file, blocks in vectors.wanted:
        vector_file.verify_content(blocks)
        files = exchange(out, vector_file.relative)
        count = 0
        with writing_to(files.questions):
            files.questions.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(files.questions, mark=_BEGINS) as file:
            size = file.write(hello_lines())
            for path in blocks:
                for _, block in vector_file.block(path).selected(vectors.select):
                    for question in block.questions():
                        size += sum(map(file.write, question_parts(question)))
                        count += 1
                    advance(len(block))
            file.flush()
            _check_answers(files, Path(file.name))
        yield AskedFiles(files, count, size)


def _check_answers(files: Exchange, new: Path) -> None:
    """Raise GrucibleError where answers are there, and not to the new questions."""
    if not files.answers.exists():
        return
    if not files.questions.exists() or not filecmp.cmp(files.questions, new, shallow=False):
        raise GrucibleError(
            f"{files.answers}: is there already, and answers other questions than these; move it away, "
            "or name another directory"
        )


class _CutShort(ProtocolError):
    """The file ends in the middle of a message."""


class _Messages:
    """An open file of messages; VectorFileError for what is no regular file, such as a pipe."""

    def __init__(self, path: Path, stack: contextlib.ExitStack) -> None:
        if not path.is_file():
            raise VectorFileError(f"{path}: is no regular file; expected one of messages")
        self.path, self.file = path, stack.enter_context(path.open("rb"))
        self._size = os.fstat(self.file.fileno()).st_size

    def left(self) -> int:
        """How many bytes are left."""
        return self._size - self.file.tell()

    def lines(self) -> list[str]:
        """Read the lines of a header, without its `end`. Raises ProtocolError."""
        return header_lines(self._line)

    def _line(self) -> bytes:
        line = self.file.readline(MOST_LINE_BYTES + 1)
        if line.endswith(b"\n"):
            return line[:-1]
        if len(line) > MOST_LINE_BYTES:
            raise ProtocolError(f"a line is longer than {MOST_LINE_BYTES} bytes")
        raise _CutShort

    def skip(self, count: int) -> None:
        """Pass over `count` bytes; _CutShort where there are fewer."""
        if count > self.left():
            raise _CutShort
        self.file.seek(count, os.SEEK_CUR)


class _Questions:
    """The questions of a file, in order and without their inputs, and the bytes that each is.

    Raises VectorFileError for what is no such file, and for a question that the vectors lack.
    """

    def __init__(self, messages: _Messages, vectors: VectorFile) -> None:
        self._messages = messages
        self.questions: list[Question] = []
        self._places: dict[str, tuple[int, int, int]] = {}
        """By id, the number of a question, and the first and the last of its bytes."""
        known = {case_id for ids in vectors.ids().values() for case_id in ids}
        try:
            check_hello(parsed(messages.lines()))
            while messages.left():
                start = messages.file.tell()
                question, inputs = question_of(messages.lines())
                messages.skip(sum(one.bytes for one in inputs))
                if question.id not in known:
                    raise self._refuse(f"{question.id} is not a case of the vectors")
                if question.id in self._places:
                    raise self._refuse(f"asks {question.id} twice")
                place = len(self.questions), start, messages.file.tell()
                self._places[question.id] = place
                self.questions.append(question)
        except _CutShort:
            raise self._refuse("is cut short") from None
        except (ProtocolError, KeyError, ValueError):
            raise self._refuse("is no file of questions") from None

    def _refuse(self, why: str) -> VectorFileError:
        return VectorFileError(f"{self._messages.path}: {why}; {_AGAIN}")

    def number(self, question: Question) -> int | None:
        """Find the number of a question of the vectors, from 0; None where it is not asked.

        Raises VectorFileError where it is asked, and not in the bytes that would be written today.
        """
        if question.id not in self._places:
            return None
        number, start, stop = self._places[question.id]
        wanted = b"".join(question_parts(question))
        self._messages.file.seek(start)
        if len(wanted) != stop - start or self._messages.file.read(len(wanted)) != wanted:
            raise self._refuse(f"{question.id} is not asked as the vectors ask it")
        return number


class _Answers:
    """The answers of a file to `questions`, as far as they can be followed."""

    def __init__(self, messages: _Messages, questions: Sequence[Question]) -> None:
        self._messages, self._path = messages, messages.path
        self._starts: list[int] = []
        self._broken, self._absent = "", ""
        self.hello = self._read_hello()
        self._follow(questions)

    def _read_hello(self) -> Hello:
        try:
            hello = hello_of(self._messages.lines())
        except ProtocolError as error:
            cut = "ends before its hello does; expected the line `grucible 1` first"
            why = cut if isinstance(error, _CutShort) else join_lines(str(error))
            raise VectorFileError(f"{self._path}: {why}") from None
        if hello.unusable:
            raise VectorFileError(f"{self._path}: {join_lines(hello.unusable)}")
        return hello

    def _follow(self, questions: Sequence[Question]) -> None:
        """Find where each answer begins; stop where nobody can know any more."""
        for number, question in enumerate(questions):
            start, whole = self._messages.file.tell(), f"{number} of {len(questions)} answers"
            if not self._messages.left():
                self._absent = f"{self._path} ends after {whole}"
                return
            which = f"(number {number + 1} in {self._path.name})"
            try:
                self._messages.skip(answer_head(self._messages.lines(), question).bytes)
            except _CutShort:
                self._broken = f"the answers end in the middle of this one {which}"
            except OtherQuestion as error:
                why = f"is not made for these questions: {join_lines(str(error))}"
                raise VectorFileError(f"{self._path}: {why} {which}") from None
            except ProtocolError as error:
                self._broken = f"the answers break the protocol: {join_lines(str(error))} {which}"
            if self._broken:
                self._absent = f"{self._path} cannot be followed after {whole}: see {question.id}"
                return
            self._starts.append(start)
        if self._messages.left():
            raise VectorFileError(
                f"{self._path}: more stands after the answers to all {len(questions)} questions; were they "
                "made for others?"
            )

    def reply(self, number: int, question: Question) -> Reply:
        """Read the answer to the question of this number, or why there is none."""
        if number >= len(self._starts):
            if self._broken and number == len(self._starts):
                return Reply("error", {}, self._broken, Fault("malformed"))
            return Reply("missing", {}, self._absent)
        self._messages.file.seek(self._starts[number])
        head = answer_head(self._messages.lines(), question)
        read = self._messages.file.read
        return make_reply(head, {one.name: array_of(one, read(one.bytes)) for one in head.outputs})


class _Opened(NamedTuple):
    """The exchange of a vector file, and what is in its files, as far as they are there."""

    files: Exchange
    questions: _Questions | None
    answers: _Answers | None

    def reply(self, question: Question) -> Reply:
        """Read the answer to a question, or why there is none."""
        number = self.questions.number(question) if self.questions else None
        if self.questions is None:
            why = f"there is no {self.files.questions}"
        elif self.answers is None:
            why = f"there is no {self.files.answers}"
        elif refused := self.answers.hello.refuses(question):
            return Reply("unsupported", {}, refused)
        elif number is None:
            why = f"is not asked in {self.files.questions}"
        else:
            return self.answers.reply(number, question)
        return Reply("missing", {}, why)


class FromAnswers(FromFiles):
    """A `Source` that reads answers from the directory `root`, into which `ask` wrote the questions.

    Raises VectorFileError where the questions are not those of the vectors, where there are more answers
    than questions, where an answer names another question, and where a hello names another program than that
    of a file before. What is absent is missing.
    """

    def __init__(self, root: Path, vectors: VectorSet) -> None:
        super().__init__(root)
        self._of: dict[str, _Opened] = {}
        """By question, and by operator and theme for what is in no file."""
        with contextlib.ExitStack() as stack:
            for file, _ in vectors.wanted:
                opened = self._open(exchange(root, file.relative), file, stack)
                ids = [one.id for one in opened.questions.questions] if opened.questions else []
                self._of |= dict.fromkeys([file.prefix, *ids], opened)
            self._stack = stack.pop_all()

    def _open(self, files: Exchange, vectors: VectorFile, stack: contextlib.ExitStack) -> _Opened:
        if not files.questions.exists():
            return _Opened(files, None, None)
        questions = _Questions(_Messages(files.questions, stack), vectors)
        if not files.answers.exists():
            return _Opened(files, questions, None)
        answers = _Answers(_Messages(files.answers, stack), questions.questions)
        self.see(files.answers, answers.hello.name, answers.hello.version)
        return _Opened(files, questions, answers)

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        """Yield the stored answer to each question."""
        for question in questions:
            theme = self._of[f"{question.operator}/{question.theme}/"]
            yield self._of.get(question.id, theme).reply(question)

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
