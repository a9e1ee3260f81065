"""Files are read up to a limit, replaced whole, and only where grucible wrote them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from grucible.cases.errors import GrucibleError, SpecError
from grucible.cases.files import (
    check_apart,
    check_replaceable,
    files_below,
    read_limited,
    whole_file,
    write_whole,
)

OURS = b"# ours\n"


def test_reading_is_limited(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"12345")
    assert read_limited(file, 5) == b"12345"
    with pytest.raises(SpecError, match=r"a: is larger than 4 bytes; take less$"):
        read_limited(file, 4, SpecError, "take less")
    os.mkfifo(tmp_path / "pipe")
    for name, says in (
        ("pipe", "is no regular file"), (".", "is no regular file"), ("none", "there is no such file"), ("\0", "null"),
    ):  # fmt: skip
        with pytest.raises(GrucibleError, match=says):
            read_limited(tmp_path / name, 5)


def test_a_file_beside_the_one_that_is_not_there_is_suggested(tmp_path: Path) -> None:
    for name in ("known.yaml", "knownx.json"):
        (tmp_path / name).touch()
    with pytest.raises(SpecError, match=r"knownx\.yaml: .*file \(did you mean 'known\.yaml'\?\)$"):
        read_limited(tmp_path / "knownx.yaml", 5, SpecError, "take less")


def test_files_below_a_directory_are_found_once(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").mkdir()
    (tmp_path / "x.yaml" / "b.yml").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    assert len(list(files_below(tmp_path, ".yaml", ".yml"))) == 1
    with pytest.raises(GrucibleError, match="more than 2 files and directories are below it; name"):
        list(files_below(tmp_path, ".yml", most=2))


@pytest.mark.parametrize("there", [None, "", "# ours\nold", "mine\n"])
@pytest.mark.parametrize("force", [False, True])
def test_only_ours_is_replaced(there: str | None, force: bool, tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(file)
    if there is not None:
        file.write_text(there)
        file.chmod(0o640)
    if there == "mine\n" and not force:
        for path in (file, link):
            with pytest.raises(GrucibleError, match=r"is there already, .* name another place"):
                write_whole(path, "# ours\nnew", mark=OURS)
        assert file.read_text() == "mine\n"
        return
    write_whole(link, "# ours\nnew", mark=OURS, force=force)
    assert file.read_text() == "# ours\nnew"
    assert link.is_symlink()
    assert there is None or stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(tmp_path.iterdir()) == [file, link]


def _break_off(file: Path, error: BaseException | type[BaseException]) -> None:
    with whole_file(file, mark=OURS) as new:
        new.write(b"half")
        raise error


def test_what_was_there_stays_where_writing_fails(tmp_path: Path) -> None:
    file = tmp_path / ("a" * 250)
    file.write_bytes(OURS)
    for error in (KeyboardInterrupt, OSError(28, "No space left on device")):
        with pytest.raises((KeyboardInterrupt, GrucibleError)):
            _break_off(file, error)
    assert file.read_bytes() == OURS
    assert list(tmp_path.iterdir()) == [file]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    for path, says in (
        (tmp_path, "is a directory; expected a file"),
        (tmp_path / "none" / "file", "there is no directory"),
    ):
        with pytest.raises(GrucibleError, match=says):
            check_replaceable(path, OURS)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(GrucibleError, match=r"--a and --b: .*file is named twice"):
        check_apart([("--a", tmp_path / "link"), ("--b", tmp_path / "file")])
