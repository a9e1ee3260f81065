"""Bad vector files: each gives VectorFileError, and on the command line one line and status 2."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest

from grucible import load_vectors
from grucible.cases.errors import VectorFileError
from grucible.cases.expansion.counts import MOST_CASES
from grucible.vectors import block_reader, digest
from grucible.vectors.hdf5.folder import MOST_NAMES, Folder, Room
from grucible.vectors.hdf5.stored import MOST_ROWS, Stored

from .conftest import Command
from .damage import DAMAGES, ELSEWHERE, FLIPS, LAST, Damage
from .handmade import AMBIGUOUS, BIDIRECTIONAL, REQUIRED, HandmadeBlock


def ids_of(damages: list[Damage]) -> list[str]:
    return [damage.name for damage in damages]


def check_one_line(status: int, out: str, err: str, path: Path, says: str) -> None:
    assert (status, out) == (2, "")
    assert re.fullmatch(r"grucible: [^\n]+\n", err), err
    assert str(path) in err
    assert re.search(says, err), err


def test_undamaged(handmade: Path, command: Command) -> None:
    assert len(list(load_vectors(handmade))) == 7
    status, out, err = command("check", handmade, "--outputs", handmade.parent / "none")
    assert (status, out) == (2, "")
    assert err == f"grucible: {handmade.parent}/none: no such file or directory; expected outputs\n"


@pytest.mark.rows(3)
@pytest.mark.parametrize("damage", DAMAGES + LAST, ids=ids_of(DAMAGES + LAST))
def test_load_vectors_refuses(damage: Damage, handmade: Path) -> None:
    damage(handmade)
    with pytest.raises(VectorFileError) as refused:
        list(load_vectors(handmade))
    assert str(handmade) in str(refused.value)
    assert re.search(damage.says, str(refused.value)), refused.value


@pytest.mark.rows(3)
@pytest.mark.parametrize("damage", DAMAGES + LAST + FLIPS, ids=ids_of(DAMAGES + LAST + FLIPS))
def test_check_refuses_in_one_line(
    damage: Damage, handmade: Path, tmp_path: Path, command: Command
) -> None:
    damage(handmade)
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    says = damage.says if damage.signed or damage in FLIPS else ""
    check_one_line(*command("check", handmade, "--outputs", outputs), handmade, says)


@pytest.mark.parametrize("damage", ELSEWHERE, ids=ids_of(ELSEWHERE))
def test_show_does_not_read_what_it_is_not_asked_for(
    damage: Damage, handmade: Path, command: Command
) -> None:
    damage(handmade)
    status, out, err = command("show", handmade, REQUIRED.ids()[0])
    assert (status, out.splitlines()[0], err) == (0, REQUIRED.ids()[0], "")


SHOWN = [damage for damage in DAMAGES if damage not in ELSEWHERE]


@pytest.mark.rows(3)
@pytest.mark.parametrize("damage", SHOWN, ids=ids_of(SHOWN))
def test_show_refuses_in_one_line(damage: Damage, handmade: Path, command: Command) -> None:
    damage(handmade)
    check_one_line(*command("show", handmade, "*forward-a"), handmade, damage.says)


class Many:
    """A group that says how many things it holds, and holds more."""

    def __init__(self, says: int) -> None:
        self.says, self.listed, self.links = says, 0, self

    def get_num_objs(self) -> int:
        return self.says

    def iterate(self, each: Callable[[bytes, Any], object], **_: object) -> None:
        while each(b"%d" % self.listed, self) is None:
            self.listed += 1
            assert self.listed < 10 * MOST_NAMES, "is listed to its end"

    type = h5py.h5l.TYPE_SOFT


@pytest.mark.parametrize(("says", "listed"), [(400_000, 0), (3, MOST_NAMES)])
def test_a_group_is_listed_no_further_than_it_may_hold(says: int, listed: int) -> None:
    group = Many(says)
    folder = Folder(group, "f.h5: /float32", Room(0))
    with pytest.raises(VectorFileError, match=r"/float32: holds \d+ things; expected at most 4096"):
        _ = folder.names
    assert group.listed == listed


def test_the_chunks_of_a_file_are_counted_together(handmade: Path, command: Command) -> None:
    inputs = f"{REQUIRED.path}/inputs"
    with h5py.File(handmade, "r+") as file:
        for name in ("R", "W", "X"):
            del file[inputs][name]
            file[inputs].create_dataset(name, (3, 5000), "<f4", chunks=(1, 1))
    ended = command("check", handmade, "--outputs", handmade.parent)
    check_one_line(*ended, handmade, "/inputs/X: with it the file has more than 32,768 chunks")


def test_a_file_has_no_more_blocks_than_are_opened(
    handmade: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert digest.MOST_BLOCKS == 4096
    monkeypatch.setattr(digest, "MOST_BLOCKS", 2)
    ended = command("show", handmade, REQUIRED.ids()[0])
    check_one_line(*ended, handmade, r"h5: holds 3 blocks; expected at most 2")


def test_what_a_spec_can_make_is_read() -> None:
    assert min(block_reader.MOST_DISTINCT, MOST_ROWS) >= MOST_CASES


@pytest.mark.parametrize(("most", "block"), [(1, BIDIRECTIONAL), (2, AMBIGUOUS)])
def test_the_different_attributes_of_a_file_are_bounded(
    most: int, block: HandmadeBlock, handmade: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of all blocks together: the second one that is read has two more."""
    monkeypatch.setattr(block_reader, "MOST_DISTINCT", most)
    with pytest.raises(VectorFileError) as refused:
        list(load_vectors(handmade))
    says = f"/{block.path}/attributes: with it the file has {2 * most} different attributes; expected at most"
    assert says in str(refused.value)


def test_the_first_block_that_lacks_something_ends_it(
    handmade: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ids of all blocks were read before."""
    with h5py.File(handmade, "r+") as file:
        for block in (REQUIRED, BIDIRECTIONAL):
            del file[block.path]["attributes"]
    seen: list[str] = []

    def texts(stored: Stored) -> list[str]:
        seen.append(stored.where)
        return []

    monkeypatch.setattr(Stored, "texts", texts)
    ended = command("check", handmade, "--outputs", handmade.parent)
    check_one_line(*ended, handmade, f"/{BIDIRECTIONAL.path}/attributes: is missing")
    assert seen == []


@pytest.mark.parametrize(
    "layout",
    [
        {"compression": "gzip"},
        {"compression": "gzip", "shuffle": True, "fletcher32": True},
        {"compression": "lzf"},
        {"compression": "lzf", "shuffle": True, "fletcher32": True},
        {"shuffle": True, "fletcher32": True},
        {"chunks": (2, 1, 3, 4)},
    ],
    ids=str,
)
@pytest.mark.parametrize("repeated", [False, True], ids=["random", "repeated"])
def test_filtered_numbers_are_read(repeated: bool, layout: dict[str, Any], handmade: Path) -> None:
    """Random ones become no shorter, and then HDF5 leaves the filter out."""
    with h5py.File(handmade, "r+") as file:
        values = file[f"{REQUIRED.path}/inputs/X"][()]
        values[...] = 0.5 if repeated else values
        del file[f"{REQUIRED.path}/inputs/X"]
        chunks = {"chunks": (2, *values.shape[1:])}
        file.create_dataset(f"{REQUIRED.path}/inputs/X", data=values, **{**chunks, **layout})
    cases = [case for case in load_vectors(handmade) if case.id in REQUIRED.ids()]
    assert [case.inputs["X"].tolist() for case in cases] == values.tolist()
