"""Files of questions, as `grucible ask` writes them: which are in one, and whether they are the vectors'."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from ...cases.errors import VectorFileError
from ...cases.question import Question
from ..protocol.header import ProtocolError, check_hello, parsed, question_of, question_parts
from ..protocol.stream import CutShort, Stream

_AGAIN = "write the questions again with grucible ask, and have them answered anew"


class _Place(NamedTuple):
    """Where a question stands: it is number `number` from 0, and has the bytes `start` … `stop`."""

    number: int
    start: int
    stop: int


class QuestionsFile:
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
        """The number of a question of the vectors, from 0; None where it is not asked.

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
