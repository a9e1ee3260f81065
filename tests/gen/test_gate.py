"""The quality gate: a case too ill-conditioned to judge by is drawn again, and after that refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shipped import core_cases

from grucible.cases.operators.readings import STORED
from grucible.cases.specs.expand import CaseSpec, expand
from grucible.cases.specs.spec_file import load_spec
from grucible.gen.drawing import SMALLER, draw_inputs, make_chunks
from grucible.gen.tolerances.classes import CLASSES
from grucible.gen.tolerances.gate import GATE, GATE_FLOOR, objections, vacuous, vacuous_rows
from grucible.gen.tolerances.march import ErrorBounds
from grucible.vectors.case import REQUIRED, Answer

INF = float("inf")
OTHER = ("len-zero.initial-state",)


def case_of(tmp_path: Path, operator: str, dtype: str, sizes: str, given: str = "") -> CaseSpec:
    (tmp_path / "theme.yaml").write_text(
        f"operator: {operator}\nabout: one case\ndtypes: [{dtype}]\nsizes: {{{sizes}}}\n"
        f"cases:\n  - list:\n      - {{{given}}}\n"
    )
    [case] = expand(load_spec(tmp_path / "theme.yaml", "theme"))
    return case


def test_where_no_draw_says_enough_weights_become_smaller(tmp_path: Path) -> None:
    """W and R alone: from the attempt SMALLER on, and again at every third."""
    sizes = "batch_size: 2, seq_length: 3, input_size: 4, hidden_size: 3"
    case = case_of(tmp_path, "openvino.GRUSequence-5", "float32", sizes, "direction: forward")
    largest = [
        {name: np.abs(array).max() for name, array in draw_inputs(case, 0, attempt).items()}
        for attempt in (SMALLER - 1, SMALLER, SMALLER + 3)
    ]
    for name, power in (("X", 1), ("B", 0), ("initial_hidden_state", 0)):
        assert all(2.0 ** (power - 1) < one[name] < 2.0**power for one in largest)
    for name in ("W", "R"):
        first = np.ceil(np.log2(largest[0][name]))
        assert [np.ceil(np.log2(one[name])) for one in largest] == [first, first - 1, first - 2]


def test_a_parameter_that_the_dtype_cannot_hold_is_an_intermediate(tmp_path: Path) -> None:
    """An implementation in float16 would hold infinity for it."""
    given = (
        "activations: [Sigmoid, ScaledTanh], activation_alpha: [1.0e+5], activation_beta: [1.0e-3]"
    )
    sizes = "batch_size: 2, seq_length: 1, input_size: 2, hidden_size: 1"
    case = case_of(tmp_path, "onnx.GRU-14", "float16", sizes, given)
    [(_, [undrawn])] = make_chunks([[case]], seed=0)
    assert "an intermediate of 1e+05 is too near float16's overflow" in undrawn.why


# what it objects to


def bounds(
    x: list[float],
    float32: list[float],
    dtype: str = "float32",
    ho: tuple[Any, Any] = ([1.0], [0.0]),
) -> ErrorBounds:
    """Values of y (and of ho), and bounds of the class float32; those of every other class are vacuous."""

    def found(values: list[float]) -> Any:
        each = np.full((1, len(values), len(CLASSES[dtype])), np.inf)
        each[..., [one.name for one in CLASSES[dtype]].index("float32")] = values
        return each

    straddles = np.zeros((1, len(CLASSES[dtype])), bool)
    return ErrorBounds(np.array([x]), np.array([ho[0]]), found(float32), found(ho[1]), straddles)


def objection(under: Mapping[Any, ErrorBounds], dtype: str = "float32") -> str:
    """What the gate says of one case."""
    return objections(under, dict.fromkeys(("y", "ho"), np.ones(1, bool)), dtype).get(0, "")


SHARP, DULL = 0.999 * GATE * GATE_FLOOR, 1.001 * GATE * GATE_FLOOR


@pytest.mark.parametrize("dtype", CLASSES)
@pytest.mark.parametrize(
    ("x", "float32", "share"),
    [
        ([0.0] * 4, [SHARP] * 4, None),
        ([0.0] * 4, [DULL] * 4, "0 %"),
        ([0.0] * 4, [SHARP, SHARP, DULL, DULL], None),  # half of them are enough
        ([0.0] * 4, [SHARP, DULL, DULL, DULL], "25 %"),
        # padding, of which the bound is 0, is neither sharp nor dull
        ([0.0] * 4, [0.0, 0.0, 0.0, DULL], "0 %"),
        ([0.0] * 4, [0.0] * 4, None),
        # what is larger may be off by more
        ([10.0, -10.0], [100 * SHARP, 100 * SHARP], None),
        ([10.0, -10.0], [100 * DULL, 100 * DULL], "0 %"),
        ([0.05, -0.05], [SHARP, SHARP], None),
        ([0.0] * 2, [np.inf, np.nan], "0 %"),
        ([0.0] * 3, [SHARP, np.inf, np.inf], "33 %"),
    ],
)
def test_the_share_of_sharp_elements(
    x: list[float], float32: list[float], share: str | None, dtype: str
) -> None:
    words = objection({STORED: bounds(x, float32, dtype)}, dtype)
    assert words == (
        "float32 arithmetic is proven to be within 0.001 of the value for only "
        f"{share} of the elements of y; take fewer steps, smaller sizes or a smaller draw"
        if share
        else ""
    )


def test_every_output_that_is_asked_for_must_be_sharp_under_every_reading() -> None:
    good = bounds([1.0], [1e-6], ho=([1.0], [1e-6]))
    dull = {
        "y": bounds([1.0], [1.0], ho=([1.0], [1e-6])),
        "ho": bounds([1.0], [1e-6], ho=([1.0], [1.0])),
    }
    assert objection({STORED: good, OTHER: good}) == ""
    for role, bad in dull.items():
        end = f"of {role}; take fewer steps, smaller sizes or a smaller draw"
        assert objection({STORED: bad, OTHER: good}).endswith(end)
        assert objection({STORED: good, OTHER: bad}).endswith(f"{end}, under {OTHER[0]}")
        every = np.ones(len(bad.ho), bool)
        asked = [list(objections({STORED: bad}, {one: every}, "float32")) for one in ("y", "ho")]
        assert asked == [[0] * (role == one) for one in ("y", "ho")]


# tolerances that say nothing


def answer(values: list[float], limits: list[float], dtype: str = "float16") -> Answer:
    """One case of one output; the required class has `limits`, the coarsest those or a little."""
    array = np.array([limits], np.float32)
    tolerances = {one.name: {"Ho": array} for one in CLASSES[dtype]}
    return Answer({"Ho": np.array([values], np.float32)}, tolerances)


@pytest.mark.parametrize(
    ("values", "limits", "nothing", "elements"),
    [
        ([1.0, -1.0, 0.5], [0.999, 0.999, 0.499], 0, 3),
        ([1.0, -1.0, 0.5], [1.0, 1.0, 0.5], 3, 3),  # zero is just admitted
        ([0.0, 0.0, 0.5], [1e-9, 0.0, 0.25], 1, 2),  # a zero may be no more; padding is not counted
        ([1.0, 2.0], [INF, 1.0], 1, 2),
        ([float("nan"), INF, 1.0], [0.0, 0.0, 0.5], 2, 3),  # nothing but themselves is admitted
        ([0.0, 0.0], [0.0, 0.0], 0, 1),  # padding alone, in which nothing else is admitted
    ],
)
def test_what_says_nothing(
    values: list[float], limits: list[float], nothing: int, elements: int
) -> None:
    one = answer(values, limits)
    found, counted = vacuous(one, one.tolerances["float16"])
    assert (found.tolist(), counted.tolist()) == ([nothing], [elements])
    if not any(limits):  # limits of one's own admit more in padding
        found, counted = vacuous(one, {"Ho": np.array([[1e30, 1e30]])})
        assert (found.tolist(), counted.tolist()) == ([1], [1])


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ([0.5, 0.5, 2.0, 2.0], ""),  # half of them are enough
        ([0.5, 2.0, 2.0, 2.0], "the tolerance is larger than the value in 75 % of the elements"),
        ([0.5, 0.5, 0.5, INF], "the rounding error has no bound"),
        ([0.5, 0.0, 0.0, 2.0], ""),  # padding is no element
    ],
)
def test_what_decides(limits: list[float], says: str) -> None:
    good, bad = answer([1.0] * 4, [0.1] * 4), answer([1.0] * 4, limits)
    words = vacuous_rows({STORED: good, OTHER: bad}, "float16").get(0, "")
    assert words.startswith(f"in float16 arithmetic {says}" if says else "")
    assert bool(words) == bool(says)
    assert not says or words.endswith(f"under {OTHER[0]}")
    assert vacuous_rows({STORED: good}, "float16") == {}


def test_zero_is_no_answer_to_any_core_case_that_decides() -> None:
    """Not within the required tolerances: the judge's own rule is not used here."""
    for case in core_cases():
        if case.tier == "nonportable":
            continue
        required = REQUIRED[case.question.dtype]
        for one in case.answers.values():
            decides = [
                (np.abs(one.outputs[name].astype(np.float64)) > limit) | (limit == 0)
                for name, limit in one.tolerances[required].items()
            ]
            coarsest = CLASSES[case.question.dtype][-1].name
            known = [limit > 0 for limit in one.tolerances[coarsest].values()]
            words = sum(int((t & k).sum()) for t, k in zip(decides, known, strict=True))
            assert 2 * words >= sum(int(k.sum()) for k in known), case.id
            assert all(np.isfinite(limit).all() for limit in one.tolerances[required].values())
