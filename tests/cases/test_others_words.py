"""What errors say in one line, whoever tells of them."""

from __future__ import annotations

import pytest

from grucible.cases.console import format_error, format_own_error
from grucible.cases.errors import GrucibleError
from grucible.cases.packages import needing


class Silent(ValueError):
    def __str__(self) -> str:
        raise ValueError("nothing to say")


LONG = "a\n\udc80 " + "b" * 9000 + " the cause"


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (Silent(), "Silent: an error that cannot be printed"),
        (ValueError(), "ValueError"),
        (ValueError(LONG), r"ValueError: a \udc80 bbb"),
    ],
)
def test_an_error_is_a_line_of_bounded_length_wherever_it_is_told(
    error: Exception, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GRUCIBLE_TRACEBACK", raising=False)
    with (
        pytest.raises(GrucibleError) as refused,
        needing("h5py", "none", "this"),
    ):
        raise error
    for said in (format_error(error), format_own_error(error), str(refused.value)):
        assert says in said
        assert len(said) < 1000
        assert said.isprintable()
        assert ("the cause" in said) == (says[-3:] == "bbb")
