"""What is to be said of the wrong GRUs that were held out."""

from __future__ import annotations

from .said import FIRST_ROW, Said, scaled, scaled_there

_WHOLE_FOUR = r"(past the last whole group of 4|from 4 on|last (2|hidden unit))"
_NO_STATE = r"\bR (left out|ignored|multiplied by 0(?!\.))"

SAID_OF_HELD_OUT: dict[str, Said] = {
    "sigmoid-of-keras-3": Said((r"hard sigmoid max\(0, min\(1, v/6|max\(0, min\(1, 0\.1666?7? v",)),
    "tanh-pade-unbounded": Said((r"tanh (computed as another function|approximated, off by up to 2e-02)",)),
    "sigmoid-with-exp2": Said(
        (scaled("sigmoid", r"0\.693"),), also=scaled_there("sigmoid", r"0\.693")
    ),
    "state-overwritten-by-reset": Said(
        (r"zt \(\.\) rt \(\.\) Ht-1",), place="linear_before_reset is (False|0)"
    ),
    "accumulators-of-update-gate-kept": Said(
        (r"update gate's pre-activation added to the reset gate's pre-activation",)
    ),
    "reset-over-whole-candidate": Said(
        (r"rt multiplies the input's product",), place="linear_before_reset is (True|1)"
    ),
    "blend-with-other-difference": Said(
        (r"Ht = \(1 \+ zt\) \(\.\) ht - zt \(\.\) Ht-1|update gate zt negated",)
    ),
    "clip-before-bias": Said((r"clip.*bias|bias.*clip",)),
    "softsign-with-square-root": Said((r"softsign computed as another function",)),
    "units-updated-in-place": Said((r"updated in place.*candidate of later units",)),
    "products-of-ten-bits": Said((r"operands of products (rounded|cut) to TF32",), also=(r"as coarse as (tf32|float16-state)",)),
    "state-of-twelve-bits": Said((r"new state Ht rounded to multiples of 1/4096",)),
    "gates-interleaved": Said((r"rows of W and R taken in turns",)),
    "recurrent-bias-from-inputs": Said((r"input bias of every gate added twice",)),
    "initial-state-not-sorted": Said((r"initial_hidden_state.*(sorted|row)",)),
    "parameters-taken-by-every-function": Said((r"by the position of the activation",)),
    "tanh-candidate-reset-without-bias": Said(
        (r"activation of the candidate ignored, tanh", r"reset gate's (part of B (left out|ignored)|bias ignored)"),
        also=(r"(relu|sigmoid) computed as tanh",),
    ),
    "recurrent-order-bias-outside-reset": Said(
        (r"gates of R alone read in the order r, z, h", r"Rbh added outside"),
    ),
    "half-tanh-backwards-from-zero": Said(
        (scaled("tanh", r"0\.5\b"), r"initial_hidden_state ignored in reverse"),
        also=(*scaled_there("tanh", r"0\.5\b"), r"initial_hidden_state ignored"),
    ),
    "reset-twice-last-from-y": Said(
        (r"multiplied by rt again", r"Y_h taken from the last step of the time axis"),
    ),
    "bytes-reset-without-state": Said(
        (r"W and R rounded to 8 bits, with a scale for (the whole tensor|all gates)", rf"reset gate's part of {_NO_STATE}"),
    ),
    "update-bias-negated-relu-capped": Said(
        (r"update gate's part of B negated", r"result of relu limited to (±|at most )1(?!\.)|relu computed as min"),
        also=(r"argument of relu limited to (±|at most )1(?!\.)",),
    ),
    "gates-without-recurrent-bias-blend-swapped-backwards-order": Said(
        (
            r"recurrent bias.*(both gates|z and r)|both gates.*recurrent bias",
            r"zt and 1 - zt exchanged",
            r"order of processing",
        ),
    ),
    "last-units-without-reset": Said((r"reset gate ignored",), place=_WHOLE_FOUR),
    "update-gate-of-row-before": Said(
        (r"update gate.*row of the batch before",), place="in every second row", also=(FIRST_ROW,)
    ),
    "first-step-without-state": Said((_NO_STATE,), place="in the first step"),
    "second-direction-with-first-recurrence": Said((r"first direction's R used for both",), place="used for both"),
    "state-saturates": Said((r"new state Ht limited to ±1(?!\.)",), place="±1"),
    "last-tile-skipped": Said(
        (r"^(W|R) cut off behind the last whole group of 16",), place=r"(input|hidden) size is (\d+ or more|\d+)"
    ),
    "bias-of-question-before": Said((r"earlier question|asked before|question before",), place="where B is left out"),
}  # fmt: skip
