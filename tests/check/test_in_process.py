"""A function that is called in the judge's own process: whatever it raises is a finding."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from grucible import Question, load_vectors, verify

from .made import answering


class _Unheard(BaseException):
    """No Exception, and nothing can be read of it."""

    def __str__(self) -> str:
        raise GeneratorExit


class _Key(str):
    def __str__(self) -> str:
        raise GeneratorExit


def _raises(_: Question) -> Any:
    raise _Unheard


def _keyed(question: Question) -> Any:
    return {_Key(name): array for name, array in question.buffers().items()}


@pytest.mark.parametrize("runtime", [_raises, _keyed])
def test_in_this_process_nothing_but_ctrl_c_gets_out(runtime: Any, some_vectors: Path) -> None:
    report = verify(some_vectors, runtime=runtime)
    assert {r.verdict for r in report.results} == {"error"}


class _Itself(str):
    """A text that stays what it is when it is made a text."""

    def __str__(self) -> str:
        return self

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    def __hash__(self) -> int:
        return hash("Ho") if self.endswith("?") else 1 // 0


class _Answer(Mapping[str, Any]):
    """Outputs under such names."""

    def __init__(self, names: list[str], outputs: dict[str, Any]) -> None:
        self._pairs = list(zip(names, outputs.values(), strict=True))

    def __getitem__(self, name: str) -> Any:
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._pairs])

    def __len__(self) -> int:
        return len(self._pairs)

    def items(self) -> Any:
        return self._pairs


@pytest.mark.parametrize(("more", "verdict"), [("", "failed"), ("?", "error")])
def test_names_are_texts_whatever_their_type_makes_of_them(
    more: str, verdict: str, some_vectors: Path
) -> None:
    def run(question: Question) -> Any:
        outputs = question.buffers()
        return _Answer([_Itself(name + more) for name in outputs], outputs)

    report = verify(some_vectors, runtime=run)
    assert {r.verdict for r in report.results} == {verdict}


def test_ctrl_c_does(some_vectors: Path) -> None:
    def interrupted(_: Question) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(some_vectors, runtime=interrupted)


def test_a_runtime_that_changes_directory(
    some_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second file is named by a relative path as the first is."""
    monkeypatch.chdir(some_vectors)
    answers = answering(some_vectors)

    def elsewhere(question: Question) -> Any:
        os.chdir(tmp_path)
        return answers(question)

    assert len(list(some_vectors.rglob("*.h5"))) > 1
    report = verify(".", runtime=elsewhere)
    assert len(report.results) == len(list(load_vectors(some_vectors)))
    assert report.verdict == "conforms"
