"""Foreign cases from .npz files, whose arrays are named as an operator's inputs and outputs.

`NAME.json` beside `NAME.npz` may hold `{"operator": …, "attributes": {…}}`; else both are given for all. An
array of uint16 is bfloat16.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...cases.dtypes import Arrays
from ...cases.errors import GrucibleError
from ...cases.files import files_below
from ...cases.operators.known import OPERATORS, operator_named
from ...cases.operators.signature import Operator
from ...cases.pose import QuestionError, pose
from ...cases.question import Question
from ...cases.strict_json import strict_json
from ...cases.whole_file import prepare_place, replace_file, writing_to
from ...gen.tolerances.classes import CLASSES
from ...vectors.block import attributes_from_json
from ...vectors.case import Case
from ...vectors.exchange.bounded import bounded_bytes
from ...vectors.exchange.export import arrays_of
from ...vectors.exchange.npz_arrays import UNREADABLE, npz_archive, read_npz
from ...vectors.exchange.tensors import stored_arrays
from .foreign import ForeignCase, NotAsked, case_id
from .importing import Suite

_MOST_BYTES = 1 << 20
_OUTPUTS = "|".join(sorted({one.name for known in OPERATORS.values() for one in known.outputs}))
_CLASSES = "|".join(sorted({one.name for classes in CLASSES.values() for one in classes}))
_ANSWER = re.compile(rf"(readings/[^/]+/)?(outputs|tolerance/({_CLASSES}))/({_OUTPUTS})\.npy")
"""What a member of an answer is called."""
_ZIP = b"PK\3\4"
"""What an .npz file with an array begins with; what another program keeps before a zip archive does not."""


def suite_of_npz(place: Path, operator: str | None, attributes: str | None) -> Suite:
    """The cases in a folder of .npz files, or in one. Raises GrucibleError where there is none."""
    files = sorted(files_below(place, ".npz")) if place.is_dir() else [place]
    if not files:
        raise GrucibleError(f"{place}: holds no .npz file")
    cases: list[ForeignCase] = []
    left_out: Counter[str] = Counter()
    for file in files:
        asked, given = _asked(file, operator, attributes)
        try:
            cases.append(_case(file, place.resolve().stem, asked, given))
        except NotAsked as reason:
            left_out[str(reason)] += 1
    return Suite(f"imported from .npz files in {place.resolve().name}", cases, left_out)


def question_of(file: Path, operator: str, attributes: str) -> Question:
    """The question of the inputs in a file, which asks for all outputs. Raises GrucibleError where there is
    none."""
    asked = operator_named(operator)
    given = _given(f"--attributes {attributes}", asked, attributes)
    try:
        return pose(asked, given, read_npz(file))
    except QuestionError as error:
        raise GrucibleError(f"{file}: {error}") from None


def check_answer_place(path: Path, inputs: Path) -> None:
    """Raise GrucibleError where an answer would replace something else than an earlier one."""
    with writing_to(path):
        prepare_place(path)
    if not path.exists() or not path.stat().st_size:
        return
    if path.samefile(inputs):
        raise GrucibleError(f"{path}: holds the inputs; name another place for the answer")
    if not _is_answer(path):
        raise GrucibleError(
            f"{path}: is there already, and holds something else; name another place"
        )


def _is_answer(path: Path) -> bool:
    """Whether a file is an .npz file as `write_answer` makes it: the whole file, and with no other arrays."""
    try:
        with path.open("rb", buffering=0) as file:
            begins = file.read(len(_ZIP))
            with npz_archive(file) as archive:
                names = archive.namelist()
                return begins == _ZIP and bool(names) and all(map(_ANSWER.fullmatch, names))
    except UNREADABLE:
        return False


def write_answer(path: Path, case: Case) -> None:
    """Write the answers of a case, whole, as an .npz file; GrucibleError where that cannot be."""
    with io.BytesIO() as buffer:
        np.savez(buffer, **stored_arrays(arrays_of(case, "answers")))  # type: ignore[arg-type]
        with writing_to(path):
            replace_file(path, buffer.getvalue())


def _asked(
    file: Path, operator: str | None, attributes: str | None
) -> tuple[Operator, dict[str, Any]]:
    """The operator and attributes of a file: of the JSON beside it, else those given for all."""
    beside = file.with_suffix(".json")
    told: dict[str, Any] = {"operator": operator, "attributes": attributes or "{}"}
    if beside.is_file():
        told = _told(beside)
    if not isinstance(told["operator"], str):
        raise GrucibleError(
            f"{file}: of which operator? Give --operator, or {beside.name} beside it"
        )
    found = operator_named(told["operator"])
    return found, _given(f"{file}: attributes", found, told["attributes"])


def _told(beside: Path) -> dict[str, Any]:
    """The operator and attributes, a JSON text, that a JSON file says."""
    raw = bounded_bytes(beside, _MOST_BYTES)
    try:
        read = strict_json(raw)
        told = {"operator": read["operator"], "attributes": json.dumps(read["attributes"])}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise GrucibleError(
            f"{beside}: {error}; expected an object with operator and attributes"
        ) from None
    if unknown := sorted(read.keys() - told.keys()):
        raise GrucibleError(
            f"{beside}: has the key {unknown[0][:80]!r}; expected operator and attributes alone"
        )
    return told


def _given(place: str, operator: Operator, attributes: str) -> dict[str, Any]:
    try:
        return attributes_from_json(attributes, operator, as_written=True)
    except (ValueError, RecursionError) as error:
        raise GrucibleError(f"{place}: {error}") from None


def _case(file: Path, theme: str, operator: Operator, given: Mapping[str, Any]) -> ForeignCase:
    """The case of a file, which is read again when it is asked for. Raises NotAsked."""
    question = _question(file, operator, given)
    at = case_id(operator, theme, question.dtype, file.stem)
    return ForeignCase(
        at,
        lambda: replace(_question(file, operator, given), id=at),
        partial(_expected, file, operator),
    )


def _question(file: Path, operator: Operator, given: Mapping[str, Any]) -> Question:
    arrays = read_npz(file)
    known = {tensor.name for tensor in operator.outputs}
    inputs = {name: array for name, array in arrays.items() if name not in known}
    wanted = [name for name in arrays if name in known]
    try:
        return pose(operator, given, inputs, outputs=wanted or None)
    except QuestionError as error:
        raise NotAsked(str(error)) from None


def _expected(file: Path, operator: Operator) -> Arrays:
    known = {tensor.name for tensor in operator.outputs}
    return {name: array for name, array in read_npz(file).items() if name in known}
