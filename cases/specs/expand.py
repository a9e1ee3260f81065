"""From a case spec to its cases, each with a stable id and everything but its numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..errors import GrucibleError
from ..operators import OPERATORS
from ..operators.readings import Asks, ReadingNames, touched_by
from ..operators.semantics import semantics
from ..operators.signature import ABSENT, Operator
from ..selection import may_select, nothing_selected, selected
from .covering_arrays import Excluded, rows_of
from .factors import BEFORE, DRAWS, NEEDED, PADDING, PRESENT, ZEROS, factors, lengths
from .spec_file import Assignment, CaseSpecFile, Covering, Drawn, Listing, Product

MOST_CASES = 30_000
"""Maximum cases of one spec; all shipped specs have 24,899, and a second makes some 18,000."""


@dataclass(frozen=True)
class CaseSpec:
    """One case before its numbers are drawn.

    `given` has exactly the attributes that the case sets; `sizes` every size symbol, also the number of
    directions; `absent` the optional inputs and outputs that are left out; `zeros` the inputs that could be
    drawn but are zeros; `lengths` one length per row, or None without lengths; `starts` the time of each
    row's first step; `factors` the value of every factor.
    """

    id: str
    operator: str
    dtype: str
    tier: str
    readings: tuple[ReadingNames, ...]
    given: dict[str, Any]
    sizes: dict[str, int]
    absent: frozenset[str]
    zeros: frozenset[str]
    lengths: tuple[int, ...] | None
    starts: tuple[int, ...]
    factors: Assignment

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """All attributes, with defaults filled in."""
        return OPERATORS[self.operator].with_defaults(self.given)

    @cached_property
    def types(self) -> dict[str, str]:
        """The dtype of each type variable."""
        operator = OPERATORS[self.operator]
        return {
            variable: self.dtype if of == operator.dtypes() else self.factors.get(variable, of[0])
            for variable, of in operator.types.items()
        }

    @property
    def draw(self) -> str:
        """The key in DRAWS of the way in which inputs are drawn."""
        return str(self.factors["draw"])


def case_of(operator: Operator, values: Assignment, tier: str | None = None) -> CaseSpec:
    """Make the case with these values of all factors, still without id and dtype.

    Without `tier` it is required, or ambiguous if it touches an ambiguous point. Raises ValueError
    or GrucibleError, with the reason, if there can be no such case.
    """
    given = {
        attribute.name: values[attribute.name]
        for attribute in operator.attributes
        if ABSENT not in (values[attribute.name], values.get(f"{attribute.name}_attribute"))
    }
    attributes = operator.with_defaults(given)
    meant = semantics(operator, attributes)
    tensors = (*operator.inputs, *operator.outputs)
    absent = frozenset(
        t.name for t in tensors if values.get(t.together or t.name, PRESENT) == ABSENT
    )
    if not operator.present(operator.outputs, absent):
        raise GrucibleError("leaves out every output; expected one or more")
    sizes = {
        symbol: len(meant.directions) if axis == "direction" else values[symbol]
        for symbol, axis in operator.sizes.items()
    }
    zeros = frozenset(t.name for t in tensors if values.get(t.name) == ZEROS)
    rows = _lengths(operator, values)
    [time] = [sizes[s] for s, axis in operator.sizes.items() if axis == "time"] or [1]
    before = values.get(PADDING) == BEFORE
    starts = tuple(time - length if before else 0 for length in rows or ())
    asks = Asks(operator.name, attributes, sizes, rows, starts, zeros, absent)
    readings = () if tier else touched_by(asks, meant)
    tier = tier or ("ambiguous" if readings else "required")
    return CaseSpec(
        "", operator.name, "", tier, readings, given, sizes, absent, zeros, rows, starts, values
    )


def _lengths(operator: Operator, values: Assignment) -> tuple[int, ...] | None:
    """Make the length of each row; return None for a case without lengths."""
    tensor = operator.tensor("lengths")
    if tensor is None or values[tensor.name] == ABSENT:
        return None
    of = {axis: values[symbol] for symbol, axis in operator.sizes.items() if symbol in values}
    batch, time, value = of["batch"], of["time"], values[tensor.name]
    if isinstance(value, str):
        return lengths(value, batch, time)
    if len(value) != batch or max(value) > time:
        raise GrucibleError(
            f"{tensor.name} {value} do not fit a batch of {batch} rows of {time} steps; "
            f"expected {batch} numbers from {tensor.least} to {time}"
        )
    return tuple(value)


def expand(
    spec: CaseSpecFile, dtypes: Sequence[str] = (), select: Sequence[str] = ()
) -> list[CaseSpec]:
    """Make the cases of `spec` that have one of the dtypes and an id that the `select` globs match.

    Ids do not repeat what all cases of a theme share. Raises SpecError for two cases with one id, for an
    impossible case, and for too many cases. If neither dtypes nor globs can select a case of the spec, it is
    not enumerated.
    """
    model, operator = spec.model, spec.model.operator
    wanted = [dtype for dtype in model.dtypes if not dtypes or dtype in dtypes]
    if not any(may_select(f"{spec.prefix}{dtype}/", select) for dtype in wanted):
        return []
    known, shared = factors(operator), model.sizes | model.fixed
    usual = {name: shared.get(name, factor.default) for name, factor in known.items()}
    tokens = {
        name: "" if name in shared or factor.default is NEEDED else factor.token(factor.default)
        for name, factor in known.items()
    }
    found: dict[str, CaseSpec] = {}
    for index in range(len(model.cases)):
        for assignment in _assignments(spec, index):
            named = {
                name: known[name].token(value)  # a default has one if the theme fixes another
                or (str(value) if model.fixed.get(name, value) != value else "")
                for name, value in assignment.items()
            }
            words = "-".join(filter(None, (tokens | named).values())) or "default"
            case = _case(spec, index, usual | assignment, words)
            for dtype in model.dtypes:
                case_id = f"{spec.prefix}{dtype}/{words}"
                if case_id in found:
                    raise spec.document.error(("cases", index), f"makes {case_id} a second time")
                found[case_id] = replace(case, id=case_id, dtype=dtype)
            if len(found) > MOST_CASES:
                most = f"expected at most {MOST_CASES:,} in a spec"
                raise spec.document.error(("cases", index), f"makes too many cases; {most}")
    return [case for case in found.values() if case.dtype in wanted and selected(case.id, select)]


def expand_all(
    specs: Sequence[CaseSpecFile], dtypes: Sequence[str] = (), select: Sequence[str] = ()
) -> list[tuple[CaseSpecFile, list[CaseSpec]]]:
    """Make the cases of each spec.

    Raises GrucibleError if nothing is selected, if specs make no case, or if two cases share an id.
    """
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
        if not any(map(expand, specs)):
            raise specs[0].document.error(("cases",), "make no case; list some, or exclude fewer")
        raise nothing_selected(select, dtypes, prefixes=[one.prefix for one in specs])
    return [(spec, cases) for spec, cases in expanded if cases]


def _assignments(spec: CaseSpecFile, index: int) -> Iterator[Assignment]:
    """Enumerate the assignments of entry `index` of a spec."""
    match spec.model.cases[index]:
        case Listing(list=listed):
            yield from listed
        case Product(product=values, exclude=excluded):
            left_out = Excluded(excluded)
            for row in itertools.product(*values.values()):
                assignment = dict(zip(values, row, strict=True))
                if assignment not in left_out:
                    yield assignment
        case Covering() as array:
            yield from rows_of(spec, index, array)
        case Drawn():
            raise spec.document.error(
                ("cases", index), "random has no end; ask it with: grucible fuzz"
            )


def _case(spec: CaseSpecFile, index: int, values: Assignment, words: str) -> CaseSpec:
    """Make the case of entry `index` that has these values of all factors; `words` end its id."""
    model, document = spec.model, spec.document
    for name, value in values.items():
        if value is NEEDED:
            place = "sizes" if factors(model.operator)[name].is_size else "fixed"
            raise document.error(("cases", index), f"{name} is needed in {place}, or in every case")
    if DRAWS[values["draw"]].plant and model.tier != "nonportable":
        raise document.error(("tier",), f"draw {values['draw']} needs tier nonportable")
    try:
        return case_of(OPERATORS[model.operator], values, model.tier)
    except (GrucibleError, ValueError) as error:
        raise document.error(("cases", index), f"{words}: {error}") from None
