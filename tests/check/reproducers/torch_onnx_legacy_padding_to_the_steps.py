"""PyTorch's ONNX exporter of traces: pad_packed_sequence pads to the input's steps, not to the longest row.

Rows of 3 and 2 steps, packed out of 5 and padded again, have 3 steps; the file gives 5. A mean is another.
"""

import io

import numpy as np
import onnxruntime
import openvino
import torch
from torch.nn.utils import rnn


class Packed(torch.nn.GRU):
    def forward(self, x, lengths):
        return rnn.pad_packed_sequence(super().forward(rnn.pack_padded_sequence(x, lengths))[0])[0]


gru, file = Packed(1, 1, bias=False), io.BytesIO()
x, lengths = torch.ones(5, 2, 1), torch.tensor([3, 2])
gru.weight_ih_l0.data = torch.tensor([[0.0], [0.0], [1.0]])
gru.weight_hh_l0.data.zero_()
torch.onnx.export(gru, (x, lengths), file, dynamo=False, input_names=["x", "lengths"])
given = {"x": x.numpy(), "lengths": lengths.numpy()}
[found] = onnxruntime.InferenceSession(file.getvalue()).run(None, given)
model = openvino.Core().read_model(io.BytesIO(file.getvalue()))
second = openvino.compile_model(model, "CPU")(given)[0]
right = gru(x, lengths).detach().numpy()
exact = np.tanh(1) * np.array([[0.5, 0.5], [0.75, 0.75], [0.875, 0]])  # z = 1/2
print("found", found.shape, "OpenVINO", second.shape, "PyTorch", right.shape, "exact", exact)
assert np.abs(right[..., 0] - exact).max() < 1e-6
assert np.abs(found[:3, :, 0] - exact).max() < 1e-6
assert found.shape == second.shape == (5, 2, 1)
