"""The layout `openvino`: a model as OpenVINO IR for each case, and its tensors as npz.

A model is written by OpenVINO itself. Its inputs have the names of the specification, its weights are inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import openvino as ov

from ...cases.dtypes import Array
from ..case import Case
from .layout import CASES, NotSayable, Written
from .openvino_model import model
from .openvino_node import node_type
from .tensors import write_npz


def write(folder: Path, name: str, case: Case, arrays: Mapping[str, Array]) -> Written:
    """Write model.xml, model.bin and tensors.npz in a folder for the case."""
    if not case.operator.startswith("openvino."):
        raise NotSayable("is no operator of OpenVINO")
    try:
        made = model(node_type(case.question), {})
    except RuntimeError as error:  # OpenVINO's own, of the attributes of this case
        raise NotSayable(f"OpenVINO makes no model of it: {_reason(error)}") from None
    for port, names in ((p, p.get_node().get_friendly_name()) for p in made.inputs):
        port.get_tensor().set_names({names})
    for port, tensor in zip(made.outputs, case.question.outputs, strict=True):
        port.get_tensor().set_names({tensor})
    test = f"{CASES}/{name}"
    (folder / test).mkdir()
    ov.save_model(made, folder / test / "model.xml", compress_to_fp16=False)
    places = write_npz(folder, f"{test}/tensors.npz", arrays)
    return Written(places, [f"{test}/model.xml", f"{test}/model.bin"])


def _reason(error: RuntimeError) -> str:
    """The last line of what OpenVINO says, which names no node."""
    return str(error).strip().splitlines()[-1][:120]
