"""What is solved for: sums that nobody wrote down, from independent kernels; and their names."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"
from __future__ import annotations

import re

import numpy as np
import pytest
from diagnosis.kernel import H, Kernel, R, Z, kernel
from diagnosis.run import Sentence, findings_of, report_of
from diagnosis.wrong import SEQUENCE, WrongGru
from hypothesis import given
from hypothesis import strategies as st

from grucible import Report
from grucible.check.diagnosis.solving import _member
from grucible.gen.variants.families import FAMILIES
from grucible.gen.variants.known import variant_called
from grucible.gen.variants.sums import PRODUCTS, with_terms


def reset_reads_update(self, x, h, p):
    return self.activated(
        p.f, self.pre_activation(x, h, p, R) - 0.25 * self.pre_activation(x, h, p, Z), p
    )


def candidate_with_more(self, x, h, reset, p):
    more = self.product(x, p.w[Z]) + 0.5 * self.product(h, p.r[R])
    v = self.product(x, p.w[H]) + self.recurrent(h, reset, p) + p.wb[H] + more.astype(x.dtype)
    return self.activated(p.g, v, p)


def blended_in_part(_, z, new, h):
    return np.asarray((1 - z) * new + 0.75 * z * h)


def reset_with_half_of_update(self, x, h, p):
    return self.activated(p.f, self.pre_activation(x, h, p, R), p) + (
        0.5 * self.update_gate(x, h, p)
    ).astype(x.dtype)


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    wrong = {
        "reset": kernel(reset_gate=reset_reads_update),
        "candidate": kernel(candidate=candidate_with_more),
        "blend": kernel(blend=blended_in_part),
        "gates": kernel(reset_gate=reset_with_half_of_update),
    }
    return {
        name: report_of(WrongGru(name, "", SEQUENCE, "", one, ())) for name, one in wrong.items()
    }


@pytest.mark.parametrize(
    ("name", "about"),
    [
        (
            "reset",
            "0.25 times the update gate's pre-activation subtracted from the reset gate's pre-activation",
        ),
        (
            "candidate",
            r"Xt\*\(Wz\^T\) added to the candidate's pre-activation.*0.5 times Ht-1\*\(Rr\^T\) added",
        ),
        ("blend", "0.75"),
        ("gates", "0.5 times zt added to the reset gate rt"),
    ],
)
def test_a_sum_that_nobody_wrote_down(reports: dict[str, Report], name: str, about: str) -> None:
    found = findings_of(reports[name])
    assert found.unexplained == 0
    [sentence] = found.sentences
    assert sentence.certain

    assert re.search(about, sentence.text), sentence.text


def sentence_on(wrong: type[Kernel]) -> Sentence:
    """Find the one sentence on a wrong kernel, which is certain."""
    [sentence] = findings_of(report_of(WrongGru("", "", SEQUENCE, "", wrong, ()))).sentences
    assert sentence.certain
    return sentence


def test_float16_and_tf32_of_even_halves_are_not_told_apart() -> None:
    def tf32(v):
        bits = np.ascontiguousarray(v, np.float32).view(np.uint32)
        bits = (bits + 0xFFF + ((bits >> 13) & 1)) & np.uint32(0xFFFFE000)
        return bits.view(np.float32).astype(v.dtype)

    found = sentence_on(kernel(product=lambda _, v, m: np.asarray(tf32(v) @ tf32(m).T)))
    what = "the operands of products rounded to"
    assert {found.text, *found.others} == {f"{what} float16", f"{what} TF32, halves to even"}


def test_another_function_is_off_by_what_it_is_off_by() -> None:
    """Straight lines that are fitted to a bend lie beyond it, here by a sixth."""
    at = np.linspace(-4, 4, 17)
    table = kernel(tanh=lambda _, v: np.interp(v, at, np.tanh(at)).astype(v.dtype))
    here = r"about (\S+) too (small .* near 0\.75|large .* near -0\.75)$"
    found = re.search(here, sentence_on(table).text)
    assert found
    assert float(found[1]) == pytest.approx(np.tanh(0.75) - np.tanh([0.5, 1.0]).mean(), rel=0.05)


@given(st.data())
def test_a_name_says_the_whole_sum(data: st.DataObject) -> None:
    target = data.draw(st.sampled_from(sorted(PRODUCTS)))
    products = data.draw(st.lists(st.sampled_from(PRODUCTS[target]), min_size=1, unique=True))
    numbers = [data.draw(st.floats(-1e6, 1e6).filter(bool)) for _ in products]
    made = with_terms(target, dict(zip(products, numbers, strict=True)))
    assert variant_called(made.name).name == made.name


@pytest.mark.parametrize("name", ["a_z+=1*t", "a_z+=", "a_z+=x*h", "state+=1*h+", "q+=1*h"])
def test_what_is_no_sum_has_no_variant(name: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        variant_called(name)


@pytest.mark.parametrize(
    ("family", "below"),
    [("z-limited", False), ("z-rounded", False), ("clip-scaled", False), ("z-leaky", True)],
)
def test_a_number_has_a_sign_that_it_may_have(family: str, below: bool) -> None:
    guess = _member(FAMILIES[family], 2.0)
    assert guess.rounded[0] == (FAMILIES[family].member(2.0),)
    assert bool(guess._replace(numbers=np.array([-2.0])).rounded) is below
    assert bool(guess._replace(numbers=np.array([0.0])).rounded) is below
