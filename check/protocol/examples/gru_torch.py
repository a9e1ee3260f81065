"""Answer grucible's protocol with torch's GRU, on a CPU or a GPU.

    grucible check --runtime 'exec: python gru_torch.py --device cuda --tf32' --arithmetic float32=tf32

On a machine without grucible, through files:

    python gru_torch.py --device cuda < core.questions > core.answers

It answers OpenVINO GRUCell-3 and GRUSequence-5 where torch computes the same: sigmoid and tanh, no clip,
linear_before_reset. Replace cell() and sequence() by your own kernels.
"""

import argparse
import sys
from collections.abc import Iterable
from typing import Any

import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

OPERATORS = ["openvino.GRUCell-3", "openvino.GRUSequence-5"]
DTYPES = ["float16", "bfloat16", "float32", "float64"]
RECEIVED = [*DTYPES, "int32", "int64"]
Tensors = dict[str, torch.Tensor]


class Question:
    """What a header asks: operator, dtype, attributes, inputs, and the announced outputs."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.operator = self.dtype = ""
        self.attributes: dict[str, str] = {}  # such as `float 0.5`
        self.outputs: list[list[str]] = []
        announced = []
        for line in lines:
            keyword, _, rest = line.partition(" ")
            words = rest.split(" ")
            if keyword == "operator":
                self.operator = rest
            elif keyword == "dtype":
                self.dtype = rest
            elif keyword == "attribute":
                name, _, value = rest.split(" ", 2)
                self.attributes[name] = value
            elif keyword == "input":
                announced.append(words)
            elif keyword == "output":
                self.outputs.append(words)  # lines with other keywords are ignored
        self.inputs = {words[0]: received(*words[1:]) for words in announced}

    def refusal(self) -> str:
        """Say why torch cannot be asked this question; "" if it can."""
        a = self.attributes
        if self.operator not in OPERATORS or self.dtype not in DTYPES:
            return "another operator or dtype"  # only a file asks this; a pipe does not
        if (a["activations"], a["clip"]) != ("texts sigmoid tanh", "float inf"):
            return "torch has sigmoid and tanh, and no clip"
        if a["linear_before_reset"] != "bool 1":
            return "torch applies the reset gate after the product"
        return ""


def header() -> list[str] | None:
    """Read the next header without its `end`; None at the end of the input."""
    lines: list[str] = []
    for line in iter(sys.stdin.buffer.readline, b""):
        if line == b"end\n":
            return lines
        lines.append(line.decode().rstrip("\n"))
    return None


def received(dtype: str, shape: str, size: str) -> torch.Tensor:
    """Read an announced tensor; a dtype that is not in RECEIVED gives no elements."""
    data = bytearray(sys.stdin.buffer.read(int(size)))
    if dtype not in RECEIVED or not data:
        return torch.empty(0)
    return torch.frombuffer(data, dtype=getattr(torch, dtype)).reshape(
        [int(n) for n in shape.split("x")]
    )


def say(*lines: str, data: Iterable[bytes] = ()) -> None:
    """Write a message, and flush it."""
    sys.stdout.buffer.write("".join(f"{line}\n" for line in (*lines, "end")).encode())
    for piece in data:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


def load(module: Any, W: torch.Tensor, R: torch.Tensor, B: torch.Tensor, suffix: str = "") -> None:
    """Give torch's module the weights of a direction. Its gates are r, z, n; OpenVINO's are z, r, h."""
    hidden = R.shape[1]

    def ordered(parts: torch.Tensor) -> torch.Tensor:
        z, r, h = torch.split(parts, hidden)
        return torch.cat([r, z, h])

    none = torch.zeros(2 * hidden, dtype=B.dtype)
    for name, value in {
        "weight_ih": ordered(W),
        "weight_hh": ordered(R),
        "bias_ih": ordered(B[: 3 * hidden]),
        "bias_hh": torch.cat([none, B[3 * hidden :]]),
    }.items():
        getattr(module, name + suffix).copy_(value)


def cell(inputs: Tensors, device: str) -> Tensors:
    """GRUCell-3: Ho, [batch, hidden]."""
    X, h, R = inputs["X"], inputs["initial_hidden_state"], inputs["R"]
    B = inputs.get("B", torch.zeros(4 * h.shape[1], dtype=X.dtype))
    module = torch.nn.GRUCell(X.shape[1], h.shape[1], device=device, dtype=X.dtype)
    load(module, inputs["W"], R, B)
    return {"Ho": module(X.to(device), h.to(device))}


def sequence(inputs: Tensors, direction: str, device: str) -> Tensors:
    """GRUSequence-5: Y, [batch, directions, time, hidden], and Ho, [batch, directions, hidden]."""
    X, h0, lengths = (inputs[n] for n in ("X", "initial_hidden_state", "sequence_lengths"))
    (batch, time, size), (_, directions, hidden) = X.shape, h0.shape
    module = torch.nn.GRU(
        size, hidden, batch_first=True, bidirectional=directions == 2, device=device, dtype=X.dtype
    )
    for d in range(directions):
        W, R, B = (inputs[name][d] for name in ("W", "R", "B"))
        load(module, W, R, B, ("_l0", "_l0_reverse")[d])
    Y, Ho = torch.zeros(batch, directions, time, hidden, dtype=X.dtype), torch.zeros_like(h0)
    rows = lengths.nonzero()[:, 0]  # torch takes no row of length 0
    if not len(rows):
        return {"Y": Y, "Ho": Ho}
    X, lengths = X[rows], lengths[rows].long()
    backwards = direction == "text reverse"  # torch's single direction is forward
    x = (turned(X, lengths) if backwards else X).to(device)
    state = h0[rows].transpose(0, 1).contiguous().to(device)
    if (lengths == time).all():
        y, last = module(x, state)
    else:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        y, last = module(packed, state)
        y, _ = pad_packed_sequence(y, batch_first=True, total_length=time)
    y = turned(y.cpu(), lengths) if backwards else y.cpu()
    Y[rows] = y.reshape(len(rows), time, directions, hidden).transpose(1, 2)
    Ho[rows] = last.cpu().transpose(0, 1)
    return {"Y": Y, "Ho": Ho}


def turned(steps: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Reverse the steps of each row within the row's length."""
    steps = steps.clone()
    for row, length in enumerate(lengths.tolist()):
        steps[row, :length] = steps[row, :length].flip(0)
    return steps


def answer(question: Question, device: str) -> list[bytes]:
    """Compute the outputs that are asked for, in their order."""
    if question.operator == "openvino.GRUCell-3":
        found = cell(question.inputs, device)
    else:
        found = sequence(question.inputs, question.attributes["direction"], device)
    outputs = [found[words[0]].cpu().contiguous() for words in question.outputs]
    return [output.view(torch.uint8).numpy().tobytes() for output in outputs]


def main() -> None:
    """Answer questions until the input ends."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--device", default="cpu", help="cpu (the default), cuda, mps")
    options.add_argument("--tf32", action="store_true", help="let a GPU use TF32 in float32")
    options.add_argument("--no-cudnn", action="store_true", help="torch's own kernels on the GPU")
    chosen = options.parse_args()
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = chosen.tf32
    torch.backends.cudnn.enabled = not chosen.no_cudnn
    name = " ".join(["gru_torch.py", *sys.argv[1:]])
    header()  # the judge's hello
    hello = [f"operator {one}" for one in OPERATORS] + [f"dtype {one}" for one in DTYPES]
    say("grucible 1", f"name {name}", f"version {torch.__version__}", *hello)
    while (lines := header()) is not None:
        question = Question(lines)
        if reason := question.refusal():
            say(f"unsupported {reason}")
            continue
        try:
            with torch.no_grad():
                data = answer(question, chosen.device)
        except Exception as error:  # an error of torch is this case's error
            message = f"{type(error).__name__}: {error}".splitlines()[0]
            say(f"error {message}")
            continue
        say("ok", *("output " + " ".join(words) for words in question.outputs), data=data)


if __name__ == "__main__":
    main()
