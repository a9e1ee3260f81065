"""Arguments of the Python API of other types than are expected: one sentence that names the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grucible import GrucibleError, Question, judge, load_vectors, trace, verify
from grucible import pytest as for_pytest

PLAIN = "openvino.GRUCell-3/plain/float32/lbr"


def run(question: Question) -> Any:
    return question.buffers()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: judge(None, {}), "case is of type NoneType; expected a grucible.Case"),  # type: ignore[arg-type]
        (lambda: trace("a"), "case is of type str; expected a grucible.Case"),  # type: ignore[arg-type]
        (lambda: verify(runtime="openvino"), "runtime is of type str; expected a function"),  # type: ignore[arg-type]
        (lambda: verify(runtime=run, require=b"x"), r"require\[0\] is of type int; expected a text"),  # type: ignore[arg-type]
        (lambda: verify(runtime=run, arithmetic=[1]), r"arithmetic\[0\] is of type int; expected a text"),  # type: ignore[list-item]
        (lambda: verify(runtime=run, select=None), "select is of type NoneType; expected several of a text"),  # type: ignore[arg-type]
        (lambda: verify(runtime=run, expectations="x"), r"expectations\[0\] is of type str; expected a"),  # type: ignore[arg-type]
        (lambda: for_pytest.load(expect=[1]), r"expect\[0\] is of type int; expected a grucible.Expect"),  # type: ignore[list-item]
        (lambda: list(load_vectors(select=1.5)), "select is of type float; expected several of a text"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_another_type_is_refused_by_name(call: Any, says: str) -> None:
    with pytest.raises(TypeError, match=f"^{says}"):
        call()


@pytest.mark.parametrize("given", ["x", 10**400, np.ones(2), -1.0, float("nan"), 1j])
def test_a_tolerance_is_a_number(given: Any) -> None:
    with pytest.raises(GrucibleError, match=r"^--rtol is .{1,410}; expected a finite number, not"):
        verify(runtime=run, rtol=given)


def test_numbers_and_arrays_of_texts_are_as_good_as_python_s_own() -> None:
    select: Any = np.array([PLAIN])
    report = verify(runtime=run, select=select, rtol=np.float32(0.5), atol=1)  # type: ignore[arg-type]
    assert report.counts == {"failed": 1}
