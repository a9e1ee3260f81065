"""`grucible show CASE --script NAME`: scripts that need nothing of grucible, and judge as it does."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import py_compile
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shipped import core_blocks, core_cases

from grucible import Case, load_vectors
from grucible.cases.conversion import NotExpressible, ask
from grucible.cases.dtypes import FLOAT_TYPES
from grucible.cases.errors import GrucibleError, RuntimeNotUsable
from grucible.cases.operators.known import OPERATORS
from grucible.check.judging.compare import compare
from grucible.check.runtimes.posed import ONNX_FILES, OPENVINO
from grucible.check.scripts.asked_case import asked_by
from grucible.check.scripts.comparing import bfloat16, bits, held
from grucible.check.scripts.numbers import array_text, number
from grucible.check.scripts.program import answer_of
from grucible.check.scripts.script import MOST_NUMBERS, script
from grucible.check.scripts.verbatim import Verbatim
from grucible.vectors.case import REQUIRED

from .conftest import HERE, Command, bad_usage
from .made import CELL

NAMES = [*ONNX_FILES, *OPENVINO]
MODULES = {
    "iree": "iree.compiler",
    "mnn": "MNN",
    "opencv": "cv2",
    "onnx": "onnx",
    "openvino": "openvino",
    "onnxruntime": "onnxruntime",
    "tract": "tract",
}
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
    for module in ("onnx", MODULES[name.partition("-")[0]]):
        if importlib.util.find_spec(module.partition(".")[0]) is None:
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


def most_given(operator: str, dtype: str) -> Case:
    """The small case of an operator that writes out most attributes."""
    found = [case for case in core_cases() if case.operator == operator and case.dtype == dtype]
    return max(
        found, key=lambda case: (len(case.given), -sum(a.size for a in case.inputs.values()))
    )


def scripts_for(name: str) -> Iterator[str]:
    """Scripts of a plain case, of cases with all attributes, and of bfloat16, as far as they are asked."""
    found = [
        cases()[
            f"{'onnx.GRU-14' if name in ONNX_FILES else 'openvino.GRUCell-3'}/plain/float32/default"
        ]
    ]
    for operator in OPERATORS:
        found += [most_given(operator, dtype) for dtype in ("float32", "bfloat16")
                  if dtype in OPERATORS[operator].dtypes()]  # fmt: skip
    for case in found:
        try:
            yield script(case, name)
        except GrucibleError:
            if case is found[0]:
                raise


@pytest.mark.rows(4)
@pytest.mark.parametrize("name", [*NAMES, "exec: ./gru --flag", "pkg.mod:fn", "./my_gru.py:run"])
def test_a_script_is_python_that_a_linter_passes_and_names_nothing_of_grucible(
    name: str, tmp_path: Path
) -> None:
    for index, text in enumerate(scripts_for(name)):
        file = tmp_path / f"script_{index}.py"
        file.write_text(text, encoding="utf-8")
        py_compile.compile(str(file), doraise=True)
        assert not re.search(r"^\s*(import|from) (grucible|\.)", text, re.M)
        assert "Array" not in text
        assert max(len(line) for line in text.splitlines() if "https:" not in line) <= 120
    if importlib.util.find_spec("ruff"):
        linted = subprocess.run(
            [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", tmp_path],
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
]


@pytest.mark.rows(3)
@pytest.mark.parametrize(("name", "wanted", "status"), RUNS)
def test_a_script_tells_right_from_wrong(
    name: str, wanted: str, status: int, tmp_path: Path
) -> None:
    needs(name)
    result = ended(script(cases()[wanted], name), tmp_path)
    assert result.returncode == status, result.stderr
    *_, worst, last = result.stdout.splitlines()
    if status:
        assert worst.endswith(": WRONG")
        assert last.startswith("wrong: ")
    else:
        assert re.match(r"\w+\[[\d, ]+\]: expected \S+, got \S+; off by \S+, tolerance \S+$", worst)
        assert last.startswith("right: all of ")


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    needs("tract")
    page = (HERE.parents[1] / "check" / "README.md").read_text(encoding="utf-8")
    name, said = re.findall(
        r"show (\S+) --script tract > clip.py\n    python clip.py\n\n```text\n(.*?)```", page, re.S
    )[0]
    printed = ended(script(cases()[name], "tract"), tmp_path).stdout.splitlines()
    assert printed[2:] == said.splitlines()[2:]
    assert printed[1].startswith("Y[0, 0, 2, 2]: expected -0.40346995, got -0.77933")


@pytest.mark.parametrize(
    "raised", ["SystemExit(0)", "KeyboardInterrupt()", "ValueError('\\udc00\\x1b[2J')"]
)
def test_whatever_ends_the_runtime_the_script_says_refused(raised: str, tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text(f"def run(question):\n    raise {raised}\n")
    text = script(cases()["openvino.GRUCell-3/plain/float32/lbr"], f"{tmp_path / 'ends.py'}:run")
    result = ended(text, tmp_path)
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1].startswith(f"refused: {raised.partition('(')[0]}")
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("last", ["os._exit(0)", "os.abort()", "atexit.register(os._exit, 0)"])
def test_a_function_that_ends_its_process_is_not_right(last: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"import atexit, os\n\ndef run(question):\n    {last}\n")
    case = cases()["openvino.GRUCell-3/plain/float32/default"]
    found = ended(script(case, "mine:run"), tmp_path)
    assert found.returncode == 1
    assert re.fullmatch(
        r"refused: the process ended \(exit status -?\d+\) before there was a verdict",
        found.stdout.splitlines()[-1],
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("os._exit(100)", "refused: the process ended (exit status 100) before there was a verdict"),
        ("atexit.register(os._exit, 0)", "refused: the process ended (exit status 0) before"),
        ("multiprocessing.get_context('spawn').Process(target=id, args=[0]).start()", "wrong: 18 of 18"),
    ],
)  # fmt: skip
def test_one_verdict_is_printed_however_the_function_ends(
    lines: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(
        "import atexit, multiprocessing, os\nimport numpy as np\ndef run(question):\n"
        f"    {lines}\n    return {{'Ho': np.zeros((3, 6), np.float32)}}\n"
    )
    found = ended(script(cases()[CELL_CASE], "mine:run"), tmp_path)
    verdicts = [s for s in found.stdout.splitlines() if s.startswith(("wrong: ", "refused: "))]
    assert (found.returncode, len(verdicts)) == (1, 1), found.stdout + found.stderr
    assert verdicts[0].startswith(said)


def test_a_process_that_does_not_end_is_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("grucible.check.scripts.script.SECONDS", 2)
    (tmp_path / "mine.py").write_text(
        "import threading, time\nimport numpy as np\ndef run(question):\n"
        "    threading.Thread(target=time.sleep, args=[60]).start()\n"
        "    return {'Ho': np.zeros((3, 6), np.float32)}\n"
    )
    found = ended(script(cases()[CELL_CASE], "mine:run"), tmp_path)
    assert found.returncode == 1
    assert found.stdout.splitlines()[-1] == (
        "refused: the process did not end in 2 s, and was stopped; does a thread go on?"
    )


def test_a_refusal_is_the_last_line_and_its_traceback_is_told(tmp_path: Path) -> None:
    needs("openvino")
    result = ended(script(cases()["openvino.GRUCell-3/plain/float32/noB"], "openvino"), tmp_path)
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1].startswith("refused: RuntimeError: ")
    assert "Traceback" in result.stderr


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_folder_of_onnx_is_what_export_writes(dtype: str, tmp_path: Path) -> None:
    needs("onnx")
    from grucible.vectors.exchange.onnx_test import write

    case = cases()[f"onnx.GRU-14/plain/{dtype}/ragged"]
    result = ended(script(case, "onnx"), tmp_path, "saved")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("saved in saved: model.onnx")
    arrays: dict[str, Any] = {f"inputs/{name}": array for name, array in case.inputs.items()}
    arrays |= {f"outputs/{name}": array for name, array in case.answer.outputs.items()}
    write(tmp_path, "one", case, arrays)
    exported = tmp_path / "cases" / "test_one"
    files = [*exported.rglob("*.onnx"), *exported.rglob("*.pb")]
    assert len(files) == 1 + len(arrays)
    for file in files:
        assert (tmp_path / "saved" / file.relative_to(exported)).read_bytes() == file.read_bytes()


@pytest.mark.rows(4)
@pytest.mark.parametrize("name", [name for name in ONNX_FILES if name != "onnx"])
def test_the_model_of_a_script_is_the_model_that_grucible_makes(
    name: str,
) -> None:
    """Byte for byte; the lines that build it are run here without those that ask."""
    pytest.importorskip("onnx")
    from grucible.check.scripts.onnx_lines import model_lines
    from grucible.vectors.exchange.onnx_model import model
    from grucible.vectors.exchange.onnx_node import one_node

    for case in core_cases():
        if not case.id.startswith(("onnx.GRU-14/plain/", "onnx.GRU-14/core/float32/")):
            continue
        node = one_node(case.question, ONNX_FILES[name])
        verbatim = Verbatim()
        lines = "\n".join(model_lines(node, verbatim))
        made: dict[str, Any] = {"inputs": case.inputs}
        exec(f"{verbatim.imports()}\n{lines}", made)
        assert made["model"].SerializeToString() == model(*node[:3]).SerializeToString(), case.id


@pytest.mark.parametrize("name", OPENVINO)
def test_a_script_has_of_openvino_the_bits_that_grucible_has(name: str) -> None:
    needs("openvino")
    from grucible.check.runtimes import openvino

    attribute = name.removeprefix("openvino").removeprefix("-").replace("-", "_") or "parameters"
    run = getattr(openvino, attribute)
    for wanted in (
        "Sequence-5/plain/bfloat16/bidirectional-ragged",
        "Cell-3/plain/float32/lbr-clip0.5",
    ):
        case = cases()[f"openvino.GRU{wanted}"]
        text, _, _ = script(case, name).rpartition("sys.exit(")
        made: dict[str, Any] = {}
        exec(f"{text}given = ask()", made)
        for output, array in run(case.question).items():
            assert made["given"][output].tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_program_is_asked_one_question(dtype: str, tmp_path: Path) -> None:
    command = f"exec: {sys.executable} {HERE / 'programs.py'} zeros"
    wanted = cases()[f"openvino.GRUCell-3/plain/{dtype}/default"]
    result = ended(script(wanted, command), tmp_path)
    assert result.returncode == 1, result.stderr
    assert re.search(r"got 0; .*: WRONG\nwrong: \d+ of 18 elements", result.stdout)


def test_a_function_is_called_with_what_stands_for_the_question(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def run(question):\n"
        "    assert question.theme == 'plain' and question.given['clip'] == 0.5\n"
        "    assert question.attributes['linear_before_reset'] is False\n"
        "    shapes = {n: (t.shape, t.dtype) for n, t in question.outputs.items()}\n"
        "    return {n: np.full(*shape) if 0 else np.ones(*shape) for n, shape in shapes.items()}\n"
    )
    for dtype in ("float32", "bfloat16"):
        case = cases()[f"openvino.GRUCell-3/plain/{dtype}/clip0.5"]
        for name in ("mine:run", "./mine.py:run"):
            result = ended(script(case, name), tmp_path)
            assert "got 1; " in result.stdout, result.stderr
            assert result.returncode == 1


def test_any_accepted_reading_is_right(some_vectors: Path, tmp_path: Path) -> None:
    [case] = [case for case in load_vectors(some_vectors) if case.id.endswith("/s-zero")]
    assert len(case.answers) > 1
    (tmp_path / "mine.py").write_text(
        "import numpy as np\ndef run(question):\n    return dict(np.load('given.npz'))\n"
    )
    statuses = []
    given = [answer.outputs for answer in case.answers.values()]
    for outputs in (*given, {name: array + 1 for name, array in given[0].items()}):
        np.savez(tmp_path / "given.npz", allow_pickle=False, **outputs)
        statuses.append(ended(script(case, "mine:run"), tmp_path).returncode)
    assert statuses == [*(0 for _ in given), 1]


def test_of_a_case_that_is_not_portable_the_sign_of_zero_is_looked_at() -> None:
    case = cases()["openvino.GRUCell-3/plain/float32/default"]
    odd = dataclasses.replace(case, tier="nonportable")
    assert "signed_zero=True))" in script(odd, "openvino")
    assert "# It is not portable: another result is no fault.\n" in script(odd, "openvino")
    assert "signed_zero=True))" not in script(case, "openvino")


def test_a_script_judges_as_grucible_does() -> None:
    """Outputs that are off by about the tolerance, NaN, infinite, or of the other sign of zero."""
    rng = np.random.default_rng(5)
    seen = set()
    for block in core_blocks()[::3]:
        case = block.case(0)
        signed = case.tier == "nonportable"
        expected, limits = case.answer.outputs, case.answer.tolerances[REQUIRED[case.dtype]]
        for factor in (0.0, 0.9, 1.5, np.nan, np.inf, -0.0):
            observed = {}
            for name, array in expected.items():
                off = array.astype(np.float64)
                at = rng.integers(off.size)
                with np.errstate(invalid="ignore"):
                    off.flat[at] += factor * limits[name].flat[at] if factor else 0.0
                off = -off if str(factor) == "-0.0" else off
                observed[name] = off.astype(array.dtype)
            e, o, t = (
                {name: array[None] for name, array in arrays.items()}
                for arrays in (expected, observed, limits)
            )
            right = bool(compare(e, o, t, case.dtype, signed_zero=signed).passed[0])
            pairs = [{n: bits(a) for n, a in arrays.items()} for arrays in (expected, observed)]
            wrong, _ = held(pairs[0], limits, pairs[1], signed)
            assert (wrong == 0) == right, case.id
            seen.add(right)
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("expected", "got", "tolerance", "signed_zero", "right"),
    [
        (1.0, 1.0, 0.0, False, True),
        (1.0, 1.5, 0.5, False, True),
        (1.0, 1.5, 0.25, False, False),
        (1.0, np.inf, np.inf, False, False),
        (1.0, np.nan, 1.0, False, False),
        (np.nan, np.nan, 0.0, False, True),
        (np.inf, -np.inf, 1.0, False, False),
        (0.0, -0.0, 0.0, False, True),
        (0.0, -0.0, 1.0, True, False),
    ],
)
def test_one_element(
    expected: float, got: float, tolerance: float, signed_zero: bool, right: bool
) -> None:
    e, o, t = ({"Y": np.array([[value]])} for value in (expected, got, tolerance))
    wrong, said = held(e, t, o, signed_zero)
    assert (wrong == 0) is right
    assert said.startswith("Y[0, 0]: expected ")
    assert bool(compare(e, o, t, "float64", signed_zero=signed_zero).passed[0]) is right


def test_what_is_expected_of_a_converted_question_is_what_converts_back() -> None:
    converted = 0
    for block in core_blocks():
        case = block.case(0)
        for operator in OPERATORS.values():
            try:
                asked = ask(case.question, operator)
            except NotExpressible:
                continue
            outputs = asked.expected(case.answer.outputs)
            for name, array in outputs.items():
                assert array.shape == asked.question.outputs[name].shape
            missing = {
                name: np.zeros(of.shape, of.dtype) for name, of in asked.question.outputs.items()
            }
            back = asked.answer(missing | outputs)
            for name, array in case.answer.outputs.items():
                np.testing.assert_array_equal(back[name], array)
            converted += operator.name != case.operator
    assert converted > 100


@pytest.mark.parametrize("dtype", [*FLOAT_TYPES, "int32"])
def test_numbers_keep_their_bits(dtype: str) -> None:
    kind = FLOAT_TYPES[dtype].numpy if dtype in FLOAT_TYPES else np.dtype(dtype)
    rng = np.random.default_rng(3)
    array = np.frombuffer(rng.bytes(400 * kind.itemsize), kind)
    if dtype in FLOAT_TYPES:
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 0.1, -1e-40], kind)
        array = np.concatenate([array[~np.isnan(array.astype(np.float64))], special])

    made = eval(
        array_text(array.reshape(2, -1) if array.size % 2 == 0 else array),
        {"np": np, "bfloat16": bfloat16},
    )
    want = bits(array)
    got = made.ravel()
    same = got.view(f"u{got.itemsize}") == want.view(f"u{want.itemsize}")
    if dtype in FLOAT_TYPES:
        same |= np.isnan(array.astype(np.float64))
    assert same.all()
    assert number(np.float32(0.1)) == "0.1"


def test_what_a_definition_uses_comes_with_it_once() -> None:
    verbatim = Verbatim()
    first = verbatim.definitions("check/runtimes/openvino.py", "infer")
    assert [text.partition("(")[0] for text in first] == ["def copied", "def fill", "def infer"]
    assert first[-1].startswith("def infer(request, arrays):\n")
    assert verbatim.definitions("check/runtimes/openvino.py", "infer", "copied") == []
    assert verbatim.imports() == "import numpy as np\nimport openvino as ov"


WRONG_OUTPUTS = {
    "another name": "{'W': h}",
    "one too many": "{'Ho': h, 'more': h}",
    "another shape": "{'Ho': h[:1]}",
    "another dtype": "{'Ho': h.astype('f8')}",
    "a list of pairs": "[('Ho', h)]",
    "none": "None",
}


@pytest.mark.parametrize("given", WRONG_OUTPUTS.values(), ids=[*WRONG_OUTPUTS])
def test_outputs_that_were_not_asked_for_are_an_error_and_told_in_the_head(
    given: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.py").write_text(
        f"def run(question):\n    h = question.buffers()['Ho']\n    return {given}\n"
    )
    made = command("show", CELL_CASE, "--script", "./odd.py:run")
    assert made.status == 0, made.err
    assert "# ./odd.py:run gave no outputs when this was made: error, " in made.out
    result = ended(made.out, tmp_path)
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1].startswith("error: Malformed: ")


def test_a_function_s_script_says_right_of_what_the_judge_takes(tmp_path: Path) -> None:
    """Buffers that were filled, and arrays of the other byte order."""
    case = cases()[CELL_CASE]
    np.save(tmp_path / "h.npy", case.answer.outputs["Ho"])
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "def filled(question):\n"
        "    outputs = question.buffers()\n"
        "    assert np.isnan(outputs['Ho']).all()\n"
        "    outputs['Ho'][...] = np.load('h.npy')\n"
        "    return outputs\n"
        "def swapped(question):\n"
        "    return {'Ho': np.load('h.npy').astype('>f4')}\n"
    )
    for function in ("filled", "swapped"):
        result = ended(script(case, f"mine:{function}"), tmp_path)
        assert result.returncode == 0, result.stdout


def readme_kernel() -> str:
    """README's GRU, as a reader saves it."""
    page = (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
    return page.split("```python\n")[1].partition("```")[0]


@pytest.mark.parametrize("name", ["./my_gru.py:run", "my_gru:run"])
def test_readme_s_kernel_runs_where_grucible_is_not_installed(name: str, tmp_path: Path) -> None:
    (tmp_path / "my_gru.py").write_text(readme_kernel())
    result = ended(script(cases()[CELL_CASE], name), tmp_path)
    assert result.returncode == 0, result.stdout
    other = cases()["onnx.GRU-14/plain/float32/default"]
    result = ended(script(other, name), tmp_path)
    assert result.returncode == 1
    assert result.stdout.splitlines()[-1].startswith("refused: Unsupported: ")


@pytest.mark.rows(4)
@pytest.mark.parametrize(
    "text",
    ["import no_such\ndef run(question): ...\n", "def other(question): ...\n", "def run(:\n",
     "raise SystemExit(0)\n", "def run(question):\n    import no_such\n"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["./mine.py:run", "mine:run", "./{mi'ne}.py:run"])
def test_what_cannot_be_loaded_ends_with_another_status(
    text: str, name: str, tmp_path: Path
) -> None:
    for file in ("mine.py", "{mi'ne}.py"):
        (tmp_path / file).write_text(text)
    result = ended(script(cases()[CELL_CASE], name), tmp_path)
    assert result.returncode == 2, result.stdout
    assert result.stdout.splitlines()[-1].startswith("not run: ")


def test_a_runtime_that_is_not_installed_is_not_run(tmp_path: Path) -> None:
    text = script(cases()["onnx.GRU-14/plain/float32/default"], "onnxruntime")
    result = ended(text.replace("import onnxruntime", "import no_such"), tmp_path)
    assert result.returncode == 2
    assert result.stdout == "not run: No module named 'no_such'\n"


HELLO, END = "print('grucible 1\\nend')", "print('end')"
"""Lines of a program in Python."""


def program_script(lines: list[str], folder: Path) -> str:
    """The script for a program of these lines, which has read nothing; `h` are the bytes of Ho."""
    file = folder / "answers.py"
    head = ["import sys", f"h = {cases()[CELL_CASE].answer.outputs['Ho'].tobytes()!r}"]
    put = "sys.stdout.flush(); sys.stdout.buffer.write(h)"
    file.write_text("\n".join([*head, *lines, put, ""]))
    return script(cases()[CELL_CASE], f"exec: {sys.executable} {file}")


def test_a_program_s_answer_is_held_to_what_was_asked(tmp_path: Path) -> None:
    kind = cases()[CELL_CASE].question.outputs["Ho"]
    shape = "x".join(map(str, kind.shape))
    output = f"print('output Ho float32 {shape} {kind.nbytes}')"
    said = {}
    for what, lines in {
        "right": [HELLO, "print('ok')", output, END],
        "another question": [HELLO, "print('ok\\nquestion other')", output, END],
        "twice": [HELLO, "print('ok')", output, output, END, "h += h"],
        "one too many": [HELLO, "print('ok')", output, "print('output more float32 1 4')", END],
        "none": [HELLO, "print('ok')", END],
        "cut": [HELLO, "print('ok')", output, END, "h = h[:-1]"],
        "not ended": [HELLO, "print('ok')", output],
        "unsupported": [HELLO, "print('unsupported no cells')", END],
        "silent": [HELLO, "sys.exit(3)"],
        "no hello": ["print('ok')", output, END],
        "unusable": ["print('unusable no device')", END],
    }.items():
        result = ended(program_script(lines, tmp_path), tmp_path)
        said[what] = (result.returncode, result.stdout.splitlines()[-1].partition(":")[0])
    assert said == {
        "right": (0, "right"),
        "another question": (1, "error"),
        "twice": (1, "error"),
        "one too many": (1, "error"),
        "none": (1, "error"),
        "cut": (1, "error"),
        "not ended": (1, "refused"),
        "unsupported": (1, "refused"),
        "silent": (1, "refused"),
        "no hello": (2, "not run"),
        "unusable": (2, "not run"),
    }


@pytest.mark.parametrize(
    "lines",
    [
        [HELLO, "print('error \\x1b[31mBAD\\u202e\\u2028', flush=True)", END],
        [HELLO, "print('ok\\noutput \\x1b[31mBAD\\u202e\\u2028 float32 1 4')", END],
        ["print('\\x1b[31mBAD\\u202e\\u2028')", END],
    ],
)
def test_a_terminal_obeys_nothing_that_a_program_says(lines: list[str], tmp_path: Path) -> None:
    result = ended(program_script(lines, tmp_path), tmp_path)
    for text in (result.stdout, result.stderr):
        assert r"\x1b[31mBAD\u202e" in text.replace("\\\\", "\\")
        assert text.replace("\n", "").isprintable()


def test_of_a_program_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    endless = "while True: sys.stdout.write('x' * 9999)"
    for lines, status, told in (
        ([endless], 2, "not run: ImportError: the program does not say hello: a header is longer"),
        ([HELLO, endless], 1, "error: Malformed: a header is longer than 65536 bytes"),
        ([HELLO, "print('ok\\noutput Ho float32 9999999 39999996')", END, endless], 1, "error: "),
    ):
        text = program_script(lines, tmp_path)
        limit = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        result = ended(text.replace("import sys\n", f"import sys\n{limit}", 1), tmp_path)
        assert result.returncode == status, result.stderr
        assert result.stdout.splitlines()[-1].startswith(told)


def test_a_program_that_does_not_answer_is_stopped() -> None:
    silent = ["sh", "-c", "echo grucible 1; echo end; exec sleep 600"]
    with pytest.raises(TimeoutError, match=r"no answer in 1 s; stopped"):
        answer_of(silent, [], b"", 1)


def test_a_program_that_does_not_start_is_not_run(tmp_path: Path) -> None:
    result = ended(script(cases()[CELL_CASE], f"exec: {tmp_path / 'nothing'}"), tmp_path)
    assert result.returncode == 2
    assert "not run: ImportError: the program does not start: " in result.stdout


def test_what_is_no_script(command: Command, some_vectors: Path) -> None:
    asked = "onnx.GRU-14/plain/float64/default"
    bad_usage(
        command("show", asked, "--script", "tractor"), "'tractor' is unknown; did you mean tract"
    )
    bad_usage(
        command("show", asked, "--script", "onnxruntime"), "ONNX Runtime's GRU has no float64"
    )
    bad_usage(command("show", asked, "--script", "./mine.py:"), "'' is not the name of a function")
    bad_usage(
        command("show", asked, "--full", "--script", "onnx"), "--full does not go with --script"
    )
    bad_usage(command("show", asked, "--script", "exec: "), "expected a program after exec:")
    layout = "onnx.GRU-14/plain/float32/bidirectional-layout1"
    bad_usage(command("show", layout, "--script", "onnxruntime"), "layout 1")
    bad_usage(command("show", some_vectors, "*good", "--script", "tract"), "2 cases match")
    two = "onnx.GRU-14/plain/float32/bidirectional-Sigmoid_Tanh_Tanh_Relu"
    bad_usage(
        command("show", two, "--script", "openvino"), "cannot be asked as openvino.GRUSequence-5"
    )


def test_a_large_case_is_not_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    case = cases()["onnx.GRU-14/plain/float32/default"]
    size = sum(array.size for array in case.inputs.values()) + 2 * 90
    monkeypatch.setattr("grucible.check.scripts.script.MOST_NUMBERS", size)
    assert script(case, "tract")
    monkeypatch.setattr("grucible.check.scripts.script.MOST_NUMBERS", size - 1)
    with pytest.raises(GrucibleError, match=f"would hold {size} numbers.* shrink; .* export"):
        script(case, "tract")
    assert MOST_NUMBERS == 20_000


def test_another_package_s_runtime_has_no_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grucible.check.scripts.asked_case.registered_runtime", lambda _: None)
    with pytest.raises(GrucibleError, match="theirs is another package's"):
        asked_by(cases()["onnx.GRU-14/plain/float32/default"], "theirs")
    with pytest.raises(RuntimeNotUsable):
        script(cases()["onnx.GRU-14/plain/float32/default"], "mine:a b")


def test_the_command_says_what_was_observed_or_why_nothing_was(
    command: Command, tmp_path: Path
) -> None:
    asked = "openvino.GRUCell-3/plain/float32/default"
    ended_ = command("show", asked, "--script", f"{HERE / 'numpy_gru.py'}:run")
    assert ended_.status == 0
    told = " ".join(ended_.out.replace("\n#", " ").split())  # in however many lines
    assert re.search(r" \S+numpy_gru.py:run .*gave this when the script was made, nothing ", told)
    assert re.search(r"\n# Ho: -?\d", ended_.out)
    ended_ = command("show", asked, "--script", f"exec: {tmp_path / 'nothing'}")
    assert ended_.status == 0
    assert "# Not observed when this was made: " in ended_.out
    assert f"# made by   grucible show {asked} --script " in ended_.out


def test_a_script_through_a_pipe_judges(tmp_path: Path) -> None:
    """It cannot be read again, so no other process calls the function."""
    (tmp_path / "rightly.py").write_text((HERE / "numpy_gru.py").read_text())
    case = next(c for c in core_cases() if c.id == f"{CELL}/plain/float32/default")
    ended = subprocess.run(
        [sys.executable, "-"], input=script(case, "rightly:run"), cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1].startswith("right: all of ")
