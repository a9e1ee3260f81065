"""How each runtime is asked in a script: the body of a function that returns the outputs by name."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from keyword import iskeyword
from textwrap import dedent
from typing import Any, NamedTuple

from ...cases.dtypes import dtype_name
from ...cases.errors import RuntimeNotUsable
from ...cases.operators.onnx import GRU
from ...cases.question import Question
from ...vectors.case import REQUIRED, Case
from ...vectors.exchange.node import IR_VERSION, TYPE_NAMES, node_type, one_node, ports_of
from ...vectors.exchange.rtol_atol import smallest_pair
from ..observed.isolated import EXEC, command_of
from ..protocol.header import hello_lines, question_parts
from ..runtimes.posed import EXACT, ONNX_FILES, OPENVINO, OWN_KERNEL, openvino_operator

SECONDS = 60
"""Maximum duration of a program; one that does not end with its input is stopped then."""


class ScriptBody(NamedTuple):
    """The part of a script that asks one runtime.

    `needs` names the packages besides numpy. `lines` are the body of a function that prints what is asked and
    returns the outputs; where it does not `judge`, they are the whole program.
    """

    needs: str
    lines: Sequence[str]
    judge: bool = True
    tells: str = (
        "the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run"
    )


def body_of(case: Case, question: Question, name: str) -> ScriptBody:
    """Return the lines that ask the runtime called `name` this question, which asks what `case` asks."""
    if name == "onnx":
        return _folder_body(case, question)
    if name in ONNX_FILES:
        return _onnx_body(question, name)
    if name in OPENVINO:
        return _openvino_body(question, name)
    if name.startswith(EXEC):
        return _program_body(question, name)
    return _function_body(question, name)


_OPENVINO_RUN = """\
request = compiled.create_infer_request()
for index, array in enumerate(arrays):
    tensor = request.get_input_tensor(index)
    if tuple(tensor.shape) != array.shape:
        tensor.shape = array.shape  # of a dynamic model
    tensor.data.view(array.dtype)[...] = array
request.infer()
outputs = [np.array(tensor.data) for tensor in request.output_tensors]
"""
_ONNX_RUNS = {
    "onnxruntime": (
        "onnxruntime",
        """\
        import onnxruntime as ort
        print("onnxruntime", ort.__version__)
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = ort.InferenceSession(CONTENT, options, providers=["CPUExecutionProvider"])
        outputs = session.run(names, feeds)
        """,
    ),
    "onnx": (
        "onnx",
        """\
        from onnx.reference import ReferenceEvaluator
        print("onnx", onnx.__version__)
        with np.errstate(over="ignore"):
            outputs = ReferenceEvaluator(model).run(names, feeds)
        """,
    ),
    "opencv": (
        "opencv-python-headless and onnx",
        """\
        import cv2
        print("OpenCV", cv2.__version__)
        net = cv2.dnn.readNetFromONNX(np.frombuffer(CONTENT, np.uint8))
        for name, array in feeds.items():
            net.setInput(array, name)
        outputs = net.forward(names)
        """,
    ),
    "openvino": (
        "openvino",
        """\
        import openvino as ov
        print("openvino", ov.get_version())
        core, arrays = ov.Core(), list(feeds.values())
        compiled = core.compile_model(core.read_model(CONTENT, b""), "CPU", EXACT)
        """,
    ),
    "mnn": (
        "MNN",
        """\
        import ctypes
        import tempfile
        import _tools
        import MNN
        print("MNN", MNN.version())
        folder = tempfile.mkdtemp()
        words = ["mnnconvert", "-f", "ONNX", "--modelFile", f"{folder}/onnx", "--MNNModel", f"{folder}/mnn"]
        with open(f"{folder}/onnx", "wb") as file:
            file.write(CONTENT)
        _tools.mnnconvert([*words, "--bizCode", "gru", *OPTIONS])
        net = MNN.nn.load_module_from_file(f"{folder}/mnn", list(feeds), names)
        kinds = {name: MNN.expr.int if a.dtype == "int32" else MNN.expr.float for name, a in feeds.items()}
        given = [MNN.expr.const(a, list(a.shape), MNN.expr.NCHW, kinds[name]) for name, a in feeds.items()]
        outputs = [np.array(one.read()) for one in net.forward(given)]
        ctypes.CDLL(None).fflush(None)  # so that what MNN prints stands before the verdict
        """,
    ),
    "tract": (
        "tract",
        """\
        import tempfile
        import tract
        print("tract", tract.version())
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(CONTENT)
            file.flush()
            runnable = tract.onnx().load(file.name).into_model().into_runnable()
        outputs = [tensor.to_numpy() for tensor in runnable.run(list(feeds.values()))]
        """,
    ),
    "iree": (
        "iree-base-compiler, iree-base-runtime",
        """\
        from iree import runtime
        from iree.compiler import ir, tools, version
        from iree.compiler.extras import onnx_importer
        print("IREE", version.VERSION)
        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
        module = info.create_module(context=ir.Context()).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        options = ["--iree-llvmcpu-target-cpu=generic", "--iree-input-demote-f64-to-f32=false"]
        how = {"target_backends": ["llvm-cpu"], "input_type": "onnx", "extra_args": options}
        made = tools.compile_str(str(module), **how)
        context = runtime.SystemContext(config=runtime.Config("local-sync"))
        context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, made))
        outputs = context.modules.module["gru"](*feeds.values())
        outputs = [one.to_host().copy() for one in (outputs if isinstance(outputs, tuple) else [outputs])]
        """,
    ),
}  # fmt: skip
"""By the first word of a runtime's name: the package, and lines that run the file of a `model`."""


def _onnx_body(question: Question, name: str) -> ScriptBody:
    """Return the body for the file of a model of one ONNX GRU."""
    node = one_node(question, ONNX_FILES[name])
    family = name.partition("-")[0]
    needs, run = _ONNX_RUNS[family]
    options = OWN_KERNEL if name == "mnn-kernel" else []
    run = dedent(run).replace("OPTIONS", literal(options)).replace("EXACT", literal(EXACT))
    run = run.replace("CONTENT", "model.SerializeToString()")
    lines = [
        *model_lines(question, name),
        f"names = {literal(list(node.asked.asked))}",
        f"feeds = {{name: inputs[name] for name in {literal(list(node.feeds))}}}",
        *(run + _OPENVINO_RUN * (family == "openvino")).splitlines(),
        *_named(question),
    ]
    return ScriptBody(needs if needs == "onnx" else f"{needs}, onnx", lines)


def _named(question: Question) -> Iterator[str]:
    """Yield lines that return the outputs by name, those of bfloat16, which may be bits, as such."""
    if question.dtype == "bfloat16":
        yield "outputs = [one.view(ml_dtypes.bfloat16) for one in outputs]"
    yield "found = zip(names, outputs, strict=True)"
    yield "return {name: array for name, array in found if name in expected}"


def model_lines(question: Question, name: str) -> Iterator[str]:
    """Yield lines that make the model of one ONNX GRU in `model`, as `vectors/exchange` makes it.

    The model is written in ONNX's textual syntax; its initializers come from `inputs`.
    """
    node = one_node(question, ONNX_FILES[name])
    element = TYPE_NAMES[question.dtype].lower()
    fed = [
        _port(TYPE_NAMES[dtype_name(dtype)].lower(), key, shape)
        for key, dtype, shape in node.asked.ports
        if key not in node.constants
    ]
    gives = [_port(element, key, shape) for key, shape in node.asked.outputs]
    given, names = ports_of(node.asked)
    attributes = [
        f"{key}: {_kind(key)} = {json.dumps(value)}"
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


def _port(element: str, name: str, shape: Sequence[int | str]) -> str:
    return f"{element}[{','.join(map(str, shape))}] {name}"


def _kind(name: str) -> str:
    """Return the type of an attribute, as ONNX's textual syntax has it."""
    attribute = GRU.attribute(name)
    assert attribute
    return attribute.kind


def _openvino_body(question: Question, name: str) -> ScriptBody:
    """Return the body for a model of one of OpenVINO's own nodes."""
    posing, node = OPENVINO[name], node_type(question)
    operator = openvino_operator(question)
    constants = [
        t.name for t in operator.inputs if posing.constant_weights and t.role in ("w", "r", "b")
    ]
    node = node.dynamic() if posing.dynamic else node
    shapes = {port: list(shape) for port, _, shape in node.ports}
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
            parameters.append(name)
    attributes = {literal(json.loads(node.attributes))}
    node = NodeFactory("{node.opset}").create("{node.kind}", ports, attributes)
    model = ov.Model(node.outputs(), ports[: len(parameters)], "gru")
    compiled = ov.Core().compile_model(model, "CPU", {literal(posing.properties)})
    arrays = [inputs[name] for name in parameters]
    names = {literal([t.name for t in operator.outputs])}
    """
    whole = dedent(lines) + _OPENVINO_RUN
    return ScriptBody("openvino", [*whole.splitlines(), *_named(question)])


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


_FUNCTION = """\
import importlib.util
from types import SimpleNamespace
print(NAME)
sys.path.insert(0, "")
try:
    if not importlib.util.find_spec("grucible"):  # its part is played
        unsupported = type("Unsupported", (Exception,), {})
        sys.modules["grucible"] = SimpleNamespace(Unsupported=unsupported)
    run = FOUND
except BaseException as error:
    raise ImportError(f"cannot be loaded: {error!r}") from error
question = SimpleNamespace(
    FIELDS
)
wanted = dict(question.outputs)
question.buffers = lambda: {n: np.full(of.shape, np.nan, of.dtype) for n, of in wanted.items()}
return run(question)
"""


def _function_body(question: Question, name: str) -> ScriptBody:
    """Return the body that calls a function with an object that stands for the question.

    Raises RuntimeNotUsable where `name` does not end with the name of a function.
    """
    place, _, attribute = name.rpartition(":")
    if not attribute.isidentifier() or iskeyword(attribute):
        raise RuntimeNotUsable(f"runtime {name}: {attribute!r} is not the name of a function")
    found = f"importlib.import_module({literal(place)}).{attribute}"
    if place.endswith(".py"):
        found = f"__import__('runpy').run_path({literal(place)})[{literal(attribute)}]"
    words = ("id", "operator", "dtype", "theme")
    fields = {word: literal(getattr(question, word)) for word in words}
    fields |= {word: literal(dict(getattr(question, word))) for word in ("given", "attributes")}
    forms = {
        key: f"SimpleNamespace(shape={of.shape}, dtype=np.dtype({dtype_text(of.dtype)}))"
        for key, of in question.outputs.items()
    }
    outputs = ", ".join(f"{literal(key)}: {form}" for key, form in forms.items())
    fields |= {"inputs": "inputs", "outputs": f"{{{outputs}}}"}
    text = "\n    ".join(f"{word}={value}," for word, value in fields.items())
    whole = (
        _FUNCTION.replace("FOUND", found).replace("FIELDS", text).replace("NAME", literal(name), 1)
    )
    return ScriptBody(f"what {place} imports", whole.splitlines())


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
        tells="where it has saved a model, inputs and expected outputs: the folder that is its argument",
    )


def literal(value: Any) -> str:
    """Return a value of an attribute as Python writes it; NaN and infinity by the names nan and inf."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(k)}: {literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    return repr(value)


def dtype_text(dtype: Any) -> str:
    """Return a dtype as Python writes it."""
    name = dtype_name(dtype)
    return "ml_dtypes.bfloat16" if name == "bfloat16" else f"np.{name}"
