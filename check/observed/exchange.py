"""Messages in files, where no pipe leads to a program: `grucible ask` writes questions, the program answers.

An answer need not name its question. So the questions stand beside the answers, in the order of the vectors,
and are compared with what the vectors ask. Only the current message of a file stands in memory.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ...cases.console import join_lines
from ...cases.errors import GrucibleError, VectorFileError
from ...cases.files import MOST_NAMES, files_below, whole_file, writing_to
from ...cases.question import Question
from ...vectors.reader import VectorFile
from ...vectors.vector_set import VectorSet
from ..protocol.header import (
    MOST_LINE_BYTES,
    Fault,
    OtherQuestion,
    ProtocolError,
    Reply,
    answer_head,
    header_lines,
    hello_lines,
    hello_of,
    question_parts,
    read_answer,
)
from .outputs_file import FromFiles, FromOutputs

QUESTIONS, ANSWERS = ".questions", ".answers"
_BEGINS = re.compile(rb"grucible \d")
"""The beginning of a file of questions."""
_AGAIN = "write the questions again with grucible ask, and have them answered anew"


class Exchange(NamedTuple):
    """A vector file's file of questions, and the file of the answers to them."""

    questions: Path
    answers: Path


def exchange(root: Path, relative: str) -> Exchange:
    """Name the two files in the directory `root` for the vector file at `relative`."""
    name = relative.removesuffix(".h5")
    return Exchange(root / f"{name}{QUESTIONS}", root / f"{name}{ANSWERS}")


def ask(
    vectors: VectorSet, out: Path, advance: Callable[[int], None] = lambda _: None
) -> Iterator[tuple[Exchange, int]]:
    """Write the questions of vectors into the directory `out`; yield each pair of files, with the count.

    Each vector file gives a file: the judge's side of the protocol, its hello, then question after question.
    It appears only when complete. Raises GrucibleError where it cannot be written, or where answers to other
    questions stand beside it: they would be taken for answers to the new ones.
    """
    if not vectors.wanted:
        raise vectors.nothing_selected()
    for vector_file, blocks in vectors.wanted:
        vector_file.verify_content(blocks)
        files = exchange(out, vector_file.relative)
        count = 0
        with writing_to(files.questions):
            files.questions.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(files.questions, mark=_BEGINS) as file:
            file.write(hello_lines())
            for path in blocks:
                for _, block in vector_file.block(path).selected(vectors.select):
                    for question in block.questions():
                        file.writelines(question_parts(question))
                    count += len(block)
                    advance(len(block))
            file.flush()
            _check_answers(files, Path(file.name))
        yield files, count


def _check_answers(files: Exchange, new: Path) -> None:
    """Raise GrucibleError where there are already answers, to other questions than the new ones."""
    if not files.answers.exists():
        return
    if not files.questions.exists() or not filecmp.cmp(files.questions, new, shallow=False):
        raise GrucibleError(
            f"{files.answers}: is there already, and answers other questions than these; move it away, "
            "or name another directory"
        )


class _Answers:
    """An open file of answers, which `follow` goes through one after another.

    Raises VectorFileError for a file without a hello, and for a hello that says why there are no answers.
    """

    def __init__(self, path: Path, stack: contextlib.ExitStack) -> None:
        self._path, self._file = path, _open_regular(path, stack)
        self._size = os.fstat(self._file.fileno()).st_size
        self._count, self._lost = 0, ""
        try:
            self.hello = hello_of(self._lines())
        except ProtocolError as error:
            raise VectorFileError(f"{path}: {join_lines(str(error))}") from None
        if self.hello.unusable:
            raise VectorFileError(f"{path}: {join_lines(self.hello.unusable)}")

    def _lines(self) -> list[str]:
        return header_lines(self._line)

    def _line(self) -> bytes:
        line = self._file.readline(MOST_LINE_BYTES + 1)
        if line.endswith(b"\n"):
            return line[:-1]
        if len(line) > MOST_LINE_BYTES:
            raise ProtocolError(f"a line is longer than {MOST_LINE_BYTES} bytes")
        raise ProtocolError("the file ends in the middle of a message")

    def follow(self, question: Question) -> int | Reply:
        """Pass over the next answer, which is to `question`; give its place, or why there is none.

        After an answer that breaks the protocol, the next cannot be found. Raises VectorFileError where the
        answer names another question.
        """
        place = self._file.tell()
        if not self._lost and place == self._size:
            self._lost = f"{self._path} ends after {self._count} answers"
        if self._lost:
            return Reply("missing", {}, self._lost)
        self._count += 1
        which = f"(number {self._count} in {self._path.name})"
        try:
            _, outputs = answer_head(self._lines(), question)
            end = self._file.tell() + sum(one.bytes for one in outputs)
            if end > self._size:
                raise ProtocolError("the file ends in the middle of a message")
        except OtherQuestion as error:
            why = f"is not made for these questions: {join_lines(str(error))}"
            raise VectorFileError(f"{self._path}: {why} {which}") from None
        except ProtocolError as error:
            done = self._count - 1
            self._lost = f"{self._path} cannot be followed after {done} answers: see {question.id}"
            why = f"the answers break the protocol: {join_lines(str(error))} {which}"
            return Reply("error", {}, why, Fault("malformed"))
        self._file.seek(end)
        return place

    def check_end(self) -> None:
        """Raise VectorFileError if something follows the last answer."""
        if not self._lost and self._file.tell() < self._size:
            raise VectorFileError(
                f"{self._path}: more stands after the answers to all {self._count} questions; were they made "
                "for others?"
            )

    def read(self, place: int, question: Question) -> Reply:
        """Read the answer at a place that `follow` gave."""
        self._file.seek(place)
        return read_answer(self._lines(), question, self._file.read)


def _open_regular(path: Path, stack: contextlib.ExitStack) -> BinaryIO:
    if not path.is_file():
        raise VectorFileError(f"{path}: is no regular file; expected one of messages")
    return stack.enter_context(path.open("rb"))


class FromAnswers(FromFiles):
    """A `Source` that reads answers from the directory `root`, into which `ask` wrote the questions.

    Raises VectorFileError where the questions are not those of the vectors, where there are more answers
    than questions, where an answer names another question, and where two hellos name different programs. A
    case without an answer is missing.
    """

    def __init__(self, root: Path, vectors: VectorSet) -> None:
        super().__init__(root)
        self._found: dict[str, tuple[_Answers, int] | Reply] = {}
        """The place of each question's answer, or why there is none."""
        with contextlib.ExitStack() as stack:
            for file, _ in vectors.wanted:
                self._follow(exchange(root, file.relative), file, stack)
            self._stack = stack.pop_all()

    def _follow(self, files: Exchange, vectors: VectorFile, stack: contextlib.ExitStack) -> None:
        """Go through the questions of a vector file, and find the answer to each that was asked."""
        questions, answers, why = None, None, f"there is no {files.questions}"
        if files.questions.exists():
            questions, why = _open_regular(files.questions, stack), f"there is no {files.answers}"
            if questions.read(len(hello_lines())) != hello_lines():
                raise VectorFileError(f"{files.questions}: is no file of questions; {_AGAIN}")
        if questions and files.answers.exists():
            answers, why = _Answers(files.answers, stack), f"is not asked in {files.questions}"
            self.see(files.answers, answers.hello.name, answers.hello.version)
        for path in vectors.ids():
            for question in vectors.block(path).questions():
                found: tuple[_Answers, int] | Reply = Reply("missing", {}, why)
                if questions and _is_asked(question, questions) and answers:
                    place = answers.follow(question)
                    found = place if isinstance(place, Reply) else (answers, place)
                if answers and (refused := answers.hello.refuses(question)):
                    found = Reply("unsupported", {}, refused)
                self._found[question.id] = found
        if questions and questions.read(1):
            raise VectorFileError(f"{files.questions}: asks what the vectors do not ask; {_AGAIN}")
        if answers:
            answers.check_end()

    def answer(self, questions: Iterable[Question]) -> Iterator[Reply]:
        """Yield the stored answer to each question."""
        for question in questions:
            found = self._found[question.id]
            yield found if isinstance(found, Reply) else found[0].read(found[1], question)

    def close(self) -> None:
        """Close the files."""
        self._stack.close()


def _is_asked(question: Question, asked: BinaryIO) -> bool:
    """Tell whether `question` comes next in a file of questions; if so, pass over it.

    Raises VectorFileError where it comes next, but in other bytes than would be written today.
    """
    wanted = b"".join(question_parts(question))
    found = asked.read(len(wanted))
    if found == wanted:
        return True
    if found.startswith(f"question {question.id}\n".encode()):
        raise VectorFileError(
            f"{asked.name}: {question.id} is not asked as the vectors ask it; {_AGAIN}"
        )
    asked.seek(-len(found), os.SEEK_CUR)
    return False


def outputs_at(path: Path, vectors: VectorSet) -> FromOutputs | FromAnswers:
    """Open outputs made elsewhere, and check that their cases are those of `vectors`.

    If the directory `path` holds files of `grucible ask`, answers are read, else outputs files. Raises
    VectorFileError where there is nothing, and where the outputs do not belong to the vectors.
    """
    if path.is_dir() and any(files_below(path, QUESTIONS, ANSWERS, most=MOST_NAMES)):
        return FromAnswers(path, vectors)
    return FromOutputs(path, vectors)
