"""A runtime that wants to see what it is asked next: it is shown that, and whatever it does then is no finding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shipped import core_cases

from grucible import Question
from grucible.check.observed.isolated import IsolatedRuntime
from grucible.check.observed.pool import RUN, RuntimePool

from .conftest import HERE

NUMPY = f"""
import json, os, sys, time
from pathlib import Path
sys.path.insert(0, {str(HERE)!r})
from numpy_gru import run as answer
notes = Path(__file__).with_suffix(".notes")
def note(*words):
    with notes.open("a") as file:
        file.write(json.dumps(words) + "\\n")
def run(question):
    note("asked", question.id)
    return answer(question)
"""
SHOWS = """
def prepare_for(questions):
    note("shown", [[q.id, q.inputs["X"].tobytes().hex()] for q in questions])
run.prepare_for = prepare_for
"""
GOES_WRONG = {
    "raises": "raise ValueError",
    "ends its process": "os._exit(3)",
    "dies": "os.abort()",
    "hangs": "time.sleep(60)",
    "answers what was not asked": "os.write(answers, b'ok\\nend\\n')",
}
"""What `prepare_for` does; the pipe of answers is found among the descriptors of the process."""


def written(folder: Path, more: str) -> str:
    (folder / "shown.py").write_text(NUMPY + more)
    return f"{folder / 'shown.py'}:run"


def noted(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "shown.notes").read_text().splitlines()]


def questions(count: int, operator: str = "openvino.GRUCell-3") -> Sequence[Question]:
    found = [c.question for c in core_cases() if c.operator == operator and c.dtype == "float32"]
    return found[:count]


def test_it_is_shown_what_it_is_asked_and_before(tmp_path: Path) -> None:
    asked = questions(80)
    with closing(RuntimePool(written(tmp_path, SHOWS), 60.0)) as pool:
        replies = list(pool.answer(asked))
    assert [reply.status for reply in replies] == ["ok"] * len(asked)
    by_id = {question.id: question for question in asked}
    shown: list[str] = []
    for what, said in noted(tmp_path):
        if what == "asked":
            assert shown.pop(0) == said
            continue
        assert not shown, "the questions shown before have been asked"
        assert 0 < len(said) <= RUN
        shown = [name for name, _ in said]
        assert all(by_id[name].inputs["X"].tobytes().hex() == x for name, x in said)
    assert not shown


@pytest.mark.parametrize("what", GOES_WRONG)
def test_what_goes_wrong_then_is_no_finding(what: str, tmp_path: Path) -> None:
    """And it is shown nothing more, but for an exception, which the runtime may expect."""
    where = """
import fcntl
answers = max(fd for fd in range(3, 20) if Path(f"/proc/self/fd/{fd}").exists()
              and fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY)
"""
    body = (
        f"def prepare_for(questions):\n    note('shown', len(questions))\n    {GOES_WRONG[what]}\n"
    )
    spec = written(tmp_path, f"{where}{body}run.prepare_for = prepare_for\n")
    asked = questions(4)
    with closing(IsolatedRuntime(spec, 3.0)) as runtime:
        runtime.ready()
        for question in asked:
            runtime.prepare_for([question])
            reply = runtime.answer(question)
            assert (reply.status, reply.message) == ("ok", "")
            assert reply.outputs.keys() == question.outputs.keys()
    told = [what for what, _ in noted(tmp_path)]
    assert told.count("asked") == len(asked)
    assert told.count("shown") == (len(asked) if what == "raises" else 1)


@pytest.mark.parametrize("name", ["openvino", "openvino-constant", "openvino-dynamic"])
def test_openvino_gives_the_same_bits_for_nodes_that_were_compiled_together(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    openvino = pytest.importorskip(
        "grucible.check.runtimes.openvino", reason="the extra [openvino] is not installed"
    )
    from grucible.check.runtimes.posed import OPENVINO

    compiled: list[object] = []
    request_of = openvino.request_of
    monkeypatch.setattr(
        openvino, "request_of", lambda *given: compiled.append(1) or request_of(*given)
    )

    def answers(asked: Sequence[Question], *, prepared: bool) -> tuple[list[Any], int]:
        runtime = openvino.OpenVINO(OPENVINO[name])
        compiled.clear()
        if prepared:
            runtime.prepare_for(asked)
        return [answer(runtime, question) for question in asked], len(compiled)

    asked = [case.question for case in core_cases() if case.operator.startswith("openvino.")][::31]
    alone, models = answers(asked, prepared=False)
    together, fewer = answers(asked, prepared=True)
    assert together == alone
    assert sum(isinstance(one, list) for one in alone) > len(asked) // 2
    assert fewer == models if name == "openvino-dynamic" else fewer < models * 0.6


def test_what_one_node_refuses_is_not_left_to_the_others() -> None:
    together = pytest.importorskip(
        "grucible.check.runtimes.openvino", reason="the extra [openvino] is not installed"
    )
    import openvino as ov

    class Request:
        input_tensors = tuple(ov.Tensor(ov.Type.f32, ov.Shape([2])) for _ in range(2))

        def get_input_tensor(self, index: int) -> Any:
            return self.input_tensors[index]

        def infer(self) -> None:
            raise RuntimeError("not these numbers")

    part = together.Part(Request(), 1, slice(0, 1))
    with pytest.raises(RuntimeError, match=r"^not these numbers$"):
        part.inferred([np.full(2, np.nan, np.float32)])
    assert [tensor.data.tolist() for tensor in Request.input_tensors] == [[0, 0], [0, 0]]


def answer(runtime: Any, question: Question) -> object:
    """The outputs, by dtype and bytes, or what was said in place of them."""
    try:
        return [[n, a.dtype.name, a.tobytes()] for n, a in runtime(question).items()]
    except Exception as error:
        return str(error)
