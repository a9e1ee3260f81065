"""Foreign cases from .npz files, whose arrays are named as an operator's inputs and outputs; and answers.

`NAME.json` beside `NAME.npz` may hold `{"operator": …, "attributes": {…}}`; else both are given for all. An
array of uint16 is bfloat16.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...cases.apart import NotParsed, Tree, parse_apart
from ...cases.dtypes import FLOAT_TYPES, Arrays
from ...cases.errors import GrucibleError
from ...cases.files import files_below, write_whole
from ...cases.operators import OPERATORS, operator_named
from ...cases.operators.signature import Operator
from ...cases.pose import QuestionError, pose
from ...cases.question import Question
from ...cases.strict_json import strict_json
from ...vectors.block import attributes_from_json
from ...vectors.case import Case
from ...vectors.exchange.export import arrays_of
from ...vectors.exchange.manifest import stored_arrays
from .importing import ForeignCase, NotAsked, Tests, case_id, collect

ANSWER = re.compile(rb"PK\x03\x04.{26}(readings|outputs|tolerance)/", re.DOTALL)
"""What an .npz file begins with whose first array is one of an answer."""
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


def read_npz_files(place: str, operator: str | None, attributes: str | None) -> Tree:
    """Parse the cases in a folder of .npz files, or in one. Raises GrucibleError where there is none."""
    root = Path(place)
    files = sorted(files_below(root, ".npz")) if root.is_dir() else [root]
    if not files:
        raise GrucibleError(f"{root}: holds no .npz file")
    theme = root.resolve().stem

    def tests() -> Iterator[Any]:
        for file in files:
            yield partial(_case, file, theme, *_asked(file, operator, attributes))

    found: Tests = tests()
    return collect(f"imported from .npz files in {root.resolve().name}", found)


def read_npz(place: str) -> Tree:
    """Parse the arrays of an .npz file, in the machine's byte order; uint16 as bfloat16."""
    path = Path(place)
    if not path.is_file():
        raise GrucibleError(f"{path}: is no regular file; expected an .npz file")
    found: Arrays = {}
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it holds one array, without a name")
            if len(set(archive.files)) < len(archive.files):
                raise ValueError("it has two arrays of one name")
            for name in archive.files:
                array = archive[name]
                array = array.astype(array.dtype.newbyteorder("="))
                found[name] = array.view(_BFLOAT16) if array.dtype == np.uint16 else array
    except Exception as error:  # of zipfile, zlib and numpy, of many types
        why = str(error).partition("\n")[0][:200] or type(error).__name__
        raise GrucibleError(f"{path}: is no .npz file that can be read ({why})") from None
    return found


def question_of(file: Path, operator: str, attributes: str) -> Question:
    """Return the question of the inputs in a file, which asks for all outputs.

    Raises GrucibleError where there is none.
    """
    asked = operator_named(operator)
    given = _given(f"--attributes {attributes}", asked, attributes)
    try:
        arrays = parse_apart(read_npz, str(file))
        return pose(asked, given, {name: np.array(array) for name, array in arrays.items()})
    except (QuestionError, NotParsed) as error:
        raise GrucibleError(f"{file}: {error}") from None


def write_answer(path: Path, case: Case) -> None:
    """Write the answers of a case, whole, as an .npz file; GrucibleError where that cannot be."""
    buffer = io.BytesIO()
    np.savez(buffer, **stored_arrays(arrays_of(case, "answers")))  # type: ignore[arg-type]
    write_whole(path, buffer.getvalue(), mark=ANSWER)


def _asked(
    file: Path, operator: str | None, attributes: str | None
) -> tuple[Operator, dict[str, Any]]:
    """Return the operator and attributes of a file: of the JSON beside it, else those given for all."""
    beside, text = file.with_suffix(".json"), attributes or "{}"
    if beside.is_file():
        operator, text = _read_beside(beside)
    if operator is None:
        raise GrucibleError(
            f"{file}: of which operator? Give --operator, or {beside.name} beside it"
        )
    found = operator_named(operator)
    return found, _given(f"{file}: attributes", found, text)


def _read_beside(beside: Path) -> tuple[str, str]:
    """Read the operator and the attributes, as a JSON text, of a JSON file."""
    wanted = "expected an object with operator and attributes"
    try:
        read = strict_json(beside.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise GrucibleError(f"{beside}: {error}; {wanted}") from None
    if not isinstance(read, dict) or read.keys() != {"operator", "attributes"}:
        raise GrucibleError(f"{beside}: {wanted} alone")
    if not isinstance(read["operator"], str):
        raise GrucibleError(f"{beside}: operator is no text; {wanted}")
    return read["operator"], json.dumps(read["attributes"])


def _given(place: str, operator: Operator, attributes: str) -> dict[str, Any]:
    try:
        return attributes_from_json(attributes, operator, as_written=True)
    except (ValueError, RecursionError) as error:
        raise GrucibleError(f"{place}: {error}") from None


def _case(file: Path, theme: str, operator: Operator, given: Mapping[str, Any]) -> ForeignCase:
    """Read the case of a file. Raises NotAsked."""
    arrays = read_npz(str(file))
    known = {tensor.name for tensor in OPERATORS[operator.name].outputs}
    expected = {name: array for name, array in arrays.items() if name in known}
    inputs = {name: array for name, array in arrays.items() if name not in known}
    try:
        question = pose(operator, given, inputs, outputs=list(expected) or None)
    except QuestionError as error:
        raise NotAsked(str(error)) from None
    new = case_id(operator, theme, question.dtype, file.stem)
    return ForeignCase(replace(question, id=new), expected)
