"""Readers of others' tests, each in a process of its own: exports, .npz files, ONNX's and WebNN's tests.

A test of ONNX has a model of one GRU node, and data sets of inputs and expected outputs. Tests of WebNN's gru
and gruCell are JSON; vectors/README.md says how to get it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path
from re import sub
from typing import Any, NamedTuple

import numpy as np

from ...cases.apart import Tree
from ...cases.dtypes import Array, Arrays
from ...cases.errors import GrucibleError, needing
from ...cases.files import files_below
from ...cases.operators import operator_named
from ...cases.operators.layout import of_both_directions
from ...cases.operators.onnx import GRU
from ...cases.operators.signature import Operator
from ...cases.operators.webnn import OPERATORS as WEBNN
from ...cases.question import Question, QuestionError, pose
from ...cases.strict_json import strict_json
from ...vectors.block import attributes_from_json, canonical_json
from ...vectors.exchange.export import open_export
from ...vectors.exchange.manifest import MANIFEST, read_npz

FIRST_OPSET = 7
"""The first opset whose GRU means the same as that of opset 14."""
ONNX_DOMAINS = ("", "ai.onnx")
_MOST_NAME = 160
"""Maximum characters of a name in an id."""


class ForeignCase(NamedTuple):
    """A case from elsewhere: a question, expected outputs, if any, and whether it is nonportable."""

    question: Question
    expected: Arrays
    nonportable: bool = False


Tests = Iterable[tuple[str, Callable[[], ForeignCase]]]
"""Tests by name, each with a function that reads it, or raises QuestionError for an unknown operator."""


def collect(about: str, theme: str, tests: Tests) -> Tree:
    """Read tests into a tree: what they are about, their cases, and how many were left out for each reason.

    A question without an id gets an id from its theme and name. An id that is already there gets a number.
    Raises GrucibleError for a place that cannot be read.
    """
    cases: dict[str, Tree] = {}
    left_out: Counter[str] = Counter()
    for name, read in tests:
        try:
            question, expected, nonportable = read()
        except QuestionError as reason:
            left_out[str(reason)] += 1
            continue
        except GrucibleError:
            raise
        except Exception as error:  # libraries raise many types for damaged files
            left_out[f"{name[:_MOST_NAME]}: cannot be read ({_reason(error)})"] += 1
            continue
        where, what = as_word(theme), as_word(name)
        first = question.id or f"{question.operator}/{where}/{question.dtype}/{what}"
        names = chain([first], (f"{first}-{number}" for number in count(2)))
        new = next(one for one in names if one not in cases)
        cases[new] = {
            "id": new,
            "operator": question.operator,
            "given": canonical_json(question.given),
            "inputs": dict(question.inputs),
            "outputs": list(question.outputs),
            "expected": expected,
            "nonportable": nonportable,
        }
    return {"about": about, "cases": list(cases.values()), "left_out": left_out}


def as_word(text: str) -> str:
    """Make a part of an id of a text."""
    return sub(r"[^A-Za-z0-9._+=]+", "-", text).strip(".-")[:_MOST_NAME] or "unnamed"


def _reason(error: Exception) -> str:
    """Say in one line why something cannot be read."""
    why = f"lacks {error}" if isinstance(error, KeyError) else str(error)
    return " ".join(why.split())[:200] or type(error).__name__


def _files(place: str, ending: str, expected: str) -> tuple[Path, list[Path]]:
    """Find a folder's files with this ending, or the file at `place`. Raises GrucibleError for none."""
    root = Path(place)
    files = sorted(files_below(root, ending)) if root.is_dir() else [root]
    if not files:
        raise GrucibleError(f"{root}: holds no {expected}")
    for file in files:
        if not file.is_file():
            raise GrucibleError(f"{file}: is no regular file; expected {expected}")
    return root.resolve(), files


def read_export(folder: str) -> Tree:
    """Parse an export of ours, in any format. Raises ExportError."""
    export = open_export(Path(folder))
    about = f"imported from an export to {export.manifest.layout}, {export.root_sha256}"
    tests: Tests = (
        ("", partial(ForeignCase, question, expected, tier == "nonportable"))
        for question, expected, tier in export.cases()
    )
    return collect(about, "", tests)


def read_npz_files(place: str, operator: str | None, attributes: str | None) -> Tree:
    """Parse .npz files, whose arrays are named as inputs and outputs, or as the owner's tensors.

    `NAME.json` beside `NAME.npz` may hold `{"operator": …, "attributes": {…}}`; files without it take the
    arguments. Raises GrucibleError where no operator is given.
    """
    root, files = _files(place, ".npz", ".npz file")
    found = ((f.stem, partial(_npz_case, f, *_asked(f, operator, attributes))) for f in files)
    return collect(f"imported from .npz files in {root.name}", root.stem, found)


def _asked(
    file: Path, operator: str | None, attributes: str | None
) -> tuple[Operator, dict[str, Any]]:
    """Return a file's operator and attributes: from the JSON beside it, else from the arguments."""
    beside, text = file.with_suffix(".json"), attributes or "{}"
    if beside.is_file():
        try:
            read = strict_json(beside.read_bytes())
            if not isinstance(read, dict) or read.keys() != {"operator", "attributes"}:
                raise ValueError("it has other keys")
        except (OSError, ValueError) as error:
            wanted = "expected an object with operator and attributes alone"
            raise GrucibleError(f"{beside}: {error}; {wanted}") from None
        operator, text = str(read["operator"]), json.dumps(read["attributes"])
    if operator is None:
        raise GrucibleError(
            f"{file}: of which operator? Give --operator, or {beside.name} beside it"
        )
    found = operator_named(operator)
    return found, attributes_of(f"{file}: attributes", found, text)


def attributes_of(place: str, operator: Operator, attributes: str) -> dict[str, Any]:
    """Read attributes from a JSON text that a person wrote. Raises GrucibleError, with the place."""
    try:
        return attributes_from_json(attributes, operator, as_written=True)
    except ValueError as error:
        raise GrucibleError(f"{place}: {error}") from None


def _npz_case(file: Path, operator: Operator, given: Mapping[str, Any]) -> ForeignCase:
    arrays = of_both_directions(operator, operator.with_defaults(given), read_npz(file))
    expected = {t.name: arrays.pop(t.name) for t in operator.outputs if t.name in arrays}
    return ForeignCase(pose(operator, given, arrays, outputs=list(expected) or None), expected)


def read_onnx_tests(place: str | None) -> Tree:
    """Parse the GRU tests in and below a folder, or those of the installed onnx package.

    Raises GrucibleError where there is no model.
    """
    with needing("onnx", "onnx", "import --from onnx"):
        import onnx
    if place is None:
        about = f"the node tests of onnx {onnx.__version__}"
        return collect(about, "onnx-node-tests", _of_package())
    root, models = _files(place, "model.onnx", "model.onnx; expected ONNX's backend tests")
    return collect(f"imported from ONNX's tests in {root.name}", root.name, _of_folder(models))


def _of_package() -> Tests:
    from onnx.backend.test.loader import load_node_model_tests

    with np.errstate(all="ignore"):  # other operators' tests overflow and divide by zero
        tests = load_node_model_tests()
    for test in tests:
        if test.model is not None and any(n.op_type == "GRU" for n in test.model.graph.node):
            for inputs, outputs in test.data_sets or []:
                yield test.name, partial(_onnx_case, test.model, inputs, outputs)


def _of_folder(models: Sequence[Path]) -> Tests:
    for path in models:
        sets = sorted(path.parent.glob("test_data_set_*"))
        for data in sets or [path.parent / "test_data_set_0"]:
            number = data.name.removeprefix("test_data_set") if len(sets) > 1 else ""
            yield path.parent.name + number, partial(_onnx_files, path, data)


def _onnx_files(path: Path, data: Path) -> ForeignCase:
    import onnx

    model = onnx.load_model_from_string(path.read_bytes())
    return _onnx_case(model, _tensors(data, "input"), _tensors(data, "output"))


def _tensors(folder: Path, kind: str) -> list[Array]:
    """Return the tensors `<kind>_0.pb`, `<kind>_1.pb` … of a data set. Raises QuestionError for others."""
    from ...vectors.exchange.onnx_model import read_tensor

    files = list(folder.glob(f"{kind}_*.pb"))
    numbered = [folder / f"{kind}_{number}.pb" for number in range(len(files))]
    if set(files) != set(numbered) or not all(file.is_file() for file in files):
        raise QuestionError(f"has {kind}s that are not numbered from 0 on")
    return [read_tensor(file.read_bytes()) for file in numbered]


def _onnx_case(model: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> ForeignCase:
    """Make a case of a model and a data set. Raises QuestionError."""
    import onnx

    from ...vectors.exchange.onnx_model import read_tensor

    node, graph = _gru(model), model.graph
    given, tensors, gives = gru_node(node)
    arrays = {one.name: read_tensor(one.SerializeToString()) for one in graph.initializer}
    fed = [port.name for port in graph.input if port.name not in arrays]
    if len(inputs) != len(fed):
        raise QuestionError(f"has {len(inputs)} inputs for {len(fed)} of the model")
    arrays |= {port: np.asarray(one) for port, one in zip(fed, inputs, strict=True)}
    asked = [port.name for port in graph.output]
    wanted = {port: name for name, port in gives.items()}
    if not set(asked) <= set(wanted) or len(set(asked)) < len(asked):
        raise QuestionError("gives outputs that are not the GRU's, or lists one twice")
    if len(outputs) > len(asked):
        raise QuestionError(f"has {len(outputs)} outputs for {len(asked)} of the model")
    fed_with = {name: arrays[port] for name, port in tensors.items()}
    question = pose(GRU, given, fed_with, outputs=[wanted[port] for port in asked])
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise QuestionError(f"is refused by onnx.checker: {_reason(error)}") from None
    expected = zip(asked, outputs, strict=False)
    return ForeignCase(question, {wanted[port]: np.asarray(array) for port, array in expected})


def _gru(model: Any) -> Any:
    """Return the only node of a model. Raises QuestionError if it is not one GRU of a known opset."""
    nodes = [(n.op_type, n.domain in ONNX_DOMAINS) for n in model.graph.node]
    if model.functions or nodes != [("GRU", True)]:
        raise QuestionError("is not one GRU of ONNX, and nothing else")
    check_opset(model)
    return model.graph.node[0]


def check_opset(model: Any) -> None:
    """Raise QuestionError for a model of an opset whose GRU is unknown."""
    import onnx

    imported = (one.version for one in model.opset_import if one.domain in ONNX_DOMAINS)
    opset, last = max(imported, default=0), onnx.defs.onnx_opset_version()
    if not FIRST_OPSET <= opset <= last:
        raise QuestionError(f"is of opset {opset}; GRU is known from opset {FIRST_OPSET} to {last}")


def gru_node(node: Any) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """Return the attributes of an ONNX GRU node, and the names of its inputs and of its outputs.

    The names in the model are by the operator's names. Raises QuestionError for an attribute that is twice.
    """
    from onnx.helper import get_attribute_value

    given = {a.name: _decoded(get_attribute_value(a)) for a in node.attribute}
    if len(given) < len(node.attribute):
        raise QuestionError("gives an attribute twice")
    takes = {t.name: port for t, port in zip(GRU.inputs, node.input, strict=False) if port}
    gives = {t.name: port for t, port in zip(GRU.outputs, node.output, strict=False) if port}
    return given, takes, gives


def _decoded(value: Any) -> Any:
    """Return the value of an attribute, with texts in place of bytes."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return [*map(_decoded, value)] if hasattr(value, "__iter__") else value


def read_webnn_tests(place: str) -> Tree:
    """Parse the tests in a JSON file, or in a folder's JSON files. Raises GrucibleError if there are none."""
    root, files = _files(place, ".json", "JSON file; expected WebNN's tests")
    return collect(f"WebNN's tests in {root.name}", root.stem, _webnn_tests(files))


def _webnn_tests(files: Sequence[Path]) -> Tests:
    for file in (file for file in files if file.name != MANIFEST):
        try:
            found = strict_json(file.read_bytes())
        except ValueError as error:
            raise GrucibleError(f"{file}: is not JSON ({_reason(error)})") from None
        if isinstance(found, dict):
            found = found.get("tests", [found])
        for one in found if isinstance(found, list) else [found]:
            name = one.get("name") if isinstance(one, dict) else None
            yield str(name or file.name), partial(_webnn_case, one)


def _webnn_case(found: Any) -> ForeignCase:
    """Make a case of one of WebNN's tests. Raises QuestionError."""
    try:
        graph = found["graph"]
        [call] = graph["operators"]
        pairs = [pair for one in call["arguments"] for pair in one.items()]
        pairs += dict(pairs).get("options", {}).items()
        given = {name: value for name, value in pairs if name not in ("options", "label")}
        if len(dict(pairs)) != len(pairs):
            raise QuestionError("gives an argument twice")
        known = [one for one in WEBNN if one.name == f"webnn.{call['name']}"]
        if not known:
            raise QuestionError("is no gru or gruCell of WebNN")
        return _webnn_question(graph, call["outputs"], known[0], given)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise QuestionError(
            f"is no test of one gru or gruCell of WebNN ({_reason(error)})"
        ) from None


def _webnn_question(
    graph: Mapping[str, Any], named: Any, operator: Operator, given: dict[str, Any]
) -> ForeignCase:
    """Pose the question of a call: `given` has its arguments and options, `named` its outputs' names."""
    tensors = {t.name: given.pop(t.name) for t in operator.inputs if t.name in given}
    inputs = {name: _array(graph["inputs"][one]) for name, one in tensors.items()}
    outputs = [t.name for t in operator.outputs]
    if "output1" in outputs and (sequence := given.pop("returnSequence", False)) is not True:
        if sequence is not False:
            raise ValueError(f"returnSequence is {sequence!r}")
        outputs.remove("output1")
    named = [named] if isinstance(named, str) else named
    wanted = dict(zip(named, outputs, strict=True))
    if len(wanted) < len(outputs) or graph["expectedOutputs"].keys() - wanted:
        raise QuestionError(f"expects other outputs than {named}"[:200] + ", or one twice")
    question = pose(operator, given, inputs, outputs=outputs)
    return ForeignCase(
        question, {wanted[n]: _array(one) for n, one in graph["expectedOutputs"].items()}
    )


def _array(tensor: Mapping[str, Any]) -> Array:
    """Return the numbers of a tensor; a single number fills it."""
    data, kind = np.asarray(tensor["data"]), tensor["descriptor"]["dataType"]
    if data.dtype.kind not in "if" or kind not in ("float16", "float32"):
        raise ValueError(f"a tensor of {kind!r} has other data than numbers of float16 or float32")
    with np.errstate(over="ignore"):
        data = data.astype(np.float64).astype(kind)
    shape = tensor["descriptor"]["shape"]
    return np.full(shape, data) if data.ndim == 0 else data.reshape(shape)
