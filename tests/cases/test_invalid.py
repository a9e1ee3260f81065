"""Invalid questions: each has one defect, which our own validation refuses and the ledger names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grucible.__main__ import main
from grucible.cases.invalid import defects, invalid_questions
from grucible.cases.operators import OPERATORS
from grucible.cases.question import QuestionError, pose

ROOT = Path(__file__).parents[2]
EVERY = {one.id: one for one in invalid_questions()}


@pytest.mark.parametrize("name", OPERATORS)
def test_our_own_validation_refuses_every_one_and_takes_what_it_may_be_taken_for(name: str) -> None:
    operator = OPERATORS[name]
    for one in invalid_questions([name]):
        with pytest.raises(QuestionError):
            pose(operator, one.question.given, one.question.inputs)
        for valid in (one.valid, *one.may_be_taken_for()):
            again = pose(operator, valid.given, valid.inputs)
            assert again.outputs == one.question.outputs


def test_one_thing_is_wrong() -> None:
    """A question differs from its valid one in one attribute, or in one input."""
    for one in EVERY.values():
        names = one.valid.given.keys() | one.question.given.keys()
        wrong = [
            n for n in names if repr(one.valid.given.get(n)) != repr(one.question.given.get(n))
        ]
        inputs = one.valid.inputs.keys()
        wrong += [n for n in inputs if one.question.inputs.get(n) is not one.valid.inputs[n]]
        assert len(wrong) == 1, (one.id, wrong)
        assert one.defect.name.startswith(f"{wrong[0]}-")


def test_ids_are_unique_and_say_operator_and_dtype() -> None:
    assert len(EVERY) == len(list(invalid_questions())) > 900
    for one in EVERY.values():
        asked = one.question
        assert one.id == f"{asked.operator}/invalid/{asked.dtype}/{one.defect.name}"
        assert not set("*?[]") & set(one.id)


def test_what_decides_rests_on_the_owner_s_text_as_the_ledger_has_it() -> None:
    """What the owner's text forbids is a must; where it is silent, the line says that we chose."""
    for ledger, decides in {(one.ledger, one.defect.decides) for one in EVERY.values()}:
        page, _, entry = ledger.partition("#")
        text = (ROOT / "cases" / page).read_text(encoding="utf-8")
        [line] = re.findall(rf'^\| <a id="{entry}"></a>.*\| ([^|]*) \|$', text, re.M)
        assert line.startswith("text") or not decides, (ledger, line)


OPEN = {
    "openvino.GRUCell-3": {"linear_before_reset-two"},
    "openvino.GRUSequence-5": {"linear_before_reset-two", "B-other-float", "B-integer",
                               "sequence_lengths-negative", "sequence_lengths-beyond"},
    "onnx.GRU-14": {"clip-zero", "clip-negative", "clip-nan", "sequence_lens-negative",
                    "sequence_lens-beyond", *(f"activation_{parameter}-{count}"
                                              for parameter in ("alpha", "beta")
                                              for count in ("one", "three"))},
    "bnnsgraph.gru": set(),
    **{f"torch.{name}": {f"{tensor}-{kind}" for tensor in (*first, "weight_ih", "weight_hh", "bias_ih", "bias_hh")
                         for kind in ("other-float", "integer")} | open
       for name, first, open in (
           ("GRUCell", ("input", "hidden"), set()),
           ("GRU", ("input", "h_0"), {"lengths-negative", "lengths-zero", "lengths-beyond"}))},
    "keras.GRU": set(),
    "webnn.gru": set(), "webnn.gruCell": set(),
}  # fmt: skip


@pytest.mark.parametrize("operator", OPERATORS)
def test_what_must_be_refused_and_what_the_texts_leave_open(operator: str) -> None:
    found = {one.name: one.decides for one in defects(OPERATORS[operator])}
    assert {name for name, decides in found.items() if not decides} == OPEN[operator]


def test_the_numbers_of_the_valid_question_are_the_same_in_every_dtype() -> None:
    for one in EVERY.values():
        plain = EVERY[one.id.replace(f"/{one.question.dtype}/", "/float32/")].valid
        for name, array in one.valid.inputs.items():
            assert (array.astype(float) == plain.inputs[name].astype(float)).all()


def test_the_command_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    def listed(*arguments: str) -> tuple[object, list[str], str]:
        with pytest.raises(SystemExit) as ended:
            main(args=["cases", "--invalid", *arguments])
        out, err = capsys.readouterr()
        return ended.value.code, out.splitlines(), err

    assert listed() == (0, list(EVERY), "")
    select = "*/B-3H-where-4H"
    ids = [
        f"openvino.{name}/invalid/float16/B-3H-where-4H" for name in ("GRUCell-3", "GRUSequence-5")
    ]
    assert listed("--dtype", "float16", "--select", select) == (0, ids, "")
    assert listed("--select", "*/core/*")[0] == 2
    status, _, said = listed(str(ROOT / "cases"))
    assert (status, "--invalid takes no SPEC" in said) == (2, True)
