from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import grucible
from grucible.__main__ import main

from .handmade import write_handmade

Command = Callable[..., tuple[int, str, str]]
CORE = Path(grucible.__file__).parent / "vectors"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run `grucible ARGUMENTS…` in this process: exit status, standard output, standard error."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(args=[str(argument) for argument in arguments])
        status = ended.value.code
        assert isinstance(status, int)
        return status, *capsys.readouterr()

    return run


@pytest.fixture(scope="session")
def handmade_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("handmade") / "handmade.h5"
    write_handmade(path)
    return path.read_bytes()


@pytest.fixture
def handmade(tmp_path: Path, handmade_bytes: bytes) -> Path:
    """A small vector file of this test's own, to be damaged."""
    path = tmp_path / "handmade.h5"
    path.write_bytes(handmade_bytes)
    return path
