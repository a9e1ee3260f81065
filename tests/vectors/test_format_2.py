"""Format version 2: a theme that ids begin with, and texts in attributes that can be read safely."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from click.testing import CliRunner
from judged import judge_outputs

from grucible import load_vectors
from grucible.cases.errors import VectorFileError
from grucible.check.observed.recording import new_outputs_file
from grucible.gen.cli import gen_command
from grucible.vectors.reader import open_vectors

from .conftest import CORE
from .handmade import BLOCKS

SPEC = """\
operator: openvino.GRUCell-3
about: one case
dtypes: [bfloat16]
sizes: {batch_size: 1, input_size: 1, hidden_size: 1}
cases: [list: [{}]]
"""


def attribute_types(path: Path) -> Iterator[tuple[str, Any]]:
    """The place and the HDF5 type of every attribute of a file."""
    with h5py.File(path) as file:
        names = ["/"]
        file.visit(names.append)
        for name in names:
            for attribute in file[name].attrs:
                yield f"{name}@{attribute}", file[name].attrs.get_id(attribute).get_type()


def variable_texts(path: Path) -> list[str]:
    return [
        place
        for place, kind in attribute_types(path)
        if isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str()
    ]


def test_no_attribute_that_is_written_is_of_variable_length(tmp_path: Path) -> None:
    with new_outputs_file(tmp_path / "outputs.h5", "ü", "1"):
        pass
    for path in (*CORE.rglob("core*.h5"), tmp_path / "outputs.h5"):
        assert len(list(attribute_types(path))) >= 4
        assert variable_texts(path) == []


def test_a_file_made_from_a_spec_has_its_theme(tmp_path: Path) -> None:
    spec = tmp_path / "some-theme.yaml"
    spec.write_text(SPEC)
    made = CliRunner().invoke(gen_command, [str(spec), "-o", str(tmp_path), "--jobs", "1"])
    assert made.exit_code == 0, made.output
    with h5py.File(tmp_path / "some-theme.h5") as file:
        assert file.attrs["theme"] == b"some-theme"
        assert file.attrs["format_version"] == 2
    [case] = load_vectors(tmp_path / "some-theme.h5")
    assert case.id.startswith("openvino.GRUCell-3/some-theme/bfloat16/")


def test_core_files_have_the_last_part_of_their_path_as_theme() -> None:
    for path in CORE.rglob("core*.h5"):
        with open_vectors(path) as vectors:
            assert vectors.theme == path.stem


def test_a_file_of_version_1_says_how_to_make_it_again(handmade: Path) -> None:
    """Its texts were of variable length: they are not read to find out what it is."""
    with h5py.File(handmade, "r+") as file:
        file.attrs["format_version"] = 1
        file.attrs["format"] = "grucible vectors"
        del file.attrs["theme"]
    with pytest.raises(VectorFileError, match=r"format_version is 1; .* grucible gen"):
        list(load_vectors(handmade))


@pytest.mark.parametrize("version", [1, 2])
def test_outputs_written_with_plain_strings_are_read(
    version: int, handmade: Path, tmp_path: Path
) -> None:
    """h5py writes a str as a text of variable length; so do the mark of bfloat16 and the runtime."""
    path = tmp_path / "outputs.h5"
    with h5py.File(path, "w") as outputs, h5py.File(handmade) as vectors:
        outputs.attrs.update(
            {"format": "grucible outputs", "format_version": version, "runtime": "mine"}
        )
        for block in BLOCKS:
            outputs[f"{block.path}/id"] = vectors[f"{block.path}/id"][:]
            for name, data in vectors[f"{block.path}/outputs"].items():
                made = outputs.create_dataset(f"{block.path}/outputs/{name}", data=data[:])
                if block.dtype == "bfloat16":
                    made.attrs["dtype"] = "bfloat16"
    assert len(variable_texts(path)) == 4
    report = judge_outputs(handmade, path)
    assert (report.verdict, report.runtime) == ("conforms", "mine")


def test_outputs_of_a_version_to_come_are_refused(handmade: Path, tmp_path: Path) -> None:
    path = tmp_path / "outputs.h5"
    with h5py.File(path, "w") as outputs:
        outputs.attrs.update({"format": "grucible outputs", "format_version": 3})
    with pytest.raises(VectorFileError, match=r"format_version is 3; .* reads 1 and 2$"):
        judge_outputs(handmade, path)


@pytest.mark.parametrize(
    "value", [np.arange(3), np.array([b"a", b"b"]), np.bool_(True), h5py.Empty("f4")]
)
def test_an_attribute_that_is_no_scalar_text_or_number_counts_as_absent(
    value: Any, handmade: Path
) -> None:
    with h5py.File(handmade, "r+") as file:
        file.attrs["seed"] = value
    with pytest.raises(VectorFileError, match="seed is None"):
        list(load_vectors(handmade))
