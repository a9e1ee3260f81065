"""One mistake in what a number is taken for: rows of weights, biases, rows of the batch, parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from grucible import Question

from .kernel import ALPHAS, BACKWARDS, BETAS, Array, Direction, Function, Kernel, Task
from .wrong_gru import ONNX, SEQUENCE, WrongGru


class GatesInterleaved(Kernel):
    def unpack(self, question: Question) -> Task:
        task = super().unpack(question)
        directions = [
            p._replace(w=self.of_units(p.w), r=self.of_units(p.r)) for p in task.directions
        ]
        return task._replace(directions=directions)

    def of_units(self, matrices: Array) -> Array:
        """[3, hidden, n], of rows taken for z, r and h of the first unit, then of the second."""
        gates, hidden, n = matrices.shape
        return matrices.reshape(hidden, gates, n).swapaxes(0, 1)


class RecurrentBiasFromInputs(Kernel):
    def biases(
        self, question: Question, b: Array | None, shape: tuple[int, ...], dtype: npt.DTypeLike
    ) -> tuple[Array, Array]:
        wb, _ = super().biases(question, b, shape, dtype)
        return wb, np.array(wb)


class InitialStateNotSorted(Kernel):
    """Rows are packed, the longest first, and put back at the end; the initial state is not packed."""

    def direction(self, task: Task, p: Direction) -> tuple[Array, Array]:
        order = np.argsort(-task.lengths, kind="stable")
        packed = task._replace(x=task.x[:, order], lengths=task.lengths[order])
        y, last = super().direction(packed, p)
        back = np.argsort(order)
        return y[:, back], last[back]


class ParametersTakenByEveryFunction(Kernel):
    def functions(self, question: Question) -> list[tuple[Function, Function]]:
        if question.operator != ONNX:
            return super().functions(question)
        a = question.attributes
        names, both = a["activations"], BACKWARDS[a["direction"]]
        names = names * 2 if len(names) < 2 * len(both) else names
        alphas: Sequence[float] = a.get("activation_alpha") or ()
        betas: Sequence[float] = a.get("activation_beta") or ()
        taken = [
            Function(
                name.lower(),
                alphas[i] if i < len(alphas) else ALPHAS.get(name, 0.0),
                betas[i] if i < len(betas) else BETAS.get(name, 0.0),
            )
            for i, name in enumerate(names)
        ]
        return list(zip(taken[::2], taken[1::2], strict=True))


ADDRESSING = (
    WrongGru(
        "gates-interleaved",
        SEQUENCE,
        ("The rows of W and R are taken for the three gates of one unit after another.",),
        "single",
        "",
        GatesInterleaved,
    ),
    WrongGru(
        "recurrent-bias-from-inputs",
        ONNX,
        ("Wb stands where Rb belongs: the first half of B is read twice.",),
        "single",
        "",
        RecurrentBiasFromInputs,
    ),
    WrongGru(
        "initial-state-not-sorted",
        SEQUENCE,
        (
            "Rows begin with the initial states of other rows: those of the batch as sorted by length.",
        ),
        "single",
        "",
        InitialStateNotSorted,
    ),
    WrongGru(
        "parameters-taken-by-every-function",
        ONNX,
        (
            "A function without parameters uses up a number of activation_alpha and activation_beta too.",
        ),
        "single",
        "",
        ParametersTakenByEveryFunction,
    ),
)
