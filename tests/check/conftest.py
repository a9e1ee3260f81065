from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from grucible.__main__ import main
from grucible.check.diagnosis import failing

from .diagnosing import remembered

HERE = Path(__file__).parent


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """Standard output as strict JSON."""
        value = strict_json(self.out)
        assert isinstance(value, dict)
        return value

    def said_in_one_line(self) -> str:
        """What stderr says, where nothing else was said and the status is 2."""
        assert (self.status, self.out) == (2, "")
        assert self.err.startswith("grucible: ")
        assert self.err.count("\n") == 1
        assert self.err.endswith("\n")
        return self.err


Command = Callable[..., Ended]


def strict_json(text: str) -> Any:
    """The value of a JSON text in which NaN and Infinity are errors, as in the standard."""

    def refuse(constant: str) -> Any:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Command:
    """Run `grucible ARGUMENTS…` in this process; what its child processes print is seen as well."""

    def run(*arguments: str | Path) -> Ended:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(args=[str(argument) for argument in arguments])
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, *capfd.readouterr())

    return run


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Diagnose core blocks in memory, remembering what variants make of them."""
    monkeypatch.setattr(failing, "variant_outputs", remembered)
