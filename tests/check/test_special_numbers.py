"""Numbers beyond the ordinary, in files, answers and options: one line or a verdict, and no warning."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from grucible.vectors.hdf5.attributes import write_text_attribute

from .conftest import grucible_in
from .signed import changed

SPECIAL = """\
import numpy as np
R = np.random.default_rng(3)
def run(q):
    pick = [np.inf, -np.inf, np.nan, -0.0, 1.0, 0.5, 3.0, 4.0]
    return {name: R.choice(pick, t.shape).astype(t.dtype) for name, t in q.outputs.items()}
"""


def test_special_numbers_make_no_warnings(tmp_path: Path) -> None:
    """Of what decides, no expected number is infinite or NaN: it would be refused."""
    random = np.random.default_rng(0)

    def plant(data: Any, *, finite: bool) -> None:
        array = data[()]
        where = random.random(array.shape) < 0.1
        wild: list[Any] = [0x7F80, 0xFF80, 0x7FC0, 0x7F81]
        pool: list[Any] = [0x7F7F, 1, 0x8000]
        if array.dtype.kind == "f":
            info = np.finfo(array.dtype)
            wild, pool = [np.inf, -np.inf, np.nan], [info.max, info.tiny, -0.0]
        pool += [] if finite else wild
        array[where] = random.choice(np.array(pool, array.dtype), where.sum())
        data[...] = array

    def change(file: Any) -> None:
        for dtype in ("float16", "float32", "float64", "bfloat16"):
            for name in list(file[dtype]):
                block, decides = file[f"{dtype}/{name}"], "noB" not in name
                for data in block["inputs"].values():
                    plant(data, finite=False)
                for data in block["outputs"].values():
                    plant(data, finite=decides)
                if not decides:
                    file.move(f"{dtype}/{name}", f"{dtype}/{name}-nonportable")
                    write_text_attribute(block, "tier", "nonportable")

    path = changed(tmp_path, change)
    (tmp_path / "special.py").write_text(SPECIAL)
    runtime = f"{tmp_path / 'special.py'}:run"
    some = ["--select", "*/lbr-*"]
    for arguments in (["check", path, "--runtime", runtime, *some], ["score", path, *some]):
        environment = os.environ | {"PYTHONWARNINGS": "always"}
        ended = grucible_in(tmp_path, *arguments, env=environment)
        assert (ended.returncode in (0, 1), ended.stderr) == (True, "")
