"""`grucible show CASE --script NAME`: scripts that need nothing of grucible, and judge as it does."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from shipped import core_cases

from grucible import Case, load_vectors
from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.errors import GrucibleError, RuntimeNotUsable
from grucible.cases.operators import OPERATORS
from grucible.check.judging.criterion import Differences
from grucible.check.runtimes.posed import ONNX_FILES, OPENVINO, TORCH
from grucible.check.scripts import standalone
from grucible.check.scripts.bodies import model_lines
from grucible.check.scripts.script import array_text, script

from .conftest import HERE, Command, bad_usage

NAMES = [*ONNX_FILES, *OPENVINO, *TORCH]
MODULES = {"iree": "iree", "mnn": "MNN", "opencv": "cv2"}
CELL_CASE = "openvino.GRUCell-3/plain/float32/default"
WITHOUT = (
    "import runpy, sys; sys.modules['grucible'] = None; sys.argv = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)
"""Runs a script where grucible cannot be imported."""


def cases() -> dict[str, Case]:
    return {case.id: case for case in core_cases()}


def needs(name: str) -> None:
    """Skip where the runtime of this name is not installed."""
    family = name.partition("-")[0]
    of_chain = {"openvino"} if "openvino" in name else set()
    for module in {"onnx", MODULES.get(family, family)} | of_chain:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


def ended(text: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """How a script ends, in a folder of its own, without grucible."""
    file = folder / "reproducer.py"
    file.write_text(text, encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-P", "-c", WITHOUT, file, *arguments],
        cwd=folder, capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip


def scripts_for(name: str) -> Iterator[str]:
    """Scripts of a plain case, and of cases with many attributes, as far as they are asked."""
    operator = "onnx.GRU-14" if name in ONNX_FILES else "openvino.GRUCell-3"
    operator = "torch.GRUCell" if name in TORCH else operator
    yield script(cases()[f"{operator}/plain/float32/default"], name)
    small = [one for one in core_cases() if sum(a.size for a in one.inputs.values()) < 2000]
    for operator, dtype in product(OPERATORS, ("float32", "bfloat16")):
        mine = [one for one in small if (one.operator, one.dtype) == (operator, dtype)]
        with contextlib.suppress(GrucibleError, ValueError):
            yield script(max(mine, key=lambda case: len(case.given)), name)


def test_scripts_are_python_that_a_linter_passes_and_name_nothing_of_grucible(
    tmp_path: Path,
) -> None:
    names = [*NAMES, "exec: ./gru --flag", "pkg.mod:fn", "./my_gru.py:run"]
    for number, name in enumerate(names):
        for index, text in enumerate(scripts_for(name)):
            file = tmp_path / f"script_{number}_{index}.py"
            file.write_text(text, encoding="utf-8")
            compile(text, str(file), "exec")
            assert not re.search(r"^\s*(import|from) (grucible|\.)", text, re.M)
    linted = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select=F821,F823,E9", tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert linted.returncode == 0, linted.stdout


RUNS = [
    ("onnxruntime", "onnx.GRU-14/plain/float32/clip0.5", 0),
    ("onnxruntime-constant", "openvino.GRUSequence-5/plain/float32/ragged", 0),
    ("onnx-reference", "onnx.GRU-14/plain/bfloat16/default", 0),
    ("onnx-reference", "onnx.GRU-14/plain/float32/clip0.5", 1),
    ("openvino", "openvino.GRUCell-3/plain/bfloat16/default", 0),
    ("openvino-dynamic", "openvino.GRUSequence-5/plain/float32/ragged", 1),
    ("openvino-dynamic-parameters", "onnx.GRU-14/plain/float32/ragged", 0),
    ("openvino-onnx", "onnx.GRU-14/plain/float16/reverse", 0),
    ("opencv", "onnx.GRU-14/plain/float32/default", 0),
    ("opencv", "onnx.GRU-14/plain/float16/default", 1),
    ("mnn", "onnx.GRU-14/plain/float32/lbr1", 0),
    ("mnn-kernel", "onnx.GRU-14/plain/float32/clip0.5", 1),
    ("tract", "onnx.GRU-14/plain/float32/bidirectional", 0),
    ("tract", "openvino.GRUCell-3/plain/float32/clip0.5", 1),
    ("iree", "onnx.GRU-14/plain/float32/default", 0),
    ("torch", "torch.GRU/plain/bfloat16/bidirectional-batch_first-ragged", 0),
    ("torch", "torch.GRUCell/plain/float32/nohidden", 0),
    ("torch-onnx-legacy-dynamic", "torch.GRU/plain/float32/bidirectional-batch_first-ragged", 0),
    ("torch-openvino-dynamic", "onnx.GRU-14/plain/float32/bidirectional-lbr1", 0),
    ("torch-openvino", "torch.GRU/plain/float64/noh_0", 1),
]


@pytest.mark.parametrize(("name", "wanted", "status"), RUNS)
def test_a_script_tells_right_from_wrong_as_check_does(
    name: str, wanted: str, status: int, tmp_path: Path
) -> None:
    needs(name)
    result = ended(script(cases()[wanted], name), tmp_path)
    assert result.returncode == status, result.stderr
    *_, worst, last = result.stdout.splitlines()
    place = r"\w+\[[\d, ]+\]: expected \S+, got \S+; off by \S+, tolerance \S+"
    assert re.fullmatch(place + (": WRONG" if status else ""), worst) or status
    assert last.startswith("wrong: " if status else "right: all of ")


def test_the_model_of_a_script_is_the_model_that_grucible_makes() -> None:
    """But for the domain, whose default the text writes out."""
    pytest.importorskip("onnx")
    from grucible.vectors.exchange.node import one_node
    from grucible.vectors.exchange.onnx_model import model

    plain = [case for case in core_cases() if case.id.startswith("onnx.GRU-14/plain/")]
    for number, case in enumerate(plain):
        for name in ONNX_FILES if number % 8 == 0 else ("onnx",):
            made: dict[str, Any] = {"inputs": case.inputs}
            exec("\n".join(model_lines(case.question, name)), made)
            wanted = model(*one_node(case.question, ONNX_FILES[name])[:3])
            wanted.graph.node[0].domain = ""
            assert made["model"].SerializeToString() == wanted.SerializeToString(), case.id


def test_the_folder_of_onnx_is_what_export_writes(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from grucible.vectors.exchange.onnx_model import write_case

    case = cases()["onnx.GRU-14/plain/bfloat16/ragged"]
    result = ended(script(case, "onnx"), tmp_path, "saved")
    assert result.stdout.startswith("saved in saved: model.onnx"), result.stderr
    given: dict[str, Any] = {f"inputs/{name}": array for name, array in case.inputs.items()}
    given |= {f"outputs/{name}": array for name, array in case.answer.outputs.items()}
    write_case(tmp_path, "one", case, given)
    exported, saved = tmp_path / "cases" / "test_one", tmp_path / "saved"
    files = [*exported.rglob("*.pb")]
    assert len(files) == len(given)
    for file in files:
        assert (saved / file.relative_to(exported)).read_bytes() == file.read_bytes()
    models = [onnx.load(folder / "model.onnx") for folder in (exported, saved)]
    models[0].graph.node[0].domain = ""
    assert models[0] == models[1]


SPECIAL = [0.0, -0.0, 1.0, 1.5, -1.5, np.nan, np.inf, -np.inf, 1e308, -1e308]


unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@unhurried
@given(
    st.lists(
        st.tuples(*[st.sampled_from(SPECIAL) | st.floats(-2, 2)] * 2,
                  st.sampled_from([0.0, 0.5, np.inf, np.nan]) | st.floats(0, 1, width=32)),
        min_size=1, max_size=6),
    st.booleans(),
)  # fmt: skip
def test_a_script_judges_as_grucible_does(
    rows: list[tuple[float, float, float]], signed: bool
) -> None:
    expected, got, tolerance = (np.array(column) for column in zip(*rows, strict=True))
    limit = {"Y": tolerance.astype(np.float32)}
    wrong, worst = standalone.compare({"Y": expected}, limit, {"Y": got}, signed)
    e, o, t = ({"Y": array[None]} for array in (expected, got, limit["Y"]))
    judged = Differences(e, o, "float64", signed_zero=signed).worst(t)
    assert (wrong == 0) == bool(judged.passed[0])
    assert worst.startswith(f"Y[{judged.element[0]}]: expected ")


@unhurried
@given(st.data())
def test_numbers_keep_their_bits(data: st.DataObject) -> None:
    kind = data.draw(
        st.sampled_from([*(one.numpy for one in FLOAT_TYPES.values()), np.dtype("i4")])
    )
    bits = data.draw(arrays(f"u{kind.itemsize}", (2, 3)))
    array = bits.view(kind)
    scope = {"np": np, "ml_dtypes": ml_dtypes, "nan": np.nan, "inf": np.inf}
    made = eval(array_text(array), scope)
    assert made.dtype == array.dtype
    same = made.view(bits.dtype) == bits
    assert (same | np.isnan(array.astype(np.float64))).all()


def test_any_accepted_reading_is_right(some_vectors: Path, tmp_path: Path) -> None:
    [case] = [case for case in load_vectors(some_vectors) if case.id.endswith("/s-zero")]
    assert len(case.answers) > 1
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef run(question):\n    return dict(np.load('given.npz'))\n"
    )
    statuses = []
    answers = [answer.outputs for answer in case.answers.values()]
    for outputs in (*answers, {name: array + 1 for name, array in answers[0].items()}):
        np.savez(tmp_path / "given.npz", allow_pickle=False, **outputs)
        statuses.append(ended(script(case, "mine:run"), tmp_path).returncode)
    assert statuses == [*(0 for _ in answers), 1]


def test_of_a_case_that_is_not_portable_the_sign_of_zero_counts() -> None:
    case = cases()[CELL_CASE]
    odd = dataclasses.replace(case, tier="nonportable")
    assert "signed_zero=True))" in script(odd, "openvino")
    assert "# It is not portable: another result is no fault.\n" in script(odd, "openvino")
    assert "signed_zero=False))" in script(case, "openvino")


FUNCTIONS = {
    "h = np.load('h.npy')": (0, "right: all of "),
    "h = question.buffers()['Ho']; h[...] = np.load('h.npy')": (0, "right: all of "),
    "h = np.load('h.npy').astype('>f4')": (0, "right: all of "),
    "h = np.load('h.npy') + 1": (1, "wrong: 18 of 18 elements"),
    "h = question.buffers()['Ho']": (1, "wrong: 18 of 18 elements"),
    "return {'W': h}": (1, "wrong: expected "),
    "return {'Ho': h, 'more': h}": (1, "wrong: expected "),
    "return {'Ho': h[:1]}": (1, "wrong: expected "),
    "return {'Ho': h.astype('f8')}": (1, "wrong: expected "),
    "return [('Ho', h)]": (1, "refused: TypeError: "),
    "return None": (1, "refused: TypeError: "),
    "raise SystemExit(0)": (1, "refused: SystemExit"),
    "raise ValueError('\\udc00\\x1b[2J')": (1, "refused: ValueError"),
    "import grucible; raise grucible.Unsupported('no')": (1, "refused: Unsupported: no"),
    "import no_such": (2, "not run: "),
}


@pytest.mark.parametrize("line", FUNCTIONS)
@pytest.mark.parametrize("name", ["./mine.py:run", "mine:run"])
def test_a_function_is_called_and_judged(line: str, name: str, tmp_path: Path) -> None:
    case = cases()[CELL_CASE]
    np.save(tmp_path / "h.npy", case.answer.outputs["Ho"])
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef run(question):\n    h = np.zeros((3, 6), 'f4')\n"
        f"    {line}\n    return {{'Ho': h}}\n"
    )
    result = ended(script(case, name), tmp_path)
    status, last = FUNCTIONS[line]
    assert result.returncode == status, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1].startswith(last)
    assert result.stdout.replace("\n", "").isascii()
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("name", ["mine:run", "./{mi'ne}.py:run", "onnxruntime"])
def test_what_cannot_be_loaded_is_not_run(name: str, tmp_path: Path) -> None:
    plain = "onnx.GRU-14/plain/float32/default" if name == "onnxruntime" else CELL_CASE
    text = script(cases()[plain], name).replace("import onnxruntime", "import no_such")
    for broken in ("import no_such\ndef run(q): ...\n", "def run(:\n", "raise SystemExit(0)\n"):
        for file in ("mine.py", "{mi'ne}.py"):
            (tmp_path / file).write_text(broken)
        result = ended(text, tmp_path)
        assert result.returncode == 2, result.stdout
        assert result.stdout.splitlines()[-1].startswith("not run: ")


HELLO, END = "print('grucible 1\\nend')", "print('end')"
OUTPUT = "print('output Ho float32 3x6 72')"
PROGRAMS = {
    "right": ([HELLO, "print('ok')", OUTPUT, END], 0, "right: "),
    "another question": ([HELLO, "print('ok\\nquestion other')", OUTPUT, END], 1, "refused: "),
    "twice": ([HELLO, "print('ok')", OUTPUT, OUTPUT, END, "h += h"], 1, "refused: "),
    "one too many": (
        [HELLO, "print('ok')", OUTPUT, "print('output more float32 1 4')", END, "h += h"],
        1,
        "wrong: ",
    ),
    "none": ([HELLO, "print('ok')", END], 1, "wrong: "),
    "cut": ([HELLO, "print('ok')", OUTPUT, END, "h = h[:-1]"], 1, "refused: "),
    "not ended": ([HELLO, "print('ok')", OUTPUT], 1, "refused: "),
    "unsupported": ([HELLO, "print('unsupported \\x1b[31mBAD\\u202e')", END], 1, "refused: "),
    "silent": ([HELLO, "sys.exit(3)"], 1, "no answer: the program ended with exit status 3"),
    "dead": (
        [HELLO, "sys.stdout.flush(); import os; os.kill(os.getpid(), 11)"],
        1,
        "no answer: the program died of SIGSEGV",
    ),
    "dead in its outputs": (
        [
            HELLO,
            "print('ok')",
            OUTPUT,
            END,
            "sys.stdout.flush(); import os; os.kill(os.getpid(), 6)",
        ],
        1,
        "no answer: the program died of SIGABRT",
    ),
    "dead at its start": (["sys.exit(3)"], 2, "not run: "),
    "no hello": (["print('\\x1b[31mBAD\\u202e')", OUTPUT, END], 2, "not run: "),
    "unusable": (["print('unusable no device')", END], 2, "not run: "),
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_program_is_asked_and_judged(what: str, tmp_path: Path) -> None:
    lines, status, last = PROGRAMS[what]
    file = tmp_path / "answers.py"
    head = ["import sys", f"h = {cases()[CELL_CASE].answer.outputs['Ho'].tobytes()!r}"]
    put = "sys.stdout.flush(); sys.stdout.buffer.write(h)"
    file.write_text("\n".join([*head, *lines, put, ""]))
    result = ended(script(cases()[CELL_CASE], f"exec: {sys.executable} {file}"), tmp_path)
    assert result.returncode == status, result.stdout + result.stderr
    assert result.stdout.splitlines()[-1].startswith(last)
    assert ("Traceback" in result.stderr) == last.startswith(("refused", "not run"))
    for text in (result.stdout, result.stderr):
        assert text.replace("\n", "").isprintable()


def test_a_program_that_does_not_start_or_end() -> None:
    with pytest.raises(ImportError, match="does not start"):
        standalone.answer_of(["./nothing"], "", b"", 1)
    silent = ["sh", "-c", "echo grucible 1; echo end; exec sleep 600"]
    with pytest.raises(ChildProcessError, match=r"did not answer in 0\.2 s"):
        standalone.answer_of(silent, "", b"", 0.2)


def test_what_is_no_script(
    command: Command, some_vectors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "onnx.GRU-14/plain/float64/default"
    for name, says in {
        "tractor": "'tractor' is unknown \\(did you mean 'tract'\\?\\)",
        "onnxruntime": "ONNX Runtime's GRU has no float64",
        "./mine.py:": "'' is not the name of a function",
        "exec: ": "expected a program after exec:",
    }.items():
        bad_usage(command("show", asked, "--script", name), says)
    bad_usage(command("show", asked, "--full", "--script", "onnx"), "--full does not go")
    bad_usage(command("show", some_vectors, "*good", "--script", "tract"), "2 cases match")
    two = "onnx.GRU-14/plain/float32/bidirectional-Sigmoid_Tanh_Tanh_Relu"
    bad_usage(
        command("show", two, "--script", "openvino"), "cannot be asked as openvino.GRUSequence-5"
    )
    case = cases()["onnx.GRU-14/plain/float32/default"]
    with pytest.raises(RuntimeNotUsable):
        script(case, "mine:a b")
    monkeypatch.setattr("grucible.check.scripts.script.MOST_NUMBERS", 1)
    with pytest.raises(GrucibleError, match=r"would hold \d+ numbers.* shrink; .* export"):
        script(case, "tract")


def test_files_of_any_runtime_were_observed_of_none(command: Command) -> None:
    made = command("show", "onnx.GRU-14/plain/float32/default", "--script", "onnx")
    assert (made.status, made.err) == (0, "")
    assert "Expected is the exact result" in made.out
    assert not re.search("observed|unknown", made.out)


def test_the_command_says_what_was_observed_or_why_nothing_was(
    command: Command, tmp_path: Path
) -> None:
    (tmp_path / "odd.py").write_text("def run(question):\n    return {}\n")
    for name, said in {
        f"{HERE / 'numpy_gru.py'}:run": r"gave this when the script was made, right: .*# Ho: -?\d",
        f"{tmp_path / 'odd.py'}:run": "gave no outputs when this was made: error, returned nothing; expected Ho",
        f"exec: {tmp_path / 'nothing'}": "# Not observed when this was made: ",
    }.items():
        made = command("show", CELL_CASE, "--script", name)
        assert made.status == 0, made.err
        assert made.err.startswith("grucible: not observed: ") == ("Not observed" in said)
        text = re.sub(r"\n#  +", " ", made.out).replace("\n", " ")
        assert re.search(said, text), text
        assert f"# made by   grucible show {CELL_CASE} --script " in text
