"""Others' suites: cases become vector files with exact answers; expected outputs become outputs files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from ...cases.apart import Tree
from ...cases.dtypes import Arrays
from ...cases.errors import GrucibleError
from ...cases.operators import OPERATORS
from ...cases.question import Question, pose, why_no_theme
from ...gen.posed import Imported, Posed, write_answered
from ...vectors.block import attributes_from_json
from ...vectors.hdf5 import OUTPUTS, VECTORS
from ...vectors.reader import open_vectors
from ...vectors.writer import prepare_place
from ..observed.outputs_file import new_outputs_file, write_outputs
from ..observed.source import stack_replies
from ..protocol.header import Reply


def write_suite(
    suite: Tree, out: Path, advance: Callable[[int], None] = lambda _: None
) -> list[tuple[Imported, bool]]:
    """Write the cases as vector files, and their expected outputs, if any, as outputs files.

    If all cases are of one operator and theme, `out` may be a file `*.h5`, with outputs in `*.outputs.h5`.
    Otherwise it is a directory, with outputs in the directory `*-outputs`. Raises GrucibleError where nothing
    can be written.
    """
    groups: dict[str, list[Tree]] = {}
    for case in suite["cases"]:
        groups.setdefault("/".join(case["id"].split("/")[:2]), []).append(case)
    if not groups:
        [(why, count)] = Counter(suite["left_out"]).most_common(1) or [("nothing", 0)]
        raise GrucibleError(f"there is no case to import; {count} left out: {why}")
    if out.suffix == ".h5" and len(groups) > 1:
        raise GrucibleError(
            f"{out}: the cases are of {len(groups)} operators and themes; name a directory"
        )
    places = {}
    for prefix, members in groups.items():
        if why := why_no_theme(prefix.rpartition("/")[2]):
            raise GrucibleError(f"{prefix}: {why}; rename the folder or file of the cases")
        vectors, outputs = out, outputs_place(out)
        if out.suffix != ".h5":
            vectors, outputs = vectors / f"{prefix}.h5", outputs / f"{prefix}.h5"
        places[prefix] = vectors, outputs
        prepare_place(vectors, VECTORS)
        if any(case["expected"] for case in members):
            prepare_place(outputs, OUTPUTS)
        elif outputs.exists():  # they would be judged as if these cases expected them
            raise GrucibleError(
                f"{outputs}: holds outputs of an earlier import, and these cases expect none; remove it, or "
                "name another place with -o"
            )
    return [_write(suite, some, *places[one], advance) for one, some in groups.items()]


def _write(
    suite: Tree, cases: Sequence[Tree], path: Path, outputs: Path, advance: Callable[[int], None]
) -> tuple[Imported, bool]:
    """Write the cases of one operator and theme; expected outputs that do not fit become errors."""
    posed = [Posed(case["id"], partial(_question, case), case["nonportable"]) for case in cases]
    about, runtime = suite["about"], suite.get("runtime", ("", ""))
    written = write_answered(path, posed, about, advance)
    expected: dict[str, Arrays] = {case["id"]: case["expected"] for case in cases}
    if any(expected.values()):
        with new_outputs_file(outputs, runtime[0] or about, runtime[1]) as file:
            for stored in open_vectors(path).blocks():
                parts = [
                    stack_replies(block, [Reply("ok", expected[one]) for one in block.ids])
                    for _, block in stored.selected()
                ]
                write_outputs(file, stored.path, stored.ids, parts)
    return written, any(expected.values())


def _question(case: Tree) -> Question:
    """Return the question of a case, with copies of its arrays."""
    operator = OPERATORS[case["operator"]]
    inputs = {name: np.array(array) for name, array in case["inputs"].items()}
    given = attributes_from_json(case["given"], operator)
    return pose(operator, given, inputs, case_id=case["id"], outputs=case["outputs"])


def outputs_place(out: Path) -> Path:
    """Return the place of the expected outputs for vectors at `out`: a file or directory beside it."""
    if out.suffix == ".h5":
        return out.with_suffix(".outputs.h5")
    named = out if out.name.strip(".") else out.resolve()
    return named.with_name(f"{named.name}-outputs")
