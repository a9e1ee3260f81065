"""A function that is called in the judge's own process: whatever it raises is a finding."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from grucible import Question, load_vectors, verify

from .made import answering


class _Unheard(BaseException):
    """No Exception, and nothing can be read of it."""

    def __str__(self) -> str:
        raise GeneratorExit


def _raises(_: Question) -> Any:
    raise _Unheard


def test_in_this_process_nothing_but_ctrl_c_gets_out(some_vectors: Path) -> None:
    report = verify(some_vectors, runtime=_raises)
    assert {r.verdict for r in report.results} == {"error"}


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
