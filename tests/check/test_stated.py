"""What a vector file states of its cases is held against them: tiers, readings, attributes."""

from __future__ import annotations

from .conftest import HERE, Command

NUMPY = f"{HERE / 'numpy_gru.py'}:run"


def test_a_share_is_a_number(command: Command) -> None:
    said = command("check", "--recompute", "nan", "--runtime", NUMPY).said_in_one_line()
    assert "nan is not a share" in said
