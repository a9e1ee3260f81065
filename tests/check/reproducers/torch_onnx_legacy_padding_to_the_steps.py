"""PyTorch's ONNX exporter of traces: pad_packed_sequence pads to the input's steps, not to the longest row.

Rows of 3 and 2 steps, packed out of 5 and padded again, have 3 steps; the file gives 5. Nothing is refused.
"""

import io

import numpy as np
import onnxruntime
import torch
from torch.nn.utils import rnn


class Packed(torch.nn.GRU):
    def forward(self, x, lengths):
        return rnn.pad_packed_sequence(super().forward(rnn.pack_padded_sequence(x, lengths))[0])[0]


gru, file = Packed(3, 4).eval(), io.BytesIO()
x, lengths = torch.randn(5, 2, 3), torch.tensor([3, 2])
torch.onnx.export(gru, (x, lengths), file, dynamo=False, input_names=["x", "lengths"])
session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
[output] = session.run(None, {"x": x.numpy(), "lengths": lengths.numpy()})
with torch.no_grad():
    right = gru(x, lengths).numpy()
assert right.shape == (3, 2, 4)
assert output.shape == (5, 2, 4)
assert np.abs(output[:3] - right).max() < 1e-6
