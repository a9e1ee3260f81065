"""Attributes of outputs files, in which a text may be of variable length, as h5py writes a `str`.

A damaged one crashes the HDF5 library, or keeps it busy for ever. So a process reads them that may die of it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py

from ...cases.errors import VectorFileError
from .attributes import Value, held_attribute, is_variable, value_of

CHILD = Path(__file__).with_name("variable_texts_child.py")
SECONDS = 60
"""When to give up; before that, what keeps the child busy ends it (its CPU time is limited)."""
TOO_LONG = 3
"""The exit status of the child where the texts are too long in all."""


class VariableTexts:
    """Reads the attributes of an outputs file. A text of variable length is read by another process, which is
    started where there is one, and reads them all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._texts: dict[str, dict[str, str]] | None = None

    def __call__(self, node: Any, name: str) -> Value:
        """A scalar attribute of what has a low-level `id`: a text or a number, None where there is none.

        Raises VectorFileError for a text that the other process could not read.
        """
        held = held_attribute(node, name)
        if held is None or not is_variable(held):
            return None if held is None else value_of(held)
        if self._texts is None:
            self._texts = self._read()
        where = h5py.h5i.get_name(getattr(node, "id", node)) or b"/"
        return self._texts.get(where.decode("utf-8", "replace"), {}).get(name)

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            ended = subprocess.run(
                [sys.executable, CHILD, self._path, json.dumps(sys.path)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self._damaged("nothing came of it") from None
        if ended.returncode:
            raise self._damaged(_how(ended.returncode))
        found: dict[str, dict[str, str]] = json.loads(ended.stdout)
        return found

    def _damaged(self, why: str) -> VectorFileError:
        return VectorFileError(
            f"{self._path}: its attributes of variable length cannot be read ({why}); write texts of "
            'fixed length: np.array(text, h5py.string_dtype("utf-8", length))'
        )


def _how(status: int) -> str:
    """How a process ended."""
    if status == TOO_LONG:
        return "they are too long"
    if status > 0:
        return "they are damaged"
    try:
        return f"HDF5 ended with {signal.Signals(-status).name}"
    except ValueError:
        return f"HDF5 ended with signal {-status}"
