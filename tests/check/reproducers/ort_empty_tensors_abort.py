"""ONNX Runtime: GRU with no step (without sequence_lens), no row or no input ends the process."""

import subprocess
import sys

CODE = """
import sys
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper
steps, rows, size = map(int, sys.argv[1:])
feeds = {"X": (steps, rows, size), "W": (1, 3, size), "R": (1, 3, 1)}
node = helper.make_node("GRU", [*feeds], ["Y", "Y_h"], hidden_size=1)
given = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in feeds.items()]
made = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in node.output]
graph = helper.make_graph([node], "gru", given, made)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10)
session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
session.run(None, {n: np.ones(s, np.float32) for n, s in feeds.items()})
"""
for shape in (1, 1, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0):
    code = subprocess.run([sys.executable, "-c", CODE, *map(str, shape)], stderr=-3).returncode
    print("X", shape, "exit status", code)
    assert code == (0 if 0 not in shape else -6)  # SIGABRT
