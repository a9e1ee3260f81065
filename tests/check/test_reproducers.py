"""Defects of real runtimes, each in a script of its own: they are still there.

What check/known/reproducers lists becomes a script that ends with status 1 as long as the runtime is wrong. The
scripts beside this file are written by hand: what no case asks. They assert the wrong behaviour. When one of
either fails, the runtime has changed: look at it, and at check/known, before anything else.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .make_reproducers import listed, write_scripts
from .test_scripts import WITHOUT

FILES = sorted((Path(__file__).parent / "reproducers").glob("*.py"))
MOST_BYTES = 10 << 10

NEEDED = {
    "iree": "iree",
    "mnn": "MNN",
    "opencv": "cv2",
    "openvino": "openvino",
    "ort": "onnxruntime",
    "torch": "onnxscript",
    "tract": "tract",
}
"""The module that a made script needs, by the first word of its name."""
LOUD = {
    "keras_torch_unrolled_backwards_mask_refused",
    "torch_onnx_second_export_fixes_steps",  # the file refuses other steps
    "torch_rows_without_lengths_dropped",  # the question should be refused
}
"""The scripts of defects of PyTorch, Keras and their exporters that give no wrong numbers in silence."""


def needs(*modules: str) -> None:
    """Skip where a module is not installed."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    write_scripts(folder)
    return folder


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_defect_is_there(file: Path) -> None:
    text = file.read_text()
    needs(*re.findall(r'^(?:import |from |.*KERAS_BACKEND", ")(\w+)', text, re.MULTILINE))
    needs(*["onnxscript"] * ("torch.onnx" in text))
    assert len(text.splitlines()) <= 34
    ended = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    silent = file.stem.startswith(("keras", "torch")) and file.stem not in LOUD
    said = re.search(r"^found .* exact ", ended.stdout, re.MULTILINE | re.DOTALL)
    assert bool(said) == silent  # beside a second runtime's and the exact answer


@pytest.mark.parametrize("name", listed())
def test_the_made_script_shows_the_defect(name: str, made: Path) -> None:
    file = made / f"{name}.py"
    assert file.stat().st_size <= MOST_BYTES
    needs("onnx", NEEDED[name.partition("_")[0]])
    ended = subprocess.run(
        [sys.executable, "-P", "-c", WITHOUT, file], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1, ended.stdout
    last = ended.stdout.splitlines()[-1]
    refused = name.endswith(("_required", "_refused"))
    assert last.startswith("refused: " if refused else "wrong: "), ended.stdout + ended.stderr


def test_known_findings_name_reproducers_that_exist() -> None:
    known = Path(__file__).parents[2] / "check" / "known"
    named = {
        name
        for file in known.glob("*.yaml")
        for name in re.findall(r"reproducer\s+([a-z0-9]+_\w+)", file.read_text())
    }
    assert named
    assert named <= {*(file.stem for file in FILES), *listed()}
