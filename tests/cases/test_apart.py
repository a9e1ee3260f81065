"""Parsers in a process of their own: what they return comes back, and what they do to it stays there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import parsing
import pytest

from grucible.cases.apart import NotParsed, parse_apart
from grucible.cases.errors import GrucibleError


def test_a_tree_comes_back() -> None:
    found, wanted = parse_apart(parsing.tree, 5), parsing.tree(5)
    np.testing.assert_equal(found["numbers"], wanted["numbers"])
    for one, other in zip(found.pop("others"), wanted.pop("others"), strict=True):
        assert getattr(one, "dtype", one) == getattr(other, "dtype", other)
        assert np.array_equal(one, other)
    assert found["/array"] == "no array"
    with pytest.raises(ValueError, match="read-only"):
        found["numbers"][0] = 1


@pytest.mark.parametrize(
    ("parser", "says"),
    [
        (parsing.crash, "its process ended with SIGSEGV"),
        (parsing.hang, "it takes too long"),
        (parsing.fill_memory, "it takes too much memory"),
        (parsing.fail, "bad bytes"),
    ],
)
def test_what_ends_a_parser_is_an_error_and_the_next_one_is_served(
    parser: Callable[[], Any], says: str
) -> None:
    with pytest.raises(NotParsed, match=says):
        parse_apart(parser, seconds=1)
    assert parse_apart(parsing.tree, 1)["numbers"].tolist() == [0.0]


def test_an_error_of_grucible_keeps_its_text() -> None:
    with pytest.raises(GrucibleError, match=r"^x\.h5: is no file$") as error:
        parse_apart(parsing.refuse)
    assert not isinstance(error.value, NotParsed)
