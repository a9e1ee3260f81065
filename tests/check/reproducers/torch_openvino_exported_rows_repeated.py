"""torch.export, then OpenVINO: of a program for 4 rows, one row gives 4 rows, all the same.

The program itself refuses one row; the model that OpenVINO makes of it repeats the outputs.
"""

import numpy as np
import openvino as ov
import torch

gru = torch.nn.GRU(3, 4).eval()
program = torch.export.export(gru, (torch.randn(5, 4, 3),))
exact = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(ov.convert_model(program), "CPU", exact)
x = torch.randn(5, 1, 3)
with torch.no_grad():
    right, last = (one.numpy() for one in gru(x))
try:
    program.module()(x)
    raise SystemExit("PyTorch takes one row")
except AssertionError:
    output, h_n = compiled(x.numpy()).values()
assert right.shape == (5, 1, 4)
assert output.shape == (5, 4, 4)
assert h_n.shape == (1, 4, 4)
assert np.abs(output - right).max() < 1e-6
assert np.abs(h_n - last).max() < 1e-6
