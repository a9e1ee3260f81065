"""How a script asks each runtime: the body of a function that returns the outputs by name."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from keyword import iskeyword
from textwrap import dedent
from typing import Any, NamedTuple

from ...cases.dtypes import dtype_name
from ...cases.errors import RuntimeNotUsable
from ...cases.operators import OPERATORS
from ...cases.operators.onnx import GRU
from ...cases.question import Question
from ...vectors.case import REQUIRED, Case
from ...vectors.exchange.node import IR_VERSION, TYPE_NAMES, node_type, one_node, ports_of
from ...vectors.exchange.rtol_atol import smallest_pair
from ..observed.isolated import EXEC, command_of
from ..protocol.header import hello_lines, question_parts
from ..runtimes import onnx_files, torch
from ..runtimes.posed import (
    EXACT,
    ONNX_FILES,
    OPENVINO,
    OWN_KERNEL,
    TORCH,
    infer_openvino,
    openvino_core,
)

SECONDS = 60
"""Maximum seconds for a program; it may not end when its input ends."""


class ScriptBody(NamedTuple):
    """The part of a script that asks one runtime.

    `needs` names the packages besides numpy. `lines` are the body of a function that prints what is asked and
    returns the outputs; without `judge`, they are the whole program. `prints` says what the script prints.
    """

    needs: str
    lines: Sequence[str]
    judge: bool = True
    prints: str = "the worst element and a verdict; exit status 0: right, 1: not right, 2: not run"


def body_of(case: Case, question: Question, name: str) -> ScriptBody:
    """Return the lines that ask the runtime called `name` this question, which asks what `case` asks."""
    if name == "onnx":
        return _folder_body(case, question)
    if name in ONNX_FILES:
        return _onnx_body(question, name)
    if name in OPENVINO:
        return _openvino_body(question, name)
    if name in TORCH:
        return _torch_body(question, name)
    if name.startswith(EXEC):
        return _program_body(question, name)
    return _function_body(question, name)


_PACKAGES = {
    "opencv": ("opencv-python-headless",),
    "mnn": ("MNN",),
    "iree": ("iree-base-compiler", "iree-base-runtime"),
}
"""The packages of a runtime by the first word of its name, if that word is not the package's name."""
_IMPORTS = """\
import ctypes, importlib.metadata, os, tempfile, warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
"""
"""The imports that functions of `runtimes.onnx_files` use."""


def _onnx_body(question: Question, name: str) -> ScriptBody:
    """Return the body for runtimes that read a file with the model of one ONNX GRU."""
    node = one_node(question, ONNX_FILES[name])
    family = name.partition("-")[0]
    packages = _PACKAGES.get(family, (family,))
    load = f"load_{family}"
    lines = [*_IMPORTS.splitlines(), *_copies(getattr(onnx_files, load))]
    lines += _INFERRING if family == "openvino" else []
    options = f", {literal(OWN_KERNEL)}" if name == "mnn-kernel" else ""
    lines += [
        *model_lines(question, name),
        f'print("{family}", importlib.metadata.version("{packages[0]}"))',
        f"names = {literal(list(node.asked.asked))}",
        f"feeds = {{name: inputs[name] for name in {literal(list(node.feeds))}}}",
        f"outputs = {load}(model.SerializeToString(), names{options})(feeds)",
    ]
    if family == "mnn":  # puts what MNN prints before the verdict
        lines.append("ctypes.CDLL(None).fflush(None)")
    needs = ", ".join(dict.fromkeys([*packages, "onnx"]))
    return ScriptBody(needs, [*lines, *_named(question)])


def _copies(*functions: Callable[..., Any]) -> Iterator[str]:
    """Yield the lines of functions."""
    for function in functions:
        yield from inspect.getsource(function).splitlines()


_INFERRING = [*_copies(openvino_core, infer_openvino), f"EXACT = {EXACT!r}"]
"""The lines that run a model in OpenVINO."""


def _named(question: Question) -> Iterator[str]:
    """Yield lines that return the outputs by name; bits of bfloat16 become bfloat16."""
    if question.dtype == "bfloat16":
        yield "outputs = [one.view(ml_dtypes.bfloat16) for one in outputs]"
    yield "found = zip(names, outputs, strict=True)"
    yield "return {name: array for name, array in found if name in expected}"


def model_lines(question: Question, name: str) -> Iterator[str]:
    """Yield lines that make the model of one ONNX GRU, called `model`, as `vectors/exchange` makes it.

    The model is written in ONNX's textual syntax; its initializers come from `inputs`.
    """
    node = one_node(question, ONNX_FILES[name])

    def port(dtype: str, key: str, shape: Sequence[int | str]) -> str:
        return f"{TYPE_NAMES[dtype].lower()}[{','.join(map(str, shape))}] {key}"

    ports = [one for one in node.asked.ports if one[0] not in node.constants]
    fed = [port(dtype_name(dtype), key, shape) for key, dtype, shape in ports]
    gives = [port(question.dtype, key, shape) for key, shape in node.asked.outputs]
    given, names = ports_of(node.asked)
    kinds = {attribute.name: attribute.kind for attribute in GRU.attributes}
    attributes = [
        f"{key}: {kinds[key]} = {json.dumps(value)}"
        for key, value in json.loads(node.asked.attributes).items()
    ]
    yield "import onnx"
    yield 'model = onnx.parser.parse_model("""'
    yield f'    <ir_version: {IR_VERSION}, opset_import: ["" : {node.opset}]>'
    yield f"    gru ({', '.join(fed)})"
    yield f"    => ({', '.join(gives)}) {{"
    yield f"        {', '.join(key or chr(34) * 2 for key in names)} = GRU"
    yield f"        <{', '.join(attributes)}>" if attributes else ""
    yield f"        ({', '.join(key or chr(34) * 2 for key in given)})"
    yield '    }""")'
    for key in node.constants:
        yield f'tensor = onnx.numpy_helper.from_array(inputs["{key}"], "{key}")'
        yield "model.graph.initializer.append(tensor)"


def _openvino_body(question: Question, name: str) -> ScriptBody:
    """Return the body for a model of one of OpenVINO's own nodes."""
    posing, node = OPENVINO[name], node_type(question)
    operator = OPERATORS[question.operator]
    constants = [
        t.name for t in operator.inputs if posing.constant_weights and t.role in ("w", "r", "b")
    ]
    node = node.dynamic() if posing.dynamic else node
    shapes = {
        port: [n if isinstance(n, int) else -1 for n in shape] for port, _, shape in node.ports
    }
    lines = f"""\
    import openvino as ov
    from openvino.op import Constant, Parameter
    from openvino.utils.node_factory import NodeFactory

    print("openvino", ov.get_version())
    ports, parameters = [], []
    for name, shape in {literal(shapes)}.items():
        array = inputs[name]
        kind = ov.Type.bf16 if array.dtype == "bfloat16" else ov.Type(array.dtype)
        if name in {literal(constants)}:
            tensor = ov.Tensor(kind, ov.Shape(array.shape))
            tensor.data.view(array.dtype)[...] = array
            ports.append(Constant(tensor))
        else:
            ports.append(Parameter(kind, ov.PartialShape(shape)))
            parameters.append(array)
    attributes = {literal(json.loads(node.attributes))}
    node = NodeFactory("{node.opset}").create("{node.kind}", ports, attributes)
    model = ov.Model(node.outputs(), ports[: len(parameters)], "gru")
    compiled = ov.Core().compile_model(model, "CPU", {literal(posing.properties)})
    request = compiled.create_infer_request()
    for index, array in enumerate(parameters):
        tensor = request.get_input_tensor(index)
        if tuple(tensor.shape) != array.shape:
            tensor.shape = array.shape  # of a dynamic model
        tensor.data.view(array.dtype)[...] = array
    request.infer()
    outputs = [tensor.data.copy() for tensor in request.output_tensors]
    names = {literal([t.name for t in operator.outputs])}
    """
    return ScriptBody("openvino", [*dedent(lines).splitlines(), *_named(question)])


def _torch_body(question: Question, name: str) -> ScriptBody:
    """Return the body for a module of PyTorch's, which is called, or exported."""
    posing, packages = TORCH[name], ("torch", *TORCH[name].packages)
    fed = [one for one in torch.FED if one in question.inputs]
    copied: list[Callable[..., Any]] = [torch.make_module, torch.make_tensor]
    asking = ["outputs = run_module(module, feeds)"]
    if posing.exporter == "openvino":
        copied.append(torch.run_openvino)
        asking = [*_INFERRING, "outputs = run_openvino(module, examples, feeds)"]
    elif posing.exporter:
        opened = torch.open_axes(question, fed) if posing.dynamic else {}
        copied += [torch.make_file, torch.run_file, onnx_files.load_onnxruntime]
        legacy = posing.exporter == "onnx-legacy"
        asking = [
            f"content = make_file(module, examples, {literal(opened)}, {legacy})",
            "outputs = run_file(content, feeds)",
        ]
    else:
        copied.append(torch.run_module)
    examples = ["examples = feeds"] * bool(posing.exporter)
    if posing.dynamic:
        others = torch.other_inputs(question, fed).items()
        filled = [(n, a.shape, int(a.flat[0]), dtype_text(a.dtype)) for n, a in others]
        made = [f'"{n}": np.full({shape}, {value}, {kind})' for n, shape, value, kind in filled]
        examples = [f"examples = {{{', '.join(made)}}}"]
    lines = [
        *_IMPORTS.splitlines(),
        *_copies(*copied),
        f"for package in {literal(packages)}:",
        "    print(package, importlib.metadata.version(package))",
        f"parameters = {{{', '.join(_parameters(question))}}}",
        f"module = make_module({literal(question.attributes)}, parameters, {'lengths' in fed})",
        f"feeds = {{name: inputs[name] for name in {literal(fed)}}}",
        *(examples + asking),
        f"names = {literal(list(question.outputs))}",
    ]
    return ScriptBody(", ".join(packages), [*lines, *_named(question)])


def _parameters(question: Question) -> Iterator[str]:
    """Yield each parameter by the owner's name; those of a direction lie along the first axis."""
    operator = OPERATORS[question.operator]
    directions = operator.directions(question.attributes)
    for one in operator.inputs:
        if one.name in question.inputs and one.name not in torch.FED:
            names = one.names[: len(directions)]
            yield from (f'"{own}": inputs["{one.name}"][{at}]' for at, own in enumerate(names))
            yield from [] if names else [f'"{one.name}": inputs["{one.name}"]']


def _program_body(question: Question, name: str) -> ScriptBody:
    """Return the body that sends the question to the command behind `exec:`."""
    command = command_of(name)
    header = b"".join([hello_lines(), question_parts(question)[0]]).decode()
    lines = (
        f"print({literal(shlex.join(command))})",
        "header = (",
        *(f"    {literal(line)}" for line in header.splitlines(keepends=True)),
        ")",
        'data = b"".join(array.tobytes() for array in inputs.values())',
        f"return answer_of({literal(command)}, header, data, {SECONDS})",
    )
    return ScriptBody("the program", lines)


def _function_body(question: Question, name: str) -> ScriptBody:
    """Return the body that calls a function with an object in place of the question.

    Raises RuntimeNotUsable where `name` does not end with the name of a function.
    """
    place, _, attribute = name.rpartition(":")
    if not attribute.isidentifier() or iskeyword(attribute):
        raise RuntimeNotUsable(f"runtime {name}: {attribute!r} is not the name of a function")
    found = f"importlib.import_module({literal(place)}).{attribute}"
    if place.endswith(".py"):
        found = f"__import__('runpy').run_path({literal(place)})[{literal(attribute)}]"
    words = ("id", "operator", "dtype", "theme", "given", "attributes")
    fields = [f"{word}={literal(getattr(question, word))}," for word in words]
    forms = [
        f"{literal(key)}: SimpleNamespace(shape={of.shape}, dtype=np.dtype({dtype_text(of.dtype)}))"
        for key, of in question.outputs.items()
    ]
    lines = f"""\
import importlib.util
from types import SimpleNamespace

print({literal(name)})
sys.path.insert(0, "")
try:
    if not importlib.util.find_spec("grucible"):  # its part is played
        unsupported = type("Unsupported", (Exception,), {{}})
        sys.modules["grucible"] = SimpleNamespace(Unsupported=unsupported)
    run = {found}
except BaseException as error:
    raise ImportError(f"cannot be loaded: {{error!r}}") from error
wanted = {{{", ".join(forms)}}}
question = SimpleNamespace(
    {(chr(10) + "    ").join(fields)}
    inputs=inputs,
    outputs=wanted,
    buffers=lambda: {{n: np.full(of.shape, np.nan, of.dtype) for n, of in wanted.items()}},
)
return (run if callable(run) else run.prepare(question))(question)
"""
    return ScriptBody(f"what {place} imports", lines.splitlines())


def _folder_body(case: Case, question: Question) -> ScriptBody:
    """Return a program that saves a model and its data as ONNX's backend tests have them."""
    node = one_node(question, ONNX_FILES["onnx"])
    try:
        pair = smallest_pair(case.answer, REQUIRED[case.dtype])
        admits = f"rtol {pair.rtol:g} and atol {pair.atol:g} admit all that is right"
    except ValueError:
        admits = "no rtol and atol: a tolerance or an expected value is not finite"
    lines = f"""\
    from pathlib import Path
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "gru_test")
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    outputs = {{name: expected[name] for name in {literal(list(node.asked.asked))} if name in expected}}
    for kind, arrays in {{"input": inputs, "output": outputs}}.items():
        for number, (name, array) in enumerate(arrays.items()):
            tensor = onnx.numpy_helper.from_array(array, name)
            (data / f"{{kind}}_{{number}}.pb").write_bytes(tensor.SerializeToString())
    print(f"saved in {{folder}}: model.onnx, inputs and expected outputs")
    print({literal(admits)})
    """
    return ScriptBody(
        "onnx",
        [*model_lines(question, "onnx"), *dedent(lines).splitlines()],
        judge=False,
        prints="where it has saved a model, inputs and expected outputs: the folder that is its argument",
    )


def literal(value: Any) -> str:
    """Return a value as Python writes it, in ASCII; NaN and infinity are the names nan and inf."""
    return ascii(dict(value) if isinstance(value, Mapping) else value)


def dtype_text(dtype: Any) -> str:
    """Return a dtype as Python writes it."""
    name = dtype_name(dtype)
    return "ml_dtypes.bfloat16" if name == "bfloat16" else f"np.{name}"
