"""PyTorch: of rows to be packed unsorted, those without a length are dropped, and their states with them.

Sorted rows are refused: len(lengths) must be the batch size. Unsorted, 3 rows with 2 lengths give 2 rows.
"""

import numpy as np
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

gru = torch.nn.GRU(3, 4).eval()
x, h, lengths = torch.randn(5, 3, 3), torch.randn(1, 3, 4), torch.tensor([2, 5])
try:
    pack_padded_sequence(x, lengths.flip(0))
    raise SystemExit("sorted rows without a length are packed")
except RuntimeError as error:
    print(error)
with torch.no_grad():
    rows, h_n = gru(pack_padded_sequence(x, lengths, enforce_sorted=False), h)
    right = gru(x[:, :2], h[:, :2])[0]
output, right = pad_packed_sequence(rows)[0].numpy(), right.numpy()
assert output.shape == (5, 2, 4)
assert h_n.shape == (1, 2, 4)
assert np.abs((output - right)[:, 1]).max() < 1e-6
assert np.abs((output - right)[:2, 0]).max() < 1e-6
