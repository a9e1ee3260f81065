"""Keras's layer GRU on each backend, as a runtime of keras.GRU and of what can be asked as one.

A case becomes one layer with the case's weights, called once. Keras chooses its backend when it is imported,
by the environment variable KERAS_BACKEND. So a process asks one backend.
"""

from __future__ import annotations

import os
import tempfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ...cases.dtypes import Arrays
from ...cases.errors import RuntimeNotUsable
from ...cases.operators.keras import GRU
from ...cases.question import Question
from .posed import run_as


def load_keras(backend: str) -> Any:
    """Import Keras with a backend. Raises RuntimeNotUsable where it was imported with another."""
    os.environ["KERAS_BACKEND"] = backend
    import keras

    if (found := keras.backend.backend()) != backend:
        raise RuntimeNotUsable(f"keras has the backend {found} in this process; expected {backend}")
    return keras


def make_layer(keras: Any, question: Question, *, unrolled: bool) -> Any:
    """Make the layer that a question asks for, with its weights. Raises what Keras raises."""
    inputs = question.inputs
    layer = keras.layers.GRU(
        **question.given,
        use_bias="bias" in inputs,
        return_state="state" in question.outputs,
        unroll=unrolled,
        dtype=question.dtype,
        recurrent_initializer="zeros",  # the default, orthogonal, is not made in every dtype
    )
    layer.build(inputs["inputs"].shape)
    weights = [inputs[name] for name in ("kernel", "recurrent_kernel", "bias") if name in inputs]
    layer.set_weights(weights)
    return layer


class Keras:
    """keras.GRU on one backend, as a loop or `unrolled`."""

    parallel = True

    def __init__(self, backend: str, *, unrolled: bool = False) -> None:
        self._unrolled = unrolled
        self._keras = load_keras(backend)
        release = import_module(backend).__version__.partition("-")[0]
        self.version = f"{self._keras.__version__}, {backend} {release}"
        self.__doc__ = f"keras.GRU on the backend {backend}{', unrolled' if unrolled else ''}"

    def __call__(self, question: Question) -> Arrays:
        """Give the layer's outputs, in the backend's dtypes.

        Raises Unsupported for a question of another operator that keras.GRU cannot ask. Where Keras refuses,
        it raises its own errors.
        """
        return run_as((GRU,), self._run, question)

    def _run(self, question: Question) -> Arrays:
        layer = make_layer(self._keras, question, unrolled=self._unrolled)
        given = {name: question.inputs.get(name) for name in ("mask", "initial_state")}
        found = layer(question.inputs["inputs"], **given)
        found = found if isinstance(found, (list, tuple)) else [found]
        arrays = [np.asarray(self._keras.ops.convert_to_numpy(one)) for one in found]
        return dict(zip(question.outputs, arrays, strict=True))


class KerasExported(Keras):
    """keras.GRU on PyTorch, exported to an ONNX file and run by ONNX Runtime.

    With `dynamic`, the time axis is free. The model is called, and exported, before it is run.
    """

    def __init__(self, *, dynamic: bool) -> None:
        super().__init__("torch")
        self._dynamic = dynamic
        exporter, runtime = version("onnxscript"), version("onnxruntime")
        self.version += f", onnxscript {exporter}, onnxruntime {runtime}"
        self.__doc__ = f"keras.GRU exported to ONNX{', its time axis free' if dynamic else ''}"

    def _run(self, question: Question) -> Arrays:
        import onnxruntime

        keras, names = self._keras, ("inputs", "mask", "initial_state")
        given = {name: question.inputs[name] for name in names if name in question.inputs}
        symbolic = {}
        for name, array in given.items():
            shape = [
                None if self._dynamic and name != "initial_state" else array.shape[1],
                *array.shape[2:],
            ]
            symbolic[name] = keras.Input(shape, dtype=str(array.dtype), name=name)
        layer = make_layer(keras, question, unrolled=False)
        x, *others = symbolic
        outputs = layer(symbolic[x], **{name: symbolic[name] for name in others})
        model = keras.Model(list(symbolic.values()), outputs)
        model(list(given.values()))
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "gru.onnx")
            model.export(path, format="onnx", verbose=False)
            session = onnxruntime.InferenceSession(path)
        feeds = dict(zip((one.name for one in session.get_inputs()), given.values(), strict=True))
        return dict(zip(question.outputs, session.run(None, feeds), strict=True))


_BACKENDS = ("numpy", "jax", "torch", "tensorflow", "openvino")


def __getattr__(name: str) -> Keras:
    """Make a runtime when it is asked for; making it imports its backend."""
    if name in ("keras_onnx", "keras_onnx_dynamic"):
        return KerasExported(dynamic=name.endswith("dynamic"))
    backend, _, how = name.removeprefix("keras_").partition("_")
    if not name.startswith("keras_") or backend not in _BACKENDS or how not in ("", "unrolled"):
        raise AttributeError(name)
    return Keras(backend, unrolled=bool(how))
