"""Too little precision: coarse numbers, tables and approximations."""

from __future__ import annotations

import numpy as np

from .kernel import Array, Direction, Kernel
from .wrong_gru import CELL, ONNX, SEQUENCE, WrongGru


class Float16State(Kernel):
    def step(self, x: Array, h: Array, p: Direction) -> Array:
        return super().step(x, h.astype(np.float16).astype(h.dtype), p)


class Tf32Products(Kernel):
    """As matrix units do by default: 10 bits of fraction of each factor, the others cut off."""

    def product(self, v: Array, matrix: Array) -> Array:
        return super().product(self.cut(v), self.cut(matrix))

    def cut(self, v: Array) -> Array:
        bits = np.ascontiguousarray(v, np.float32).view(np.uint32) & np.uint32(0xFFFFE000)
        return bits.view(np.float32).astype(v.dtype)


class Int8Recurrence(Kernel):
    def recurrent(self, h: Array, reset: Array, p: Direction) -> Array:
        scale = np.abs(p.r).max() / 127
        return super().recurrent(h, reset, p._replace(r=np.rint(p.r / scale) * scale))


class SigmoidTable(Kernel):
    def sigmoid(self, v: Array) -> Array:
        nearest = np.rint((np.clip(v, -8, 8) + 8) * 16)
        return super().sigmoid(nearest / 16 - 8)


class PadeTanh(Kernel):
    def tanh(self, v: Array) -> Array:
        v = np.clip(v, -3, 3)
        return np.asarray(v * (27 + v * v) / (27 + 9 * v * v))


class FastExp(Kernel):
    """Schraudolph's exponential: the number written into the exponent's bits."""

    def sigmoid(self, v: Array) -> Array:
        bits = np.clip(-v, -80, 80).astype(np.float32) * np.float32(12102203) + np.float32(
            1064866805
        )
        return 1 / (1 + bits.astype(np.int32).view(np.float32))


class OverflowingTanh(Kernel):
    def tanh(self, v: Array) -> Array:
        up, down = np.exp(v), np.exp(-v)
        return np.asarray((up - down) / (up + down))


class Float16Weights(Kernel):
    def converted(self, name: str, array: Array) -> Array:
        array = super().converted(name, array)
        return array.astype(np.float16).astype(array.dtype) if name == "W" else array


class FixedPointGates(Kernel):
    """Gates as unsigned 8-bit fractions."""

    def update_gate(self, x: Array, h: Array, p: Direction) -> Array:
        return np.asarray(np.rint(super().update_gate(x, h, p) * 255) / 255)


PRECISION = (
    WrongGru("float16-state", SEQUENCE,
             ("the state, the initial one too, is rounded to float16 where a step reads it",), "numerical", "", Float16State),
    WrongGru("tf32-products", ONNX,
             ("the factors of all products are cut to 10 bits of fraction (TF32)",), "numerical", "", Tf32Products),
    WrongGru("int8-recurrence", SEQUENCE,
             ("the candidate's R is quantised to 8 bits with one scale",),
             "numerical", "the candidate's recurrent product", Int8Recurrence),
    WrongGru("sigmoid-table", ONNX,
             ("sigmoid is read from a table with a step of 1/16, the nearest entry, without interpolation",),
             "numerical", "", SigmoidTable),
    WrongGru("pade-tanh", CELL,
             ("tanh is v (27 + v²)/(27 + 9 v²) on [-3, 3], ±1 beyond",), "numerical", "", PadeTanh),
    WrongGru("fast-exp", SEQUENCE,
             ("sigmoid uses Schraudolph's exponential, which is wrong by up to some 3 percent",),
             "numerical", "", FastExp),
    WrongGru("overflowing-tanh", ONNX,
             ("tanh is (e^v - e^-v)/(e^v + e^-v), which is NaN where e^|v| overflows",),
             "numerical", "pre-activations beyond 88", OverflowingTanh),
    WrongGru("float16-w", ONNX,
             ("W is converted to float16 when it is loaded, X, R and B are not",), "numerical", "W alone", Float16Weights),
    WrongGru("fixed-point-update", SEQUENCE,
             ("the update gate is rounded to a multiple of 1/255",), "numerical", "the update gate", FixedPointGates),
)  # fmt: skip
"""Right formulas, computed too coarsely."""
