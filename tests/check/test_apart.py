"""Conditions that tell two groups apart."""

from __future__ import annotations

import numpy as np
import pytest

from grucible.check.diagnosis.apart import (
    FEWEST,
    Feature,
    Words,
    conditions,
    conditions_together,
    nearest_condition,
)

WORDS: Words = {"==": "at {value}", ">=": "from {value} on", "<": "below {value}"}


def of(*values: float, real: bool = False) -> Feature:
    return Feature(np.array(values, float), WORDS, real)


def group(*places: int, of: int) -> np.typing.NDArray[np.bool_]:
    return np.isin(np.arange(of), places)


def test_a_value_that_all_of_one_group_have_and_none_of_the_other() -> None:
    assert conditions([of(3, 3, 3, 1, 5, 7)], group(0, 1, 2, of=6)) == ["at 3"]


def test_thresholds_are_told_by_the_first_whole_number_beyond() -> None:
    assert conditions([of(4, 6, 9, 1, 2, 3)], group(0, 1, 2, of=6)) == ["from 4 on"]
    assert conditions([of(1, 2, 3, 6, 8, 9)], group(0, 1, 2, of=6)) == ["below 6"]


def test_nothing_is_told_where_a_member_of_the_other_group_has_it_too() -> None:
    assert conditions([of(3, 3, 3, 3, 5, 1)], group(0, 1, 2, of=6)) == []


def test_too_few_are_told_apart_by_anything_and_so_by_nothing() -> None:
    few = FEWEST - 1
    values = [1.0] * few + [2.0] * 20
    assert conditions([of(*values)], group(*range(few), of=len(values))) == []
    assert conditions([of(*values)], group(*range(few, 20), of=len(values))) == []


def test_nearly_all_of_a_group_have_no_threshold() -> None:
    """Each of 200 wrong states but 12 right ones: what these have by chance says nothing."""
    values = [*np.linspace(2, 3, 200), *np.linspace(0, 1, 12)]
    assert conditions([of(*values, real=True)], group(*range(200), of=212)) == []
    assert conditions([of(*values[100:], real=True)], group(*range(100), of=112)) == ["from 2 on"]


def test_a_threshold_of_real_numbers_has_few_digits_and_lies_between() -> None:
    values = [*np.linspace(2.013, 3, 12), *np.linspace(0, 1.987, 12)]
    assert conditions([of(*values, real=True)], group(*range(12), of=24)) == ["from 2 on"]


def test_what_is_not_finite_tells_nothing() -> None:
    values = [1.0, 1.0, 1.0, np.nan, 2.0, 2.0]
    assert conditions([of(*values)], group(0, 1, 2, of=6)) == []


@pytest.mark.parametrize(("exceptions", "told"), [(0.0, ""), (0.3, "at 3")])
def test_exceptions_are_a_share_of_the_others(exceptions: float, told: str) -> None:
    values = [3.0, 3.0, 3.0, 3.0, *range(10, 13)]
    found = nearest_condition([of(*values)], group(0, 1, 2, of=7), exceptions)
    assert (found.words if found else "") == told


def test_the_condition_with_the_fewest_exceptions_is_the_nearest() -> None:
    members = group(0, 1, 2, of=9)
    first = of(1, 1, 1, 1, 1, 5, 5, 5, 5)
    second = Feature(np.array([1.0, 1, 1, 1, 0, 0, 0, 0, 0]), {">=": "the second"})
    found = nearest_condition([first, second], members, 0.5)
    assert found is not None
    assert found.words == "the second"


def whether(*values: int, words: str) -> Feature:
    return Feature(np.array(values, float), {">=": f"where {words}", "<": f"where not {words}"})


def test_two_conditions_are_told_together_where_each_is_needed() -> None:
    """Members are 0 to 19; 20 to 29 have the first alone, 30 to 39 the second."""
    first = whether(*[1] * 30, *[0] * 10, words="it is cold")
    second = whether(*[1] * 20, *[0] * 10, *[1] * 10, words="it is wet")
    members = group(*range(20), of=40)
    assert conditions([first, second], members) == []
    assert conditions_together([first, second], members) == "where it is cold and it is wet"
    needless = whether(*[1] * 38, *[0] * 2, words="it is dark")
    told = conditions_together([needless, first, second], members)
    assert told == "where it is cold and it is wet"
    both = group(*range(20), of=41)
    more = [Feature(np.append(one.values, 1.0), one.words) for one in (first, second)]
    assert conditions_together(more, both) == ""  # the last has both, and is no member


def test_three_conditions_are_told_together() -> None:
    kinds = [(1, 1, 1)] * 20 + [(0, 1, 1)] * 5 + [(1, 0, 1)] * 5 + [(1, 1, 0)] * 5
    features = [
        whether(*(kind[place] for kind in kinds), words=word)
        for place, word in enumerate(("cold", "wet", "dark"))
    ]
    told = conditions_together(features, group(*range(20), of=len(kinds)))
    assert told == "where cold, wet and dark"


def test_a_condition_that_two_others_alone_need_is_not_told() -> None:
    first = whether(*[1] * 22, *[0] * 18, words="it is cold")
    second = whether(*[1] * 20, *[0] * 2, *[1] * 18, words="it is wet")
    assert conditions_together([first, second], group(*range(20), of=40)) == ""


def test_few_members_have_too_much_in_common_for_several_conditions() -> None:
    for members, told in ((5, ""), (6, "where cold and wet")):
        kinds = [(1, 1)] * members + [(0, 1)] * 20 + [(1, 0)] * 20
        features = [
            whether(*(kind[place] for kind in kinds), words=word)
            for place, word in enumerate(("cold", "wet"))
        ]
        assert conditions_together(features, group(*range(members), of=len(kinds))) == told
