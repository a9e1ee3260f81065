"""Answers that a program has written into files: to the questions of `grucible ask`, in their order.

An answer need not say whose it is. So the questions stand beside the answers, and each is held against what
the vectors ask before its answer is judged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from ...cases.console import join_lines
from ...cases.errors import VectorFileError
from ...cases.files import MOST_NAMES, files_below
from ...cases.question import Question
from ...vectors.block import Block
from ...vectors.reader import VectorFile
from ..protocol.header import ProtocolError, array_of
from ..protocol.program import Hello, OtherQuestion, answer_head, hello_of
from ..protocol.stream import ANSWERS, QUESTIONS, CutShort, Stream, exchange, open_stream
from .made_by import OfOneRuntime
from .outputs_file import FromOutputs
from .questions_file import QuestionsFile
from .source import Fault, Observed, Reply, reply_of, stacked


def outputs_at(path: Path) -> FromOutputs | FromAnswers:
    """Outputs made elsewhere: answers, where the directory `path` holds files of `grucible ask`, else outputs
    files. Raises VectorFileError where there is nothing."""
    if path.is_file() and path.suffix in (QUESTIONS, ANSWERS):
        raise VectorFileError(
            f"{path}: give the directory in which it stands, that of grucible ask"
        )
    if path.is_dir() and any(files_below(path, QUESTIONS, ANSWERS, most=MOST_NAMES)):
        return FromAnswers(path)
    return FromOutputs(path)


class FromAnswers(OfOneRuntime):
    """A `Source` that reads answers from the directory `root`, into which `ask` wrote the questions.

    Raises VectorFileError where the questions are not those of the vectors, where there are more answers
    than questions, where an answer says that it is to another, and where a hello names another program than
    that of a file before. What is absent is missing.
    """

    needs_inputs = True
    ahead = 1

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._root = root
        self._asked: QuestionsFile | None = None
        self._answers: _Answers | None = None
        self._stack = contextlib.ExitStack()

    def close(self) -> None:
        """Close the files at hand."""
        self._stack.close()

    def check_blocks(self, vectors: VectorFile) -> None:
        """Open what belongs to a vector file; VectorFileError for questions that it does not have."""
        self._stack.close()
        self._asked = self._answers = None
        files = exchange(self._root, vectors.relative)
        if files.questions.exists():
            known = {case_id for ids in vectors.ids().values() for case_id in ids}
            stream = self._stack.enter_context(open_stream(files.questions))
            self._asked = QuestionsFile(files.questions, stream, known)
            if files.answers.exists():
                stream = self._stack.enter_context(open_stream(files.answers))
                self._answers = _Answers(files.answers, stream, self._asked.questions)
                hello = self._answers.hello
                self.see(files.answers, hello.name, hello.version)

    def check_ids(self, relative: str, path: str, ids: Sequence[str]) -> None:
        """The questions of a file are held against all of its ids when it is opened."""

    def ask(self, relative: str, block: Block) -> Callable[[], Observed]:
        """Read the answers to the questions of `block`."""
        observed = stacked(block, [self._reply(relative, one) for one in block.questions()])
        return lambda: observed

    def _reply(self, relative: str, question: Question) -> Reply:
        files = exchange(self._root, relative)
        if self._asked is None:
            return Reply("missing", {}, f"there is no {files.questions}")
        number = self._asked.number(question)
        if self._answers is None:
            return Reply("missing", {}, f"there is no {files.answers}")
        if refused := self._answers.hello.refuses(question):
            return Reply("unsupported", {}, refused)
        if number is None:
            return Reply("missing", {}, f"is not asked in {files.questions}")
        return self._answers.reply(number, question)


class _Answers:
    """The answers of an open file to `questions`, as far as they can be followed."""

    def __init__(self, path: Path, stream: Stream, questions: Sequence[Question]) -> None:
        self._path, self._stream = path, stream
        self._starts: list[int] = []
        self._broken, self._absent = "", ""
        self.hello = self._greeted()
        self._follow(questions)

    def _greeted(self) -> Hello:
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
        """Find where each answer begins; stop where that can no longer be told."""
        total = len(questions)
        for number, question in enumerate(questions):
            start, whole = self._stream.at, f"{number} of {total} answers"
            if self._stream.ended:
                self._absent = f"{self._path} ends after {whole}"
                return
            self._broken = self._passed(question, f"number {number + 1} in {self._path.name}")
            if self._broken:
                self._absent = f"{self._path} cannot be followed after {whole}: see {question.id}"
                return
            self._starts.append(start)
        if not self._stream.ended:
            raise VectorFileError(
                f"{self._path}: more stands after the answers to all {total} questions; were they made "
                "for others?"
            )

    def _passed(self, question: Question, which: str) -> str:
        """Pass over an answer; what is wrong with it, "" if nothing."""
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
        """What was answered to the question of this number, or why there is no answer."""
        if number >= len(self._starts):
            first = number == len(self._starts) and self._broken
            if first:
                return Reply("error", {}, first, Fault("malformed"))
            return Reply("missing", {}, self._absent)
        self._stream.at = self._starts[number]
        head = answer_head(self._stream.lines(), question)
        outputs = {one.name: array_of(one, self._stream.data(one.bytes)) for one in head.outputs}
        return reply_of(head, outputs)
