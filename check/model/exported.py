"""A PyTorch module through an exporter: the file's GRUs, judged by the questions of the module's layers.

A layer's question has the module's attributes and weights, and the input that the file's node got. So a layer
that was exported as something else is wrong, although its node is right for itself.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from ...cases.console import format_error
from ...cases.conversion import NotExpressible, ask
from ...cases.dtypes import Arrays
from ...cases.errors import GrucibleError
from ...cases.operators.onnx import GRU
from ...cases.operators.torch import GRU as TORCH_GRU
from ..runtimes.posed import TORCH
from ..runtimes.torch import make_file
from .network import Layer, Network, Tap
from .onnx_graph import OnnxNetwork
from .torch_module import TorchNetwork

EXPORTERS = tuple(
    name for name, one in TORCH.items() if one.exporter.startswith("onnx") and not one.dynamic
)
"""The runtimes that export a module, at the sizes of its inputs, and run the file in ONNX Runtime."""
_WEIGHTS = {t.name for t in GRU.inputs if t.role in ("w", "r", "b")}


class ExportedNetwork(Network):
    """The file that an exporter makes of a module, and beside it the module itself."""

    beside = "in the module itself"

    def __init__(self, file: str, runtime: str) -> None:
        super().__init__(file, runtime)
        if runtime not in EXPORTERS:
            raise GrucibleError(
                f"{file}: a module goes through {' or '.join(EXPORTERS)}, not {runtime}"
            )
        self._module = TorchNetwork(file, "torch")
        self.ports = self._module.ports
        self._exported: OnnxNetwork | None = None
        self.version = f"{self._module.version} and onnxruntime"

    def _file(self, feeds: Arrays) -> tuple[OnnxNetwork, Arrays]:
        """Export the module, once; return the file's network and its inputs."""
        if self._exported is None:
            legacy = TORCH[self.runtime].exporter == "onnx-legacy"
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, f"{self.file.rpartition(':')[2]}.onnx")
                try:
                    path.write_bytes(make_file(self._module.module, feeds, {}, legacy))
                except Exception as error:  # exporters raise many types
                    raise GrucibleError(
                        f"{self.file}: is not exported: {format_error(error)}"
                    ) from None
                try:
                    self._exported = OnnxNetwork(str(path), "onnxruntime")
                except GrucibleError as why:
                    raise GrucibleError(
                        str(why).replace(str(path), f"{self.file}, exported")
                    ) from None
            self.version = f"{self._module.version}, onnxruntime {self._exported.version}"
        names = [one.name for one in self._exported.ports]
        return self._exported, {name: feeds[name] for name in names if name in feeds}

    def run(self, feeds: Arrays) -> Arrays:
        """Call the module; its outputs are what the file's must be."""
        found = self._module.run(feeds)
        return {f"output {number}": array for number, array in enumerate(found.values(), 1)}

    def run_visibly(self, feeds: Arrays) -> Arrays:
        """Run module and file; a layer has the module's weights, and what its node got and gave."""
        asked, (exported, given) = self._module.run_visibly(feeds), self._file(feeds)
        own, values = exported.run(given), exported.run_visibly(given)
        found = {f"output {number}": array for number, array in enumerate(own.values(), 1)}
        calls = [one for one in self._module.layers if one.operator is TORCH_GRU]
        cells = {one.name for one in self._module.layers if one.operator is not TORCH_GRU}
        self.unseen |= self._module.unseen | dict.fromkeys(
            cells, "exporters write no GRU for a cell"
        )
        if len(calls) != len(exported.layers):
            why = f"the file has {len(exported.layers)} GRU nodes for {len(calls)} layers of the module"
            self.unseen |= {one.name: why for one in calls}
            return found
        for call, node in zip(calls, exported.layers, strict=True):
            try:
                question = ask(call.question(asked, ())[0], GRU).question
            except NotExpressible as why:
                self.unseen[call.name] = str(why)
                continue
            inputs = {n: a for n, a in question.inputs.items() if n in _WEIGHTS}
            for name in question.inputs.keys() - _WEIGHTS:
                tap = node.inputs.get(name)
                inputs[name] = np.asarray(values[tap.name]) if tap else question.inputs[name]
            arrays = inputs | {name: values[tap.name] for name, tap in node.outputs.items()}
            found |= {f"{call.name}/{name}": array for name, array in arrays.items()}
            taps = {name: Tap(f"{call.name}/{name}") for name in arrays}
            takes, gives = ({n: taps[n] for n in some} for some in (inputs, node.outputs))
            self.layers.append(Layer(call.name, GRU, question.given, takes, gives))
        return found
