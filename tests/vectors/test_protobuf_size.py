"""Messages of protobuf are counted before they are parsed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from grucible.check.importing.onnx_tests import suite_of_onnx
from grucible.vectors.exchange.export import export_vectors
from grucible.vectors.exchange.protobuf_size import MOST_FIELDS, MOST_NUMBERS, check_size


def sized(number: int, inner: bytes) -> bytes:
    """A field of this number that holds bytes."""
    left, length = len(inner), b""
    while left > 127:
        length, left = length + bytes([left & 127 | 128]), left >> 7
    return bytes([number << 3 | 2]) + length + bytes([left]) + inner


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (sized(7, sized(1, b"") * MOST_FIELDS), onnx.ModelProto),
        (sized(7, sized(1, sized(5, b"")) * (MOST_FIELDS // 2)), onnx.ModelProto),
        (sized(6, b"") * (MOST_FIELDS + 1), onnx.TensorProto),
        (sized(7, b"\1" * (MOST_NUMBERS + 1)), onnx.TensorProto),
    ],
)
def test_too_many_parts(raw: bytes, message: type[onnx.ModelProto | onnx.TensorProto]) -> None:
    with pytest.raises(ValueError, match="has more than 100,000 fields or 8,388,608 integers"):
        check_size(raw, message.DESCRIPTOR)


@pytest.mark.parametrize(
    "raw", [b"\x0a", b"\x0a\x05", b"\x0d\0", b"\x0f", b"\x08" + b"\xff" * 11, sized(7, b"\x0a\x05")]
)
def test_what_is_no_message(raw: bytes) -> None:
    with pytest.raises(ValueError, match="is cut off, or is no message of protobuf"):
        check_size(raw, onnx.ModelProto.DESCRIPTOR)


def test_as_many_numbers_as_a_case_has() -> None:
    for array in (np.zeros(1 << 22), np.full(1 << 22, 7, np.int32)):
        check_size(
            onnx.helper.make_tensor(
                "x", onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array
            ).SerializeToString(),
            onnx.TensorProto.DESCRIPTOR,
        )


@pytest.mark.parametrize(
    ("file", "raw", "says"),
    [
        ("model.onnx", sized(7, sized(1, b"") * MOST_FIELDS), "has more than 100,000 fields"),
        ("test_data_set_0/input_0.pb", sized(6, b"") * (MOST_FIELDS + 1), "has more than 100,000"),
        ("test_data_set_0/input_0.pb", sized(1, b"\1" * 9), "has a tensor of 9 axes"),
    ],
)
def test_a_test_with_too_many_parts_is_left_out(
    file: str, raw: bytes, says: str, tmp_path: Path
) -> None:
    export_vectors(None, tmp_path, "onnx", select=["onnx.GRU-14/plain/float32/default"])
    [test] = tmp_path.glob("cases/*")
    (test / file).write_bytes(raw)
    [why] = suite_of_onnx(tmp_path).left_out
    assert says in why
