"""What globs select, and what they cannot."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grucible.cases.selection import AND, Ids, matches, may_select, of_dtypes, selected

ID = "openvino.GRUCell-3/core/float32/lbr-[x]-sigmoid_tanh"


PART = st.sampled_from([ID[:9], ID[9:20], ID[20:34], "[[]x]", "*", "?", "", "x", "[!a]", " & "])


@given(st.lists(PART, max_size=6).map("".join), st.text("abxy/-.3[]", max_size=9))
def test_what_matches_may_be_selected_by_every_prefix_of_it(glob: str, other: str) -> None:
    for case_id in (ID, other):
        if selected(case_id, [glob]):
            prefixes = (case_id[:end] for end in range(len(case_id) + 1))
            assert all(may_select(prefix, ["nothing", glob]) for prefix in prefixes)


@pytest.mark.parametrize(
    ("glob", "prefix", "may"),
    [
        ("openvino.GRUCell-3/core/float32/a", "openvino.GRUCell-3/core/float16/", False),
        ("openvino.GRUCell-3/core/float32/*", "openvino.GRUSequence-5/core/", False),
        ("onnx.GRU-14/core/float[36]*", "onnx.GRU-14/core/bfloat16/", False),
        ("onnx", "onnx.GRU-14/core/", False),
        ("*/float32/* & onnx.*", "openvino.GRUCell-3/core/", False),
        ("onnx.GRU-14/a & b/float32/x", "onnx.GRU-14/a & c/", False),
        ("onnx.GRU-14/a & b/float32/x", "onnx.GRU-14/a & b/", True),
    ],
)
def test_what_stands_before_the_first_wildcard_decides(glob: str, prefix: str, may: bool) -> None:
    assert may_select(prefix, [glob]) is may
    assert may_select(prefix, []) is True


@pytest.mark.parametrize(
    ("select", "dtypes", "chosen"),
    [
        ([], [], ["o/a/f16/x", "o/a/f32/x", "o/f32/f16/y"]),
        ([], ["f32"], ["o/a/f32/x"]),
        (["*/x"], [], ["o/a/f16/x", "o/a/f32/x"]),
        (["*/x"], ["f16"], ["o/a/f16/x"]),
        (["*/x", "*/y"], ["f16"], ["o/a/f16/x", "o/f32/f16/y"]),
        (["*/x"], ["f16", "f32"], ["o/a/f16/x", "o/a/f32/x"]),
        (["*/y"], ["f32"], []),
    ],
)
def test_of_what_is_selected_some_dtypes(
    select: list[str], dtypes: list[str], chosen: list[str]
) -> None:
    ids = ["o/a/f16/x", "o/a/f32/x", "o/f32/f16/y"]
    assert [one for one in ids if selected(one, of_dtypes(select, dtypes))] == chosen


@pytest.mark.parametrize("case_id", ["o/a/f16/x & y", "o/a & b/f16/x", "o/[a]/f16/x & *"])
def test_an_id_that_holds_what_globs_mean_otherwise_is_found_by_itself(case_id: str) -> None:
    for select in ([case_id], of_dtypes([case_id], ["f16"])):
        assert selected(case_id, select)
        assert may_select(case_id.rpartition("/")[0], select)
    assert not selected(case_id, of_dtypes([case_id], ["f32"]))


GLOBS = ["*", "onnx*", "*/float32/*", "*[0-9]", "*[!0-9]", "a[*]b", "[x", "*[x", "*x]", "?nnx*", "", "a & b",
         "x & x", "*/float32/* & *relu*", "onnx.GRU-14/t/float32/x", "a*", "a]*", "*.*?x"]  # fmt: skip
IDS = [
    "onnx.GRU-14/t/float32/x",
    "onnx.GRU-14/t/float16/relu1",
    "a[*]b",
    "[x",
    "a & b",
    "x",
    "",
    "a*",
    "ax]",
]


def test_several_globs_select_what_each_of_them_matches() -> None:
    for case_id in IDS:
        for glob in GLOBS:
            assert selected(case_id, [glob]) == matches(case_id, glob), (case_id, glob)
        for pair in itertools.combinations(GLOBS, 2):
            assert selected(case_id, pair) == any(matches(case_id, one) for one in pair)


def test_many_globs_are_held_against_ids_as_one_is() -> None:
    ids = Ids(IDS)
    for glob in [*GLOBS, *(AND.join(pair) for pair in itertools.combinations(GLOBS, 2)), *IDS]:
        assert set(ids.matching(glob)) == {one for one in IDS if matches(one, glob)}, glob
