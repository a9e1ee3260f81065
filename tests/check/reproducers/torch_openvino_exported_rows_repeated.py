"""torch.export, then OpenVINO: of a program for 4 rows, one row gives 4 rows, all the same.

The program itself refuses one row; the model that OpenVINO makes of it repeats the outputs.
"""

import numpy as np
import openvino as ov
import torch

gru = torch.nn.GRU(1, 1, bias=False)
gru.weight_ih_l0.data = torch.tensor([[0.0], [0.0], [1.0]])
gru.weight_hh_l0.data.zero_()
program = torch.export.export(gru, (torch.ones(3, 4, 1),))
precise = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(ov.convert_model(program), "CPU", precise)
x = torch.tensor([[[2.0]], [[4.0]], [[6.0]]])
try:
    program.module()(x)
    raise SystemExit("PyTorch takes one row")
except AssertionError:
    found, h_n = compiled(x.numpy()).values()
right, (two, four, six) = gru(x)[0].detach().numpy(), np.tanh([2, 4, 6])
exact = np.array([two / 2, two / 4 + four / 2, two / 8 + four / 4 + six / 2])  # z = 1/2
print("found", found[..., 0].tolist(), "PyTorch", right[..., 0].tolist(), "exact", exact)
assert np.abs(right.ravel() - exact).max() < 1e-6
assert (found.shape, h_n.shape) == ((3, 4, 1), (1, 4, 1))
assert np.abs(found[..., 0] - exact[:, None]).max() < 1e-6
