"""From a case spec to its cases: products, covering arrays and lists, each case with a stable id."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..dtypes import FLOAT_TYPES
from ..errors import GrucibleError
from ..operators.known import OPERATORS
from ..operators.readings import touched_by
from ..operators.semantics import semantics
from ..operators.signature import ABSENT, Operator
from ..selection import selected
from ..specs import length_patterns
from ..specs.draws import DRAWS
from ..specs.factors import DRAWN, NEEDED, PRESENT, factors
from ..specs.spec_file import CaseSpecFile
from ..specs.spec_model import Assignment, Covering, Listing, Product
from .assignments import is_excluded
from .case_spec import CaseSpec
from .covering_arrays import rows_of


def expand(
    spec: CaseSpecFile, dtypes: Sequence[str] = (), select: Sequence[str] = ()
) -> list[CaseSpec]:
    """The cases of `spec`, of the given dtypes and with an id matching any of the `select` globs.

    Raises SpecError for two cases with one id, for a case that lacks a size, and for sequence
    lengths that do not fit the sizes.
    """
    found: dict[str, CaseSpec] = {}
    for index in range(len(spec.model.cases)):
        for assignment in _assignments(spec, index):
            for case in _cases(spec, index, assignment):
                if case.id in found:
                    raise spec.document.error(("cases", index), f"makes {case.id} a second time")
                found[case.id] = case
    return [
        case
        for case in found.values()
        if (not dtypes or case.dtype in dtypes) and selected(case.id, select)
    ]


def expand_all(
    specs: Sequence[CaseSpecFile], dtypes: Sequence[str] = (), select: Sequence[str] = ()
) -> list[tuple[CaseSpecFile, list[CaseSpec]]]:
    """The cases of each spec; GrucibleError where nothing is selected or two specs share an id."""
    expanded = [(spec, expand(spec, dtypes, select)) for spec in specs]
    owner: dict[str, CaseSpecFile] = {}
    for spec, cases in expanded:
        for case in cases:
            if case.id in owner:
                other = owner[case.id].document.name
                raise GrucibleError(
                    f"{spec.document.name}: makes {case.id}, which {other} makes too"
                )
            owner[case.id] = spec
    if not owner:
        wanted = " ".join([*(f"--dtype {d}" for d in dtypes), *(f"--select {s!r}" for s in select)])
        raise GrucibleError(
            f"no case is selected by {wanted}; see them with: grucible cases --list"
        )
    return [(spec, cases) for spec, cases in expanded if cases]


def check_dtypes(dtypes: Sequence[str]) -> None:
    """Raise GrucibleError for a name that is not a dtype of any case."""
    for name in dtypes:
        if name not in FLOAT_TYPES:
            raise GrucibleError(f"--dtype {name}: expected one of {', '.join(FLOAT_TYPES)}")


def _assignments(spec: CaseSpecFile, index: int) -> Iterator[Assignment]:
    """What entry `index` of a spec enumerates."""
    match spec.model.cases[index]:
        case Listing(list=listed):
            yield from listed
        case Product(product=values, exclude=excluded):
            for row in itertools.product(*values.values()):
                assignment = dict(zip(values, row, strict=True))
                if not is_excluded(assignment, excluded):
                    yield assignment
        case Covering() as array:
            yield from rows_of(spec, index, array)


def _cases(spec: CaseSpecFile, index: int, assignment: Assignment) -> Iterator[CaseSpec]:
    """The case of each dtype; they share everything but the dtype."""
    operator = OPERATORS[spec.model.operator]
    known = factors(operator.name)
    shared = spec.model.sizes | spec.model.fixed
    full = {name: factor.default for name, factor in known.items()} | shared | assignment
    for name, value in full.items():
        if value is NEEDED:
            where = (
                "in sizes, or in every case"
                if known[name].is_size
                else "in fixed, or in every case"
            )
            raise spec.document.error(("cases", index), f"{name} is needed {where}")
    # what all cases of the theme share is named by the theme, and not again by every id
    tokens = [
        known[name].token(value)
        for name, value in full.items()
        if name in assignment or name not in shared
    ]
    if full["draw"] in DRAWS and DRAWS[full["draw"]].plant and spec.model.tier != "nonportable":
        raise spec.document.error(("tier",), f"draw {full['draw']} needs tier nonportable")
    name = "-".join(filter(None, tokens)) or "default"
    try:
        case = case_of(operator, full, spec.model.tier)
    except (GrucibleError, ValueError) as error:
        raise spec.document.error(("cases", index), f"{name}: {error}") from None
    for dtype in spec.model.dtypes:
        yield replace(
            case,
            id=f"{operator.name}/{spec.theme}/{dtype}/{name}",
            dtype=dtype,
            types=_shared(
                (variable, dtype if of == operator.dtypes() else full.get(variable, of[0]))
                for variable, of in operator.types.items()
            ),
        )


def case_of(operator: Operator, full: Assignment, tier: str | None = None) -> CaseSpec:
    """The case, still without id, dtype and types, that has the value `full` gives of every factor.

    Raises ValueError or GrucibleError, with the reason, where there is no such case.
    """
    given = _given(operator, full)
    attributes = operator.with_defaults(given)
    semantics(operator, attributes)
    tensors = (*operator.inputs, *operator.outputs)
    absent = frozenset(t.name for t in tensors if full.get(t.name, PRESENT) == ABSENT)
    if not operator.present(operator.outputs, absent):
        raise GrucibleError("leaves out every output; expected one or more")
    case = CaseSpec(
        id="",
        operator=operator.name,
        dtype="",
        tier=tier or "required",
        readings=(),
        given=given,
        sizes=_shared(
            (symbol, len(operator.directions(attributes)) if axis == "direction" else full[symbol])
            for symbol, axis in operator.sizes.items()
        ),
        absent=absent or _NONE,
        types={},
        lengths=_lengths(operator, full),
        draw=full["draw"],
        factors=full,
        drawn=frozenset(t.name for t in tensors if full.get(t.name) == DRAWN) or _NONE,
    )
    readings = () if tier else touched_by(case)
    return replace(case, tier="ambiguous", readings=readings) if readings else case


_NONE: frozenset[str] = frozenset()


def _shared(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The dict of `items`, the same object for the same items: there may be very many cases."""
    return _shared_dict(tuple(items))


@functools.cache
def _shared_dict(items: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    return dict(items)


def _given(operator: Operator, full: Assignment) -> dict[str, Any]:
    """The attributes written out."""
    return {
        attribute.name: full[attribute.name]
        for attribute in operator.attributes
        if ABSENT not in (full[attribute.name], full.get(f"{attribute.name}_attribute"))
    }


def _lengths(operator: Operator, full: Assignment) -> tuple[int, ...] | None:
    tensor = operator.tensor("lengths")
    if tensor is None or full[tensor.name] == ABSENT:
        return None
    of = {axis: full[symbol] for symbol, axis in operator.sizes.items() if symbol in full}
    value = full[tensor.name]
    rows = (
        length_patterns.lengths(value, of["batch"], of["time"])
        if isinstance(value, str)
        else tuple(value)
    )
    if len(rows) != of["batch"] or max(rows) > of["time"]:
        raise GrucibleError(
            f"{tensor.name} {list(rows)} do not fit a batch of {of['batch']} rows of {of['time']} steps; "
            f"expected {of['batch']} numbers from 0 to {of['time']}"
        )
    return rows
