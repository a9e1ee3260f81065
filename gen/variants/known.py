"""Every variant that there is a name for: of the catalogue, beyond it, and the members of families."""

from __future__ import annotations

from functools import cache

from .catalogue import CATALOGUE
from .expressions import EXPRESSIONS, NARROWER
from .families import FAMILIES, heights_of, is_curved, with_curve
from .fields import FIELDS
from .places import unwritten
from .reshaped import UNLISTED_LAYOUTS
from .restricted import at_place, can_be_in_direction, in_direction
from .sequence import ELSEWHERE, SEQUENCE_VARIANTS
from .sums import is_sum, numbers_of, sum_called
from .variant import Variant
from .weights import UNLISTED_WEIGHTS

_IN_REVERSE = (
    in_direction(v, "reverse")
    for v in (*SEQUENCE_VARIANTS, *ELSEWHERE)
    if not (v.semantics or v.advance)
    and can_be_in_direction(v)
    and v.name != "Y-not-zeroed"  # which forward steps do
)
UNLISTED: dict[str, Variant] = {
    variant.name: variant
    for variant in (
        *EXPRESSIONS,
        *FIELDS,
        *ELSEWHERE,
        *UNLISTED_LAYOUTS,
        *UNLISTED_WEIGHTS,
        *NARROWER,
        *_IN_REVERSE,
    )
}
"""What diagnosis tries where nothing in the catalogue explains a failure; no vectors must catch it."""


def has_number(name: str) -> bool:
    """Say whether a variant is the member of a family, with a number that was fitted perhaps."""
    return "=" in name


def has_fitted_number(name: str) -> bool:
    """Say whether it is a sum, or a member of a family whose number may be any."""
    if is_sum(name):
        return any(number % 1 for number in numbers_of(name))
    family = FAMILIES.get(name.rpartition("=")[0])
    return family is not None and family.form.fitted


@cache
def variant_called(name: str) -> Variant:
    """Find the variant of a name.

    Raises KeyError for a name that none has, and ValueError where no number or no curve follows.
    """
    if name in CATALOGUE:
        return CATALOGUE[name]
    if name in UNLISTED:
        return UNLISTED[name]
    variant, at, place = name.rpartition("@")
    if at:
        return at_place(variant_called(variant), place)
    if is_curved(name):
        asked, heights = heights_of(name)
        return with_curve(asked, heights.tolist())
    if is_sum(name):
        return sum_called(name)
    if name.startswith(("unwritten-", "constant-")):
        return unwritten(name)
    family, _, number = name.rpartition("=")
    return FAMILIES[family].member(float(number))
