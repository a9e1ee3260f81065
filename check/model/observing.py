"""Running a model, and collecting what each of its GRUs was asked and gave, in a process of its own."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np

from ...cases.apart import Tree
from ...cases.console import format_error
from ...cases.dtypes import Arrays
from ...cases.errors import GrucibleError, needing
from ...cases.question import QuestionError, why_no_theme
from ...vectors.exchange.manifest import read_npz
from ..importing.readers import ForeignCase, as_word, collect
from ..runtimes.posed import TORCH
from .network import SAME, Layer, Network, check_feeds, distance, draw_feeds

_AS_IS = "the file's attributes and weights are taken as they stand"
_MODULE = (
    "; if an exporter may have got them wrong, give the module that was exported: "
    "--module ./FILE.py:FUNCTION"
)


def observe_model(
    file: str, runtime: str, inputs: str | None, sizes: str, module: str | None
) -> Tree:
    """Run a model; return its layers' questions and outputs as a suite of foreign cases.

    `inputs` is an .npz file, or None to draw them at `sizes`, a JSON object; `module` makes what the file was
    exported of, if given. The tree also has the `runtime` with its version, the layer of each case and how
    it differs from the module's, what a layer got otherwise, why layers are not judged, and notes. Raises
    GrucibleError for a model, inputs or a runtime that cannot be used.
    """
    theme = as_word(Path(file).stem if _is_file(file) else file.rpartition(":")[2])
    if why := why_no_theme(theme):
        raise GrucibleError(f"{file}: {why}; give the model another name")
    network = _open(file, runtime, module)
    feeds, note = _feeds(network, file, inputs, json.loads(sizes))
    try:
        values, compared, far = _see(network, feeds)
    except GrucibleError as why:
        remedy = "its inputs are drawn; give inputs that suit it: --inputs FILE.npz"
        raise GrucibleError(f"{why}; {remedy}" if inputs is None else str(why)) from None
    unjudged = {f"layer {name}": why for name, why in network.unseen.items()}
    unjudged |= {"the whole model": compared} if far else {}
    notes = [note, *[compared] * (not far), *network.notes]
    if _is_file(file) and not module:
        notes.append(_AS_IS + _MODULE * (not file.endswith(".xml")))
    layers: list[Layer] = []
    tests: list[tuple[str, partial[ForeignCase]]] = []
    names = [*dict.fromkeys(layer.name for layer in network.layers)]
    for name in names:
        same = [layer for layer in network.layers if layer.name == name]
        runs = [(layer, run) for layer in same for run in layer.runs(values)]
        if not runs:
            not_judged(unjudged, name, "it did not run")
        most = same[0].most_runs(values, len(names)) if runs else 0
        if (ran := len(runs) + network.more[name]) > most:
            not_judged(unjudged, name, f"runs {most + 1} to {ran} were not compared")
        for number, (layer, run) in enumerate(runs[:most], 1):
            called = f"{name}-run{number}" if len(runs) > 1 else name
            tests.append((called, partial(_case, layer, values, run, layers, unjudged)))
    tree = collect(f"the GRUs of {Path(file).name}, as {runtime} ran them", theme, tests)
    if not tree["cases"]:
        raise GrucibleError(
            f"{file}: none of its GRUs can be judged; {'; '.join(map(': '.join, unjudged.items()))}"
        )
    cases = dict(zip((case["id"] for case in tree["cases"]), layers, strict=True))
    return tree | {
        "runtime": [runtime, network.version],
        "layers": {one: layer.name for one, layer in cases.items()},
        "unjudged": unjudged,
        "differs": {one: layer.differs for one, layer in cases.items() if layer.differs},
        "apart": network.apart,
        "notes": notes,
    }


def not_judged(unjudged: dict[str, str], layer: str, why: str) -> None:
    """Note why a layer is not judged, or not in whole, beside what is known of it."""
    known = unjudged.get(f"layer {layer}", "")
    if why not in known:
        unjudged[f"layer {layer}"] = f"{known}; {why}".removeprefix("; ")


def _is_file(file: str) -> bool:
    return Path(file).exists() or ":" not in file


def _open(file: str, runtime: str, module: str | None) -> Network:
    """Open a model on a runtime, beside the module that it was exported of, if one is given."""
    if module and (file.endswith(".xml") or not _is_file(file)):
        raise GrucibleError(
            f"{file}: --module is for the ONNX file that was exported of the module"
        )
    if module and ":" not in module:
        raise GrucibleError(
            f"--module {module}: expected ./FILE.py:FUNCTION, a function that makes the module"
        )
    if not _is_file(file):
        with needing("torch", "torch", "a function that makes a module"):
            from .torch_module import TorchNetwork
        if runtime == "torch" or runtime not in TORCH:
            return TorchNetwork(file, runtime)
        with needing("onnx", "torch", "an exporter to ONNX"):
            from .exported import ExportedNetwork
        return ExportedNetwork(file, runtime)
    if runtime in TORCH:
        raise GrucibleError(
            f"{file}: {runtime} runs no files; give package.module:function or ./file.py:function, which "
            "returns an nn.Module; --runtime onnxruntime runs ONNX files"
        )
    if not Path(file).is_file():
        why = "is no file" if Path(file).exists() else "no such file"
        raise GrucibleError(f"{file}: {why}; expected an ONNX model, or an OpenVINO IR (.xml)")
    if file.endswith(".xml"):
        with needing("openvino", "openvino", "an OpenVINO model"):
            from .openvino_ir import OpenVinoNetwork
        return OpenVinoNetwork(file, runtime)
    if module:
        with needing("torch", "torch", "a function that makes a module"):
            from .exported import ExportedNetwork
        return ExportedNetwork(file, runtime, module)
    with needing("onnx", "onnx", "an ONNX model"):
        from .onnx_graph import OnnxNetwork
    return OnnxNetwork(file, runtime)


def _feeds(
    network: Network, file: str, inputs: str | None, sizes: dict[str, int]
) -> tuple[Arrays, str]:
    """Read or draw the inputs of a model, and say which they are."""
    if inputs is None:
        try:
            return draw_feeds(network.ports, sizes)
        except GrucibleError as why:
            raise GrucibleError(f"{file}: {why}") from None
    try:
        given = read_npz(inputs)
        return check_feeds(network.ports, given), f"inputs are those of {Path(inputs).name}"
    except Exception as why:  # zipfile and numpy raise many types
        raise GrucibleError(f"{inputs}: {why}") from None


def _case(
    layer: Layer,
    values: Arrays,
    run: tuple[int, ...],
    layers: list[Layer],
    unjudged: dict[str, str],
) -> ForeignCase:
    """Make the case of a run; note its layer, or why it is not judged."""
    try:
        question, outputs = layer.question(values, run)
    except Exception as error:  # a user's runtime may give anything
        why = str(error) if isinstance(error, QuestionError) else format_error(error)
        not_judged(unjudged, layer.name, why)
        raise QuestionError(why) from None
    layers.append(layer)
    return ForeignCase(question, outputs)


def _see(network: Network, feeds: Arrays) -> tuple[Arrays, str, bool]:
    """Run a model; return what is seen, how its outputs differ from the plain run's, and if by far.

    Layers in bodies are hidden where the model fails with them visible, or gives far other outputs.
    """
    own = network.run(feeds)
    while True:
        try:
            values = network.run_visibly(feeds)
        except GrucibleError as error:
            if not network.narrow(f"with its values visible, {error}"):
                raise
            continue
        worst, name = (0.0, "") if own else (np.inf, "no output")
        for one, array in own.items():
            if array.dtype.kind not in "OSU":
                off = distance(array, values.get(one, np.zeros(0)))
                worst, name = max((worst, name), (off, one)) if off else (worst, name)
        if worst <= SAME or not network.narrow(
            "with its values visible, the model gives other outputs"
        ):
            break
    found = f"the outputs are {network.plain}"
    if name:
        found = f"{name} differs from {network.plain} by {worst:.2g} of its largest value"
    if name not in {"", *values}:
        found = f"{name} is missing" if own else "there is no output"
    return values, f"{network.seen}, {found}", worst > SAME
