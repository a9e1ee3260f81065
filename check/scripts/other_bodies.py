"""How a program that speaks the protocol, a Python function and a folder of ONNX's are asked in a script."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from keyword import iskeyword
from typing import Any

from ...cases.dtypes import dtype_name
from ...cases.errors import RuntimeNotUsable
from ...cases.operators.readings import STORED
from ...cases.question import Question
from ...vectors.case import REQUIRED
from ...vectors.exchange.onnx_node import TYPE_NAMES, one_node
from ...vectors.exchange.rtol_atol import smallest_pair
from ..observed.isolated import command_of
from ..protocol.header import hello_lines, question_parts
from ..runtimes.posed import ONNX_FILES
from .asked_case import AskedCase
from .body import SECONDS, Body
from .numbers import literal
from .onnx_lines import model_lines
from .verbatim import Verbatim


def program_body(asked: AskedCase, name: str, verbatim: Verbatim) -> Body:
    """A script that sends the one question to the command behind `exec:`."""
    command = command_of(name)
    header = b"".join([hello_lines(), question_parts(asked.question)[0]]).decode()
    lines = [
        f"command = {literal(command)}",
        "header = [",
        *(f"    {literal(line)}," for line in header.splitlines()),
        "]",
        'data = b"".join(array.tobytes() for array in inputs.values())',
        f"return answer_of(command, header, data, {SECONDS})",
    ]
    definitions = verbatim.definitions("check/scripts/program.py", "answer_of")
    return Body("the program", tuple(lines), literal(shlex.join(command)), tuple(definitions))


def function_body(asked: AskedCase, name: str, verbatim: Verbatim) -> Body:
    """A script that calls a Python function with an object that stands for the question.

    Raises RuntimeNotUsable where `name` does not end with the name of a function.
    """
    place, _, attribute = name.rpartition(":")
    verbatim.uses("import importlib.util", "import sys", "from types import SimpleNamespace")
    if place.endswith(".py"):
        verbatim.uses("import runpy")
        found = f"runpy.run_path({literal(place)})[{literal(attribute)}]"
    else:
        found = f"importlib.import_module({literal(place)}).{attribute}"
    if not attribute.isidentifier() or iskeyword(attribute):
        raise RuntimeNotUsable(f"runtime {name}: {attribute!r} is not the name of a function")
    question = asked.question
    lines = [
        'sys.path.insert(0, "")',
        "try:",
        '    if not importlib.util.find_spec("grucible"):  # its part is played',
        '        unsupported = type("Unsupported", (Exception,), {})',
        '        sys.modules["grucible"] = SimpleNamespace(Unsupported=unsupported)',
        f"    run = {found}",
        "except BaseException as error:",
        '    raise ImportError(f"cannot be loaded: {error!r}") from error',
        "question = SimpleNamespace(",
        *"\n".join(f"    {word}={text}," for word, text in _fields(question).items()).splitlines(),
        ")",
        "wanted = dict(question.outputs)",
        "question.buffers = lambda: {",
        "    name: np.full(of.shape, np.nan, of.dtype) for name, of in wanted.items()",
        "}",
        "return returned(run(question), wanted)",
    ]
    definitions = verbatim.definitions("check/scripts/returned.py", "returned")
    return Body(
        f"what {place} imports", tuple(lines), literal(name), tuple(definitions),
        own_bfloat16=True, apart=True,
    )  # fmt: skip


def _fields(question: Question) -> Mapping[str, str]:
    """What a function may ask of a question, each as Python writes it."""
    kinds = {
        name: f"SimpleNamespace(shape={of.shape}, dtype=np.dtype({_dtype(of.dtype)}))"
        for name, of in question.outputs.items()
    }
    return {
        "id": literal(question.id),
        "operator": literal(question.operator),
        "dtype": literal(question.dtype),
        "theme": literal(question.theme),
        "given": _lines({n: literal(v) for n, v in question.given.items()}),
        "attributes": _lines({n: literal(v) for n, v in question.attributes.items()}),
        "inputs": "inputs",
        "outputs": _lines(kinds),
    }


def _lines(values: Mapping[str, str]) -> str:
    """A dict of these expressions, a line each."""
    lines = [f"        {literal(name)}: {text}," for name, text in values.items()]
    return "\n".join(["{", *lines, "    }"])


def _dtype(dtype: Any) -> str:
    name = dtype_name(dtype)
    return "ml_dtypes.bfloat16" if name == "bfloat16" else f"np.{name}"


def folder_body(asked: AskedCase, verbatim: Verbatim) -> Body:
    """A script that saves a model, its inputs and its expected outputs as ONNX's backend tests have them."""
    verbatim.uses("import sys", "from pathlib import Path", "import onnx")
    node = one_node(asked.question, ONNX_FILES["onnx"])
    answer = asked.case.answer
    try:
        pair = smallest_pair(answer, REQUIRED[asked.case.dtype])
        admits = f"rtol {pair.rtol:g} and atol {pair.atol:g} admit all that is right"
    except ValueError:
        admits = "no rtol and atol: a tolerance or an expected value is not finite"
    kind = f"TensorProto.{TYPE_NAMES[asked.case.dtype]}"
    lines = [
        *model_lines(node, verbatim),
        'folder = Path(sys.argv[1] if len(sys.argv) > 1 else "gru_test")',
        'data = folder / "test_data_set_0"',
        "data.mkdir(parents=True, exist_ok=True)",
        'onnx.save(model, folder / "model.onnx")',
        *(
            f'save(data / "input_{number}.pb", "{name}", '
            f'TensorProto.{TYPE_NAMES[dtype_name(dtype)]}, inputs["{name}"])'
            for number, (name, dtype, _) in enumerate(node.asked.ports)
        ),
        *(
            f'save(data / "output_{number}.pb", "{name}", {kind}, expected["{name}"])'
            for number, name in enumerate(node.asked.asked)
            if name in asked.accepted[STORED].outputs
        ),
        'print(f"saved in {folder}: model.onnx, inputs and expected outputs")',
        f"print({literal(admits)})",
    ]
    return Body(
        "onnx",
        tuple(lines),
        definitions=tuple(verbatim.definitions("check/scripts/onnx_tensor.py", "save")),
        judges=False,
        tells="where it has saved a model, inputs and expected outputs: the folder that is its argument",
    )
