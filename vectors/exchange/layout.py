"""How an export lays out the numbers of a case; the layouts `raw` and `npz`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...cases.dtypes import Array
from ..case import Case
from .manifest import Place
from .tensors import write_npz, write_raw

CASES = "cases"
"""The folder, in an export, of the cases' files."""
_MOST_SLUG = 80


class NotSayable(Exception):
    """The format cannot say a case; the message is the reason, without numbers of that case."""


class Written(NamedTuple):
    """What was written of a case: where each array is, by the paths of vectors/FORMAT.md, and the files that
    hold none of them."""

    places: dict[str, Place]
    beside: Sequence[str] = ()

    @property
    def files(self) -> set[str]:
        """All files of the case."""
        return {*self.beside, *(place.file for place in self.places.values())}


CaseLayout = Callable[[Path, str, Case, Mapping[str, Array]], Written]
"""`write(folder, name, case, arrays)` writes a case below `folder`, its files called after `name`. It raises
NotSayable before it writes."""


def raw(folder: Path, name: str, _: Case, arrays: Mapping[str, Array]) -> Written:
    """Write one binary file for the case, in which tensor follows tensor."""
    return Written(write_raw(folder, f"{CASES}/{name}.bin", arrays))


def npz(folder: Path, name: str, _: Case, arrays: Mapping[str, Array]) -> Written:
    """Write one .npz file for the case."""
    return Written(write_npz(folder, f"{CASES}/{name}.npz", arrays))


def file_name(number: int, case_id: str) -> str:
    """What the files of the case of this number are called: `00017_float32_lbr_clip0_5`."""
    _, _, what = case_id.partition("/")
    words = re.sub(r"[^A-Za-z0-9]+", "_", what.partition("/")[2])[:_MOST_SLUG].strip("_")
    return f"{number:05}_{words}"
