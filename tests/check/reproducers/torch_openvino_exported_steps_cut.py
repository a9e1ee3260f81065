"""torch.export, then OpenVINO: of a program for 2 steps, 3 steps give the first 2, and the state after these.

The program itself refuses 3 steps; the model that OpenVINO makes of it takes any, and cuts them.
"""

import numpy as np
import openvino as ov
import torch

gru = torch.nn.GRU(1, 1, bias=False)
gru.weight_ih_l0.data = torch.tensor([[0.0], [0.0], [1.0]])
gru.weight_hh_l0.data.zero_()
program = torch.export.export(gru, (torch.ones(2, 2, 1),))
precise = {"INFERENCE_PRECISION_HINT": "f32"}
compiled = ov.Core().compile_model(ov.convert_model(program), "CPU", precise)
x = torch.tensor([[[2.0]] * 2, [[4.0]] * 2, [[6.0]] * 2])
try:
    program.module()(x)
    raise SystemExit("PyTorch takes 3 steps")
except AssertionError:
    found, h_n = compiled(x.numpy()).values()
right, (two, four, six) = gru(x)[0].detach().numpy(), np.tanh([2, 4, 6])
exact = np.array([two / 2, two / 4 + four / 2, two / 8 + four / 4 + six / 2])  # z = 1/2
print("found", found[:, 0, 0], h_n.ravel(), "PyTorch", right[:, 0, 0], "exact", exact)
assert np.abs(right[:, 0, 0] - exact).max() < 1e-6
assert found.shape == (2, 2, 1)
assert max(np.abs(found[:, 0, 0] - exact[:2]).max(), np.abs(h_n - exact[1]).max()) < 1e-6
