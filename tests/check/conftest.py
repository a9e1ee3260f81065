from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from grucible.__main__ import main
from grucible.check.observed import pool
from grucible.check.observed.source import FromRuntime
from grucible.check.runtimes.runtime import load_runtime

from .made import name_of, write_some_vectors

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

    def asked_once(self) -> Ended:
        """The same, had stored outputs been judged: no runtime is named, and none is asked again."""
        again = f'"asked_again": {self.report["asked_again"]},'
        assert self.out.count(again) == 1
        stored = self.out.replace(again, '"asked_again": 0,')
        named = f'"asked": {json.dumps(self.report["asked"])},'
        return self._replace(out=stored.replace(named, '"asked": "",'))

    @property
    def cases(self) -> dict[str, dict[str, Any]]:
        """The report's cases, by the names they were made with, in order."""
        found = {name_of(case["id"]): case for case in self.report["cases"]}
        assert len(found) == len(self.report["cases"])
        return found

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


class _InThisProcess(FromRuntime):
    """What the commands ask, in place of child processes."""

    def __init__(self, name: str, *_: object) -> None:
        super().__init__(load_runtime(name))


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run runtimes in this process, where their isolation is not what is tested."""
    monkeypatch.setattr(pool, "RuntimePool", _InThisProcess)


@pytest.fixture(scope="session")
def _some_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("some") / "vectors"
    write_some_vectors(root)
    return root


@pytest.fixture
def some_vectors(_some_vectors: Path, tmp_path: Path) -> Path:
    """The files of `write_some_vectors`, this test's own."""
    return shutil.copytree(_some_vectors, tmp_path / "vectors")


def bad_usage(ended: Ended, says: str) -> None:
    """One line that begins with our name."""
    assert (ended.status, ended.out) == (2, "")
    assert re.fullmatch(r"grucible: [^\n]+\n", ended.err), ended.err
    assert re.search(says, ended.err), ended.err


def grucible_in(
    folder: Path, *arguments: object, **options: Any
) -> subprocess.CompletedProcess[str]:
    """The installed command, run in a folder: `python -m` would look for modules there."""
    code = "import sys; from grucible.__main__ import main; main()"
    command = [sys.executable, "-P", "-c", code, *map(str, arguments)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, **options
    )
