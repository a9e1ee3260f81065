"""Cases in the words of another owner: models that ONNX Runtime and OpenVINO run alone give the answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exporting import export_vectors
from shipped import core_cases

from grucible.cases.selection import selected
from grucible.vectors.exchange.manifest import read_manifest

from .conftest import Command

OTHERS = [f"{name}/core/float32/*" for name in ("torch.GRU", "torch.GRUCell", "keras.GRU",
          "webnn.gru", "webnn.gruCell", "bnnsgraph.gru")]  # fmt: skip
OTHERS.append("torch.GRUCell/plain/float32/*")  # one without biases


def below(archive: Any, above: str) -> dict[str, Any]:
    """The arrays of an .npz file whose names begin with `above`, without it."""
    return {name.removeprefix(above): archive[name] for name in archive if name.startswith(above)}


def in_onnx_runtime(folder: Path) -> Iterator[tuple[str, Any, Any, Any]]:
    """Name each test with its outputs, the expected ones, and their bounds; most models run."""
    ort = pytest.importorskip("onnxruntime")
    read: Any = pytest.importorskip("grucible.vectors.exchange.onnx_model").read_tensor
    for test in sorted((folder / "cases").glob("test_*")):
        data = test / "test_data_set_0"
        session = ort.InferenceSession(test / "model.onnx", providers=["CPUExecutionProvider"])
        names = [one.name for one in session.get_inputs()]
        feeds = {n: read((data / f"input_{at}.pb").read_bytes()) for at, n in enumerate(names)}
        found = session.run(None, feeds)
        wanted = [read((data / f"output_{at}.pb").read_bytes()) for at, _ in enumerate(found)]
        with np.load(test / "tolerance.npz") as archive:
            bounds = below(archive, "tolerance/float32/")
        outputs = [one.name for one in session.get_outputs()]
        yield test.name, found, wanted, [bounds[name] for name in outputs]


def in_openvino(folder: Path) -> Iterator[tuple[str, Any, Any, Any]]:
    ov = pytest.importorskip("openvino")
    core, exact = ov.Core(), {"INFERENCE_PRECISION_HINT": "f32"}
    for case in sorted((folder / "cases").glob("*/model.xml")):
        compiled = core.compile_model(core.read_model(case), "CPU", exact)
        with np.load(case.parent / "tensors.npz") as archive:
            found, outputs = compiled(below(archive, "inputs/")), below(archive, "outputs/")
            bounds = below(archive, "tolerance/float32/")
        yield (
            case.parent.name,
            [found[n] for n in outputs],
            [*outputs.values()],
            [bounds[n] for n in outputs],
        )


@pytest.mark.parametrize(("layout", "run"), [("onnx", in_onnx_runtime), ("openvino", in_openvino)])
def test_models_give_the_exact_answers(layout: Any, run: Any, tmp_path: Path) -> None:
    done = export_vectors(None, tmp_path / "x", layout, select=OTHERS)
    entries = read_manifest(tmp_path / "x").cases
    assert {entry.operator for entry in entries} == {one.partition("/")[0] for one in OTHERS}
    assert done.cases + done.left_out.total() == sum(selected(c.id, OTHERS) for c in core_cases())
    ran, wrong = 0, set()
    for name, found, wanted, bounds in run(tmp_path / "x"):
        ran += 1
        assert wanted
        for one, right, bound in zip(found, wanted, bounds, strict=True):
            assert one.shape == right.shape
            if not (np.abs(one.astype("f8") - right) <= bound).all():
                wrong.add(name)
    assert ran == done.cases
    assert all("softplus" in name for name in wrong)  # a known finding of ONNX Runtime
    assert len(wrong) < 4


@pytest.mark.parametrize(("layout", "source"), [("onnx", "onnx"), ("webnn", "webnn")])
def test_they_are_right_as_tests_of_the_format_s_owner(
    layout: Any, source: str, tmp_path: Path, command: Command
) -> None:
    """Without the manifest they are cases of the other operator, whose own answers are the same."""
    done = export_vectors(None, tmp_path / "x", layout, select=OTHERS[:3])
    (tmp_path / "x/manifest.json").unlink()
    made = command("import", tmp_path / "x", "--from", source, "-o", tmp_path / "v")
    assert made.status == 0
    judged = command("check", tmp_path / "v", "--outputs", tmp_path / "v-outputs")
    assert judged.out.startswith(f"conforms: {done.cases} of {done.cases} cases passed")


def test_without_answers_there_are_none(tmp_path: Path) -> None:
    """Nor in the file of the case in its owner's words."""
    for layout in ("onnx", "openvino", "webnn"):
        out = tmp_path / layout
        if layout != "webnn":
            pytest.importorskip(layout)
        export_vectors(None, out, layout, select=OTHERS[1:2], contents="questions")
        assert not list(out.rglob("output_*.pb")) + list(out.rglob("tolerance.npz"))
        for file in out.rglob("*.npz"):
            with np.load(file) as arrays:
                assert all(name.startswith("inputs/") for name in arrays)
