"""PyTorch's ONNX exporter (dynamo): the second export of a process fixes the steps, though asked to open them.

The same module, exported twice in the same way, as batch_first: only the first file takes 6 steps.
"""

import io

import onnx
import torch

gru = torch.nn.GRU(3, 4, batch_first=True).eval()


def exported_axes():
    opened = {0: torch.export.Dim("batch"), 1: torch.export.Dim("steps")}
    program = torch.onnx.export(
        gru, (torch.randn(2, 4, 3),), dynamo=True, verbose=False, dynamic_shapes=(opened,)
    )
    file = io.BytesIO()
    program.save(file)
    shape = onnx.load_from_string(file.getvalue()).graph.input[0].type.tensor_type.shape
    return [axis.dim_param or str(axis.dim_value) for axis in shape.dim]


assert exported_axes() == ["batch", "steps", "3"]
assert exported_axes() == ["batch", "4", "3"]
