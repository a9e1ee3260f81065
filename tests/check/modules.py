"""Modules of PyTorch with GRUs, as people write them; some with a mistake in one layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from grucible.check.runtimes.torch import make_module


class Tagger(nn.Module):
    """Two bidirectional layers over packed rows, a cell that is called at each step, and a GRU of its states."""

    def __init__(self, top: type[nn.GRU] = nn.GRU) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.GRU(4, 5, 2, bidirectional=True, batch_first=True)
        self.cell = nn.GRUCell(10, 3)
        self.top = top(3, 3, bias=False)

    def forward(self, x: Any, lengths: Any = None) -> Any:
        if lengths is None:
            y, _ = self.encoder(x)
        else:
            rows = nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)
            y, _ = nn.utils.rnn.pad_packed_sequence(self.encoder(rows)[0], batch_first=True)
        y.mul_(0.5)  # in place: without lengths, in what the encoder gave
        state, states = None, []
        for step in range(y.shape[1]):
            state = self.cell(y[:, step], state)
            states.append(state)
        found, last = self.top(torch.stack(states), torch.ones(1, len(x), 3))
        return {"found": found, "last": last}


class Doubled(nn.GRU):
    """A GRU that gets its first step wrong."""

    def forward(self, input: Any, hx: Any = None) -> Any:  # type: ignore[override, unused-ignore]
        return super().forward(input, 2 * hx)


class Several(nn.GRU):
    """A GRU whose layers, one by one, give something else."""

    def forward(self, input: Any, hx: Any = None) -> Any:  # type: ignore[override, unused-ignore]
        output, state = super().forward(input, hx)
        return output, state + 1


class Twice(nn.Module):
    """A GRU that is run a second time, with infinities."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 5)

    def forward(self, x: Any) -> Any:
        return self.gru(x)[0], self.gru(x / 0)[0]


class GRUOutside(nn.Module):
    """A GRU, then its function by itself in one of the ways that no hook sees."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.gru, self.way = nn.GRU(4, 4), way

    def forward(self, x: Any) -> Any:
        x, state = self.gru(x)
        flat = (self.gru._flat_weights, True, 1, 0.0, False, False, False)
        if self.way == "forward":
            return self.gru.forward(x)[0]
        call: Any = {"torch": torch.gru, "ops": torch.ops.aten.gru.input}[self.way]
        return call(x, state, *flat)[0]


class LookAlike(nn.Module):
    """A GRU, and another module that is a GRU by its name."""

    def __init__(self, other: nn.Module) -> None:
        super().__init__()
        self.gru, self.other = nn.GRU(4, 4), other

    def forward(self, x: Any) -> Any:
        return self.other(self.gru(x)[0])[0]


class Inside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.deep = nn.GRU(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.deep(x)[0]
        return found


def twice() -> nn.Module:
    return Twice()


def outside_by_forward() -> nn.Module:
    return GRUOutside("forward")


def outside_by_torch() -> nn.Module:
    return GRUOutside("torch")


def outside_by_ops() -> nn.Module:
    return GRUOutside("ops")


def quantized() -> nn.Module:
    kind: Any = torch.ao.nn.quantized.dynamic.GRU
    return LookAlike(kind(4, 4))


def scripted() -> nn.Module:
    return LookAlike(torch.jit.script(Inside()))


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inside = nn.LSTM(2, 3)

    def forward(self, x: Any) -> Any:
        return self.inside(x)[0]


def tagger() -> nn.Module:
    return Tagger()


def wrong_top() -> nn.Module:
    return Tagger(Doubled)


def wrong_encoder() -> nn.Module:
    module = Tagger()
    module.encoder = Several(4, 5, 2, bidirectional=True, batch_first=True)
    return module


def dense() -> nn.Module:
    return Dense()


def no_gru() -> nn.Module:
    return nn.Linear(4, 4)


def no_module() -> str:
    return "a text"


class Enhancer(nn.Module):
    """Three layers, each a GRU of its own, as an exporter gets them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.grus: Any = nn.ModuleList([nn.GRU(6, 5), nn.GRU(5, 4), nn.GRU(4, 6)])

    def forward(self, x: Any) -> Any:
        for gru in self.grus:
            x, _ = gru(x)
        return torch.sigmoid(x)


class Again(nn.Module):
    """A GRU that is called again, behind another."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.gru, self.other = nn.GRU(6, 6), nn.GRU(6, 6)

    def forward(self, x: Any) -> Any:
        return self.gru(self.other(self.gru(x)[0])[0])[0]


class Twins(nn.Module):
    """Two GRUs side by side, which differ in their weights and in what they get."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.left, self.right, self.top = nn.GRU(6, 5), nn.GRU(6, 5), nn.GRU(10, 4)

    def forward(self, x: Any) -> Any:
        both = self.left(x)[0], self.right(x.flip(0))[0]
        return self.top(torch.cat(both, -1))


def twins() -> nn.Module:
    return Twins()


def again() -> nn.Module:
    return Again()


def enhancer() -> nn.Module:
    return Enhancer()


def both_ways() -> nn.Module:
    """Make the enhancer with a second layer of both directions."""
    module = Enhancer()
    module.grus[1], module.grus[2] = nn.GRU(5, 4, bidirectional=True), nn.GRU(8, 6)
    return module


def packed() -> nn.Module:
    """Make a GRU of packed rows."""
    torch.manual_seed(0)
    given = {"input_size": 4, "hidden_size": 5, "batch_first": True}
    gru = nn.GRU(**given)
    module: nn.Module = make_module(
        given, {name: one.detach().numpy() for name, one in gru.named_parameters()}, packed=True
    )
    return module


def finer() -> nn.Module:
    """Make the enhancer in float64, with numbers that float32 rounds to those of the enhancer."""
    module = Enhancer().double()
    for one in module.parameters():
        one.data = one.data * (1 + 2.0**-30)
    return module


def embedded() -> nn.Module:
    """Make a GRU of tokens, of which there are only two."""
    return nn.Sequential(nn.Embedding(2, 4), nn.GRU(4, 5))


def shorter() -> nn.Module:
    module = Enhancer()
    module.grus = module.grus[:2]
    return module


def of_other_weights() -> nn.Module:
    module = Enhancer()
    for one in module.parameters():
        one.data = -one.data
    return module


class Misexported(nn.GRU):
    """A GRU that is exported with another recurrent weight than it runs with."""

    def forward(self, input: Any, hx: Any = None) -> Any:  # type: ignore[override, unused-ignore]
        if torch.onnx.is_in_onnx_export():
            weight: Any = self.weight_hh_l0
            weight.data = torch.flip(weight.data, (0,))
        return super().forward(input, hx)


def misexported() -> nn.Module:
    module = Enhancer()
    module.grus[1] = Misexported(5, 4)
    return module


def script() -> Any:
    return torch.jit.script(nn.GRU(4, 5))


def trace() -> Any:
    return torch.jit.trace(nn.GRU(4, 5), torch.zeros(3, 2, 4))


def export() -> Any:
    return torch.export.export(nn.GRU(4, 5), (torch.zeros(3, 2, 4),)).module()


def compile_() -> Any:
    return torch.compile(nn.GRU(4, 5))
