"""What is to be said of the wrong GRUs with several mistakes, with one in some place, or with too little precision."""

from __future__ import annotations

from .said import FIRST_ROW, NOTHING_LEFT, Said, scaled, scaled_there

TAIL_OF_4 = r"past the last whole group of 4"
EARLIER = r"earlier (question|call|case)|(question|call|case) before|asked before|not cleared|stale"
"""What a runtime remembers of what it was asked."""
RELU_LEAKS = r"\brelu computed as leaky relu with slope 0\.01"
HALF_CLIP = r"clip multiplied by 0\.5\b"
ONE_MORE = r"update gate's pre-activation off by 1(?!\.)"

SAID_OF_SEVERAL: dict[str, Said] = {
    "half-tanh-and-running-y": Said(
        (scaled("tanh", r"0\.5\b"), r"Y past a row's length holds its last state"),
        also=scaled_there("tanh", r"0\.5\b"),
    ),
    "forget-bias-and-bare-candidate": Said((ONE_MORE, r"(?<!and )Rbh ignored")),
    "leaking-relu-and-clip-as-width": Said((RELU_LEAKS, HALF_CLIP)),
    "first-state-and-gelu-sigmoid": Said(
        (r"first direction's initial_h used for both", scaled("sigmoid", r"1\.702\b")),
        also=scaled_there("sigmoid", r"1\.702\b"),
    ),
    "update-bias-twice-and-hard-tanh": Said(
        (r"update gate's part of B multiplied by 2(?!\.)", r"tanh computed as the hard tanh")
    ),
    "absolute-relu-and-last-time": Said(
        (
            r"\brelu.*(\|v\||absolute)|argument of relu (multiplied by -1|negated) where it is negative",
            r"Ho taken from Y at the time where the longest row ends",
        )
    ),
    "steep-sigmoid-and-state-in-candidate": Said(
        (
            scaled("sigmoid", r"2(?!\.)"),
            r"Ht-1 added to the candidate's pre-activation, multiplied by 0\.5\b",
        ),
        also=scaled_there("sigmoid", r"2(?!\.)"),
    ),
    "update-bias-in-reset-and-capped-state": Said(
        (r"update gate's part of B used for the reset gate", r"new state Ht limited to ±0\.5\b")
    ),
    "keras-sigmoid-and-second-from-zero": Said(
        (
            r"sigmoid computed as the hard sigmoid max\(0, min\(1, v/5 \+ 1/2\)\)",
            rf"initial_h {NOTHING_LEFT}.*(second direction|bidirectional|direction is not reverse)|second direction.*zero",
        )
    ),
    "shared-update-and-unclipped-candidate": Said(
        (
            rf"update gate('s pre-activation| zt) {FIRST_ROW}",
            r"only the gates z and r clipped, not the candidate",
        )
    ),
    "candidate-weights-in-reset-and-half-update": Said(
        (r"candidate's part of R used for the reset gate", r"update gate zt multiplied by 0\.5\b")
    ),
    "short-pass-bare-reset-scaled-tanh": Said(
        (
            r"one step too short.*(length [34]|more than (2|two)|longer)",
            rf"reset gate's part of R {NOTHING_LEFT}",
            scaled("tanh", r"1\.125\b"),
        ),
        also=scaled_there("tanh", r"1\.125\b"),
    ),
    "short-rows-zero-softplus-in-bits-transposed-update": Said(
        (
            r"Y_h (left )?zeros?.*(short|length)",
            r"result of softplus multiplied by 1\.44",
            r"update gate's part of R transposed",
        ),
        also=(r"Y_h taken from the last step of the time axis",),
    ),
}
"""By the name of the wrong GRU: two mistakes and three."""

SAID_OF_SOMEWHERE: dict[str, Said] = {
    "tail-keeps-old-state": Said(
        (r"state left as it was before the step|update gate zt limited to at least 1(?!\.)",),
        rf"{TAIL_OF_4}|hidden units from 4 on",
    ),
    "tail-without-bias": Said(
        (rf"both gates' part of B {NOTHING_LEFT}|biases of z and r {NOTHING_LEFT}",),
        TAIL_OF_4,
        (rf"(update|reset) gate's (bias|part of B) {NOTHING_LEFT}.*{TAIL_OF_4}",),
    ),
    "first-step-without-recurrence": Said(
        (rf"\bR {NOTHING_LEFT}|recurrent products? {NOTHING_LEFT}",), r"in the first step"
    ),
    "odd-row-with-reset-before": Said(
        (r"reset gate('s pre-activation| rt) of the row of the batch before used",),
        r"odd|last row|row 2 of",
    ),
    "backwards-with-tanh-twice": Said(
        (r"candidate ht taken through tanh once more",),
        r"reverse|second direction",
        (r"activation of the candidate applied twice.*(reverse|second direction)",),
    ),
    "last-input-dropped": Said(
        (
            r"both gates' part of W (without its last column|cut off behind the last whole group of 2)",
        ),
        r"group of 2|odd|last column",
        (
            r"(update|reset) gate's part of W (without its last column|cut off behind the last whole group of 2)",
            r"both gates' part of W of no more than the first 4 input features used.*input size is 5",
        ),
    ),
    "last-state-unit-unread": Said(
        (r"candidate's part of R without its last column",), r"last (column|(hidden )?unit)"
    ),
    "backward-gates-exchanged": Said(
        (r"gates of W, R and B (are )?read in the order r, z, h",), r"reverse|second direction"
    ),
    "units-beyond-four-through-float16": Said(
        (r"candidate ht rounded to float16",), rf"hidden units from 4 on|{TAIL_OF_4}"
    ),
    "small-values-skipped": Said(
        (
            r"^(?!.*in the blend).*(X|Ht-1|states?|inputs?|operands)\b.*(zero|left out|skipped).*(below|less than|small)",
        ),
        r"(below|less than) 0?\.12[45]?|small",
    ),
    "large-batch-one-state": Said(
        (r"initial_h of the first row of the batch used for every row",),
        r"batch size is [678] or more|batch size is more than [567]",
    ),
    "wrong-branch-of-sigmoid": Said(
        (
            r"sigmoid.*(another function.*too small where its argument is near -|e\^v/\(1 \+ e\^-v\)|branch|negative|below (0|-0))",
        ),
        r"negative|below (0|-0)",
    ),
    "full-lengths-from-zero": Said(
        (rf"initial_hidden_state {NOTHING_LEFT}(?! in reverse)",),
        r"every row is as long as the time axis",
    ),
    "single-steps-without-reset": Said(
        (r"reset gate ignored|reset gate rt limited to at least 1(?!\.)",),
        r"rows of length 1\b|rows shorter than 2",
    ),
    "clip-by-largest": Said(
        (r"clip ignored|clipped from above only|not clipped",),
        r"where .*(above|below|largest)|in rows?\b",
    ),
    "stale-y": Said((EARLIER,), r"\bY\b|past a row's length|padding"),
    "carried-state": Said((rf"{EARLIER}|state (was )?kept",)),
    "cached-weights": Said((rf"{EARLIER}|(R|weights) .*(kept|cached)",)),
}
"""By the name of the wrong GRU: mistakes that are not everywhere."""

SAID_OF_PRECISION: dict[str, Said] = {
    "float16-state": Said(
        (r"\bstate\b.*\bfloat16|as coarse as float16-state",),
        also=(r"(Ht-1 .*|what the reset gate multiplies) rounded to (float16|TF32)",),
    ),
    "tf32-products": Said(
        (r"(products|float32 computed) .*tf32",), also=(r"\b[XWR] cut off to TF32",)
    ),
    "int8-recurrence": Said((r"candidate's part of R .*(8[ -]bit|multiples|quanti)",)),
    "sigmoid-table": Said(
        (r"(argument of sigmoid|pre-activations of both gates) rounded to multiples of 1/16\b",),
        also=(
            r"sigmoid approximated, off by up to (1e-02|3e-04)",
            r"(argument of sigmoid|pre-activations of both gates) limited to ±8(?!\.)",
            r"pre-activations? .*rounded to multiples of 1/16\b.*where (activations has Sigmoid|the gates' function is sigmoid)",
        ),
    ),
    "pade-tanh": Said((r"tanh approximated, off by up to 2e-02",)),
    "fast-exp": Said(
        (
            r"sigmoid approximated, off by up to [12]e-02|sigmoid computed as another function|sigmoid.*exponential",
        )
    ),
    "overflowing-tanh": Said((r"tanh.*(overflow|NaN|not a number)",)),
    "float16-w": Said(
        (r"(?<!of )\bW rounded to float16",),
        also=(r"(update gate|reset gate|candidate|both gates)('s?)? part of W rounded to float16",),
    ),
    "fixed-point-update": Said((r"update gate zt rounded to multiples of 1/255\b",)),
}
"""By the name of the wrong GRU: too little precision."""
