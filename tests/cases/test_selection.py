"""What globs, operators and dtypes select, and what they cannot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grucible.cases.selection import Ids, Selection, literal, matches, may_select, selected

ID = "openvino.GRUCell-3/core/float32/lbr-[x]-sigmoid_tanh"
PART = st.sampled_from([ID[:9], ID[9:20], ID[20:34], "[[]x]", "*", "?", "", "x", "[!a]", " & "])
GLOBS = st.lists(PART, max_size=6).map("".join)
DTYPES = st.sets(st.sampled_from(["float16", "float32"]))
OPERATORS = st.sets(st.sampled_from(["openvino.GRUCell-3", "onnx.GRU-14"]))


@given(st.lists(GLOBS), OPERATORS, DTYPES, st.text("abxy/-.3[]", max_size=9))
def test_what_is_selected_may_be_by_every_prefix(
    globs: list[str], operators: set[str], dtypes: set[str], other: str
) -> None:
    for case_id in (ID, other + "/x/float16/y"):
        matched = not globs or any(matches(case_id, glob) for glob in globs)
        assert selected(case_id, globs) == matched
        narrower = Selection(globs, operators, dtypes)
        operator, _, dtype, *_ = case_id.split("/")
        chosen = matched and operator in (operators or [operator]) and dtype in (dtypes or [dtype])
        assert selected(case_id, narrower) == chosen
        for select in [globs] * matched + [narrower] * chosen:
            assert all(may_select(case_id[:end], select) for end in range(len(case_id) + 1))


@pytest.mark.parametrize(("glob", "prefix", "may"), [
    ("openvino.GRUCell-3/core/float32/a", "openvino.GRUCell-3/core/float16/", False),
    ("openvino.GRUCell-3/core/float32/*", "openvino.GRUSequence-5/core/", False),
    ("onnx.GRU-14/core/float[36]*", "onnx.GRU-14/core/bfloat16/", False),
    ("onnx", "onnx.GRU-14/core/", False),
    ("*/x", "onnx.GRU-14/core/float16/", True),
    ("onnx.GRU-14/a[b]/float32/x", "onnx.GRU-14/a[b]/", True),
    ("*/float32/* & onnx.GRU-14/*", "openvino.GRUCell-3/core/", False),
    ("*/float32/* & onnx.GRU-14/*", "onnx.GRU-14/core/", True),
])  # fmt: skip
def test_what_stands_before_the_first_wildcard_decides(glob: str, prefix: str, may: bool) -> None:
    assert may_select(prefix, [glob]) is may
    assert may_select(prefix, []) is True
    assert may_select(prefix, Selection([glob], [], ["float32"])) is (
        may and "float16" not in prefix
    )
    of_gru = Selection([glob], ["onnx.GRU-14"], [])
    assert may_select(prefix, of_gru) is (may and prefix.startswith("onnx"))


@given(st.lists(st.text("ab[]*?!", max_size=5)), st.text("ab[]*?!", max_size=5))
def test_a_text_made_literal_names_itself(texts: list[str], text: str) -> None:
    assert matches(text, literal(text))
    assert matches(text, text)
    assert literal(text) in texts or set(Ids([*texts, text]).matching(literal(text))) == {text}


def test_of_joined_globs_an_id_matches_each() -> None:
    assert matches(ID, "openvino.* & */core/* & *sigmoid*")
    assert not matches(ID, "openvino.* & */plain/*")
    assert Ids([ID, "x"]).matching("open* & *tanh") == [ID]
