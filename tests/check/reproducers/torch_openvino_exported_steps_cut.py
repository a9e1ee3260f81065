"""torch.export, then OpenVINO: of a program for 4 steps, 6 steps give the first 4, and the state after these.

The program itself refuses 6 steps; the model that OpenVINO makes of it takes any, and cuts them.
"""

import numpy as np
import openvino as ov
import torch

gru = torch.nn.GRU(3, 4).eval()
program = torch.export.export(gru, (torch.randn(4, 2, 3),))
exact = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(ov.convert_model(program), "CPU", exact)
x = torch.randn(6, 2, 3)
with torch.no_grad():
    right, _ = gru(x)
    of_four, last_of_four = (one.numpy() for one in gru(x[:4]))
try:
    program.module()(x)
    raise SystemExit("PyTorch takes 6 steps")
except AssertionError:
    output, h_n = compiled(x.numpy()).values()
assert right.shape == (6, 2, 4)
assert output.shape == (4, 2, 4)
assert np.abs(output - of_four).max() < 1e-6
assert np.abs(h_n - last_of_four).max() < 1e-6
