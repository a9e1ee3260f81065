"""The tensors of exports: raw bytes at an offset, arrays of an .npz file under their paths, or a TensorProto
of ONNX."""

from __future__ import annotations

import contextlib
import math
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...cases.dtypes import FLOAT_TYPES, Array, Arrays, dtype_name, numpy_dtype
from ...cases.packages import needing
from .manifest import ExportError, Place
from .npz_arrays import UNREADABLE, member_array, npz_archive, reason
from .protobuf_size import check_size

ALIGNED = 64
"""Each tensor of a raw file begins at a multiple of so many bytes, so that it can be mapped."""
MOST_BYTES = 64 << 20
"""The largest tensor: a case has at most 32 MiB."""
_HEADER_BYTES = 4 << 10
_BFLOAT16 = FLOAT_TYPES["bfloat16"].numpy


def write_raw(folder: Path, file: str, arrays: Mapping[str, Array]) -> dict[str, Place]:
    """Write arrays one after the other, little-endian and in C order."""
    places, at = {}, 0
    with (folder / file).open("wb") as out:
        for name, array in arrays.items():
            at += out.write(b"\0" * (-at % ALIGNED))
            places[name] = _place(array, file, at)
            at += out.write(_little_endian(array).tobytes())
    return places


def write_npz(folder: Path, file: str, arrays: Mapping[str, Array]) -> dict[str, Place]:
    """Write arrays under their names into an .npz file."""
    np.savez(folder / file, **stored_arrays(arrays))  # type: ignore[arg-type]
    return {name: _place(array, file) for name, array in arrays.items()}


def stored_arrays(arrays: Mapping[str, Array]) -> Arrays:
    """Arrays as an .npz file holds them: bfloat16 as its 16 bits, uint16."""
    return {
        name: array.view(np.uint16) if array.dtype == _BFLOAT16 else array
        for name, array in arrays.items()
    }


def _place(array: Array, file: str, offset: int = 0) -> Place:
    return Place(dtype=dtype_name(array.dtype), shape=list(array.shape), file=file, offset=offset)


def read(folder: Path, wanted: Mapping[str, Place]) -> Arrays:
    """The arrays at their places; ExportError for one that is not there as it is described."""
    with _Archives() as archives:
        return _read(folder, wanted, archives)


class _Archives(contextlib.ExitStack):
    """The .npz files that are open: a case has one, and it is opened once."""

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[Path, zipfile.ZipFile] = {}

    def __getitem__(self, path: Path) -> zipfile.ZipFile:
        if path not in self._open:
            file = self.enter_context(path.open("rb", buffering=0))
            self._open[path] = self.enter_context(npz_archive(file))
        return self._open[path]


def _read(folder: Path, wanted: Mapping[str, Place], archives: _Archives) -> Arrays:
    found = {}
    for name, place in wanted.items():
        path = folder / place.file
        size = math.prod(place.shape) * numpy_dtype(place.dtype).itemsize
        if size > MOST_BYTES:
            raise ExportError(
                f"{path}: {name} has {size >> 20} MiB; expected at most {MOST_BYTES >> 20}"
            )
        if not path.is_file():
            raise ExportError(f"{path}: is no file")
        try:
            if path.suffix == ".npz":
                found[name] = _npz(archives[path], name, place, size)
            else:
                found[name] = (_pb if path.suffix == ".pb" else _raw)(path, place, size)
        except UNREADABLE as error:
            raise ExportError(f"{path}: {name} cannot be read ({reason(error)})") from None
    return found


def _raw(path: Path, place: Place, size: int) -> Array:
    with path.open("rb") as file:
        file.seek(place.offset)
        data = file.read(size)
    if len(data) != size:
        raise ValueError(f"the file ends after {len(data)} of {size} bytes")
    array = np.frombuffer(data, numpy_dtype(place.dtype)).reshape(place.shape)
    return array.byteswap() if sys.byteorder == "big" else array


def _npz(archive: zipfile.ZipFile, name: str, place: Place, size: int) -> Array:
    member = archive.getinfo(f"{name}.npy")
    if member.file_size > size + _HEADER_BYTES:
        raise ValueError(f"it has {member.file_size} bytes; expected {size}")
    return _as_described(member_array(archive, member), place)


def _pb(path: Path, place: Place, size: int) -> Array:
    """A TensorProto, whose data are in itself; needs the onnx package."""
    with needing("onnx", "onnx", "an export to onnx"):
        from onnx import TensorProto, numpy_helper

    if path.stat().st_size > size + _HEADER_BYTES:
        raise ValueError(f"it has {path.stat().st_size} bytes; expected {size}")
    proto = TensorProto()
    try:
        raw = path.read_bytes()
        check_size(raw, TensorProto.DESCRIPTOR)
        proto.ParseFromString(raw)
        if proto.data_location == TensorProto.EXTERNAL:
            raise ValueError("its data are in another file")
        array = numpy_helper.to_array(proto)
    except Exception as error:  # of protobuf and onnx, of many types
        raise ValueError(str(error)) from None
    return _as_described(array, place)


def _as_described(array: Array, place: Place) -> Array:
    """The array; ValueError unless it is what the manifest says."""
    if place.dtype == "bfloat16" and array.dtype == np.uint16:
        array = array.view(_BFLOAT16)
    if dtype_name(array.dtype) != place.dtype or list(array.shape) != place.shape:
        raise ValueError(f"it is {dtype_name(array.dtype)} {array.shape}")
    return array


def _little_endian(array: Array) -> Array:
    return array.byteswap() if sys.byteorder == "big" else np.ascontiguousarray(array)
