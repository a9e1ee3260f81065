"""A PyTorch module and the file that was exported of it: the file's GRUs, judged by the module's questions.

A layer's question has the module's attributes and weights, and the input that the file's node got. So a layer
that was exported as something else is wrong, although its node is right for itself. What the file stores is
also compared with the module, number by number, and what the node got, as far as other kernels may be off.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count, product
from pathlib import Path
from typing import Any

import numpy as np

from ...cases.console import format_error
from ...cases.conversion import NotExpressible, ask
from ...cases.dtypes import Array, Arrays
from ...cases.errors import GrucibleError
from ...cases.operators.layout import gru_inputs, mask_of
from ...cases.operators.onnx import GRU
from ...cases.operators.torch import GRU as TORCH_GRU
from ...cases.question import Question, QuestionError
from ..reports.text import plural
from ..runtimes.posed import TORCH
from ..runtimes.torch import make_file
from .network import SAME, Layer, Network, Tap, distance
from .onnx_graph import OnnxNetwork
from .torch_module import TorchNetwork

EXPORTERS = tuple(
    name for name, one in TORCH.items() if one.exporter.startswith("onnx") and not one.dynamic
)
"""The runtimes that export a module, at the sizes of its inputs, and run the file in ONNX Runtime."""
_WEIGHTS = {t.name for t in GRU.inputs if t.role in ("w", "r", "b")}
_OLDER = (
    "; for packed rows, for example, give --runtime torch-onnx-legacy, the exporter of "
    "torch.onnx.export(…, dynamo=False)"
)
"""What may help where the newer exporter fails; PyTorch 2.13's exports no packed rows."""
_TAKEN = {
    (0,): "",
    (0, 1): "",
    (1, 0): " with forward and reverse exchanged",
    (0, 0): " of the forward direction, in both",
    (1, 1): " of the reverse direction, in both",
}
"""Of which directions a file may have the module's weights in its own, and the words for that."""


class ExportedNetwork(Network):
    """The file that was exported of a module, and beside it the module itself.

    Without a `module`, `file` is the module, and the runtime is an exporter.
    """

    seen, plain = "in the file", "the module's"

    def __init__(self, file: str, runtime: str, module: str | None = None) -> None:
        super().__init__(file, runtime)
        if module is None and runtime not in EXPORTERS:
            raise GrucibleError(
                f"{file}: a module goes through {' or '.join(EXPORTERS)}, not {runtime}"
            )
        self._module = TorchNetwork(module or file, "torch")
        self._exported = OnnxNetwork(file, runtime) if module else None
        self._outputs = self._exported.outputs if self._exported else []
        self.ports = (self._exported or self._module).ports
        self._named = self._inputs()
        self.version = (
            self._exported.version if self._exported else f"{self._module.version} and onnxruntime"
        )

    def _file(self, feeds: Arrays) -> tuple[OnnxNetwork, Arrays]:
        """Export the module, once; return the file's network and its inputs."""
        if self._exported is None:
            legacy = TORCH[self.runtime].exporter == "onnx-legacy"
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, f"{self.file.rpartition(':')[2]}.onnx")
                try:
                    path.write_bytes(make_file(self._module.module, feeds, {}, legacy))
                except Exception as error:  # exporters raise many types
                    why = f"{self.file}: is not exported: {format_error(error)}"
                    raise GrucibleError(why + _OLDER * (not legacy)) from None
                try:
                    self._exported = OnnxNetwork(str(path), "onnxruntime")
                except GrucibleError as why:
                    raise GrucibleError(
                        str(why).replace(str(path), f"{self.file}, exported")
                    ) from None
            self.version = f"{self._module.version}, onnxruntime {self._exported.version}"
        names = [one.name for one in self._exported.ports]
        return self._exported, {name: feeds[name] for name in names if name in feeds}

    def _inputs(self) -> dict[str, str]:
        """Find the module's name of each input of the file: the same, else by their order."""
        takes, given = self._module.ports, [one.name for one in self.ports]
        names = [one.name for one in takes]
        found = dict(zip(given, given if {*given} <= {*names} else names, strict=False))
        needed = {one.name for one in takes if one.required}
        if len(found) < len(given) or not needed <= {*found.values()}:
            why = f"takes {', '.join(names) or 'no inputs'}; the file takes {', '.join(given)}"
            raise GrucibleError(f"{self._module.file}: {why}; was it exported of this?")
        return found

    def _feeds(self, feeds: Arrays) -> Arrays:
        """Give a file's inputs the names that the module has for them, and its dtype."""
        return {self._named[name]: self._module.cast(array) for name, array in feeds.items()}

    def run(self, feeds: Arrays) -> Arrays:
        """Call the module; its outputs are what the file's must be."""
        found = self._module.run(self._feeds(feeds))
        return self._outputs_of(found)

    def _outputs_of(self, outputs: Arrays) -> Arrays:
        """Name outputs as the user's file does, by their order; it may lack the last."""
        names = chain(self._outputs, count(len(self._outputs) + 1))
        return {f"output {name}": one for name, one in zip(names, outputs.values(), strict=False)}

    def run_visibly(self, feeds: Arrays) -> Arrays:
        """Run module and file; a layer has the module's weights, and what its node got and gave."""
        asked = self._module.run_visibly(self._feeds(feeds))
        exported, given = self._file(feeds)
        own, values = exported.run(given), exported.run_visibly(given)
        found = self._outputs_of(own)
        calls = [one for one in self._module.layers if one.operator is TORCH_GRU]
        cells = {one.name for one in self._module.layers if one.operator is not TORCH_GRU}
        self.unseen |= exported.unseen | self._module.unseen
        self.unseen |= dict.fromkeys(cells, "exporters write no GRU for a cell")
        if len(calls) != len(exported.layers):
            layers = plural(len(calls), "layer")
            why = f"the file has {len(exported.layers)} GRU nodes for {layers} of the module"
            self.unseen |= {one.name: why for one in calls}
            return found
        asks = [_question(one, asked) for one in calls]
        gives = [_question(one, values) for one in exported.layers]
        for at, its in enumerate(_pairs(asks, gives)):
            question, stored = asks[at], gives[its]
            if isinstance(question, Question) and isinstance(stored, Question):
                found |= self._pair(calls[at], question, exported.layers[its], stored, values)
            else:
                self.unseen[calls[at].name] = str(
                    stored if isinstance(question, Question) else question
                )
        if len(self.layers) == len(calls) and not any(one.differs for one in self.layers):
            same = "the file's GRUs have the module's attributes and weights, number by number"
            self.notes.append(same + ", and get what the module's get" * (not self.apart))
        return found

    def _pair(
        self, call: Layer, question: Question, node: Layer, stored: Question, values: Arrays
    ) -> Arrays:
        """Add the layer that asks a node what the module's layer asks; return its values.

        Note in what the node differs.
        """
        outputs = {name: values[tap.name] for name, tap in node.outputs.items()}
        kind = stored.inputs["W"].dtype
        inputs = {n: a.astype(kind) for n, a in question.inputs.items() if n in _WEIGHTS}
        if any((inputs[name] != question.inputs[name]).any() for name in inputs):
            self.notes = [
                f"the module's weights are {question.dtype}, and are rounded to the file's {stored.dtype}"
            ]
        differs = [*_differences(question.attributes, inputs, stored)]
        for name in _apart(question, stored):
            if name not in stored.inputs:
                differs.append(f"{name} is missing")
            elif name not in question.inputs:
                differs.append(f"{name} is one that the module does not give")
            elif not self.apart:
                source = node.inputs[name].name
                self.apart[call.name] = (
                    f"the file's {name}, {source!r}, is not what the module gives it"
                )
        for name in question.inputs.keys() - _WEIGHTS:
            inputs[name] = stored.inputs.get(name, question.inputs[name])
        given = {**question.given, "layout": stored.attributes["layout"]}
        place = f"{call.name}/{len(self.layers)}"  # a layer may be called several times
        named = {f"{place}/{name}": array for name, array in (inputs | outputs).items()}
        takes, gives = ({n: Tap(f"{place}/{n}") for n in some} for some in (inputs, outputs))
        self.layers.append(Layer(call.name, GRU, given, takes, gives, differs="; ".join(differs)))
        return named


def _question(layer: Layer, values: Arrays) -> Question | str:
    """Make the question of ONNX's GRU that a layer asks, or say why there is none."""
    try:
        question, _ = layer.question(values, ())
        return question if layer.operator is GRU else ask(question, GRU).question
    except (NotExpressible, QuestionError) as why:
        return str(why)


def _pairs(asks: Sequence[Question | str], gives: Sequence[Question | str]) -> list[int]:
    """Find the node of each of the module's calls: by its inputs, then by its weights, then by order."""

    def apart(call: int, node: int) -> tuple[bool, bool]:
        question, stored = asks[call], gives[node]
        if isinstance(question, str) or isinstance(stored, str):
            return True, True
        w = stored.inputs["W"]
        return bool(_apart(question, stored)), not np.array_equal(
            question.inputs["W"].astype(w.dtype), w
        )

    found = {call: call for call in range(len(asks)) if not any(apart(call, call))}
    others = [call for call in range(len(asks)) if call not in found]
    for call, node in sorted(product(others, others), key=lambda pair: apart(*pair)):
        if call not in found and node not in found.values():
            found[call] = node
    return [found[call] for call in range(len(asks))]


def _apart(asked: Question, stored: Question) -> list[str]:
    """Name the inputs of a node that are not what the module gives; packed rows may be sorted by length."""
    one, its = (gru_inputs(GRU, each.attributes, each.inputs) for each in (asked, stored))
    ragged = "sequence_lens" in {*asked.inputs, *stored.inputs}
    axes = slice(None, None, 2 if ragged else 1)
    if one.x.shape[axes] != its.x.shape[axes]:
        return ["X"]
    found = []

    def alike(array: Array, other: Array) -> bool:
        return max(distance(array, other), distance(other, array)) <= SAME

    for order in (np.argsort(-one.lengths, kind="stable"), np.arange(len(one.lengths))):
        x, h0, lengths = one.x[order], one.h0[:, order], one.lengths[order]
        steps = min(x.shape[1], its.x.shape[1])
        rows = mask_of(np.minimum(lengths, its.lengths), 0 * lengths, steps)[..., None]
        same = {
            "X": alike(*(np.where(rows, each[:, :steps], 0) for each in (x, its.x))),
            "initial_h": h0.shape != its.h0.shape or alike(h0, its.h0),
            "sequence_lens": np.array_equal(lengths, its.lengths),
        }
        found.append([name for name, holds in same.items() if not holds])
    return min(found, key=len)


def _differences(asked: Mapping[str, Any], weights: Arrays, stored: Question) -> Iterator[str]:
    """Yield in what a node differs from the attributes and weights that the module asks for."""
    has = stored.attributes
    for name in asked:
        if name != "layout" and has[name] != asked[name]:
            shown = (
                str(np.float32(one) if isinstance(one, float) else one)
                for one in (has[name], asked[name])
            )
            yield "{} is {}, the module's {}".format(name, *shown)
    for name in ("W", "R"):
        if stored.inputs[name].shape != weights[name].shape:
            yield f"{name} has shape {stored.inputs[name].shape}, the module's {weights[name].shape}"
            return
    given = {name: stored.inputs[name] for name in _WEIGHTS if name in stored.inputs}
    mine, other = (_parts(has, one, stored.inputs["X"]) for one in (given, weights))
    found: dict[str, list[str]] = defaultdict(list)
    orders = [order for order in _TAKEN if len(order) == len(mine["Wz"])]
    for part, array in mine.items():
        if not np.array_equal(array, other[part]):
            same = [f"the module's{f' {name}' * (name != part)}{_TAKEN[order]}"
                    for order in orders for name, one in other.items()
                    if np.array_equal(array, one[[*order]])]  # fmt: skip
            nothing = "missing" if "b" in part and "B" not in stored.inputs else "0"
            found[[*same, "not the module's"][0] if array.any() else nothing].append(part)
    for what, parts in found.items():
        off = max(float(np.abs(mine[part] - other[part]).max()) for part in parts)
        apart = f" (up to {off:.2g} off)" if what == "not the module's" else ""
        which = ", ".join(parts) if len(parts) < len(mine) else "weights"
        yield f"{which} {'is' if len(parts) == 1 else 'are'} {what}{apart}"


def _parts(attributes: Mapping[str, Any], weights: Arrays, x: Array) -> Arrays:
    """Split a node's weights by gate under ONNX's names, such as Rbh, as float64; no B is zeros."""
    of, hidden = GRU.notation, weights["R"].shape[-1]
    absent = {"X": x, "B": np.zeros((len(weights["R"]), 6 * hidden), x.dtype)}
    given = gru_inputs(GRU, attributes, absent | weights)
    found = {of.of_gate(of.w, gate): array for gate, array in given.w.items()}
    found |= {of.of_gate(of.u, gate): array for gate, array in given.r.items()}
    found |= {of.part(part): array for part, array in given.b.items()}
    return {name: array.astype(np.float64) for name, array in found.items()}
