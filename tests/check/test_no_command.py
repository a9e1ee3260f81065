"""What is printed in a run of GitHub Actions is no workflow command."""

from __future__ import annotations

import pytest

from .conftest import Command


@pytest.mark.parametrize("variable", ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"])
def test_either_variable_of_github_guards_what_is_printed(
    variable: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    words = ("compare", "##[error]a", "::error::b")
    assert "##[error]a" in command(*words).said_in_one_line()
    monkeypatch.setenv(variable, "true")
    assert r"##\x5berror]a" in command(*words).said_in_one_line()
