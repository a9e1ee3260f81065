"""What is to be said of the wrong GRUs with one mistake, in a formula or in an address."""

from __future__ import annotations

from .said import FIRST_ROW, Said, scaled, scaled_there

BOTH_RESETS = r"reset gate('s pre-activation| rt)"

SAID_OF_FORMULAS: dict[str, Said] = {
    "exp2-in-sigmoid": Said(
        (scaled("sigmoid", r"0\.693"),), also=scaled_there("sigmoid", r"0\.693")
    ),
    "lecun-tanh": Said((r"tanh computed as 1\.7159 tanh\(2v/3\)",)),
    "tanh-from-sigmoid": Said((scaled("tanh", r"0\.5\b"),), also=scaled_there("tanh", r"0\.5\b")),
    "linear-sigmoid": Said(
        (
            r"sigmoid .*(v/4|0\.25 v|slope (1/4|0\.25)|tangent)|\bsigmoid computed as the hard sigmoid max\(0, min\(1, v/5",
        ),
        also=(
            scaled("hard-sigmoid", r"1\.25\b"),
            r"pre-activations of both gates multiplied by 1\.25.*where activations has Sigmoid",
        ),
    ),
    "sigmoid-capped-at-three": Said(
        (r"argument of sigmoid (limited|held) to (±3(?!\.)|\[-3, 3\])",),
        also=(
            r"argument of sigmoid limited to at (most 3|least -3)(?!\.)",
            r"result of sigmoid limited to at (most 0\.95\d*|least 0\.04[78]\d*)$",
            r"pre-activations of both gates limited to ±3(?!\.)",
        ),
    ),
    "sigmoid-cut-beyond-two": Said(
        (
            r"(sigmoid|gates?|zt|rt)\b.*(left out|\b0\b|\b1\b|zero|one|limited|infinite).*(below|above|beyond|where).*\b(2|1\.99\d*)\b",
        ),
        also=(r"result of sigmoid set to zero where its size is below 0\.1[12]",),
    ),
    "leaking-relu": Said((r"\brelu computed as leaky relu with slope 0\.01",)),
    "relu-six": Said(
        (r"\brelu computed as relu6|(argument|result) of relu limited to (±|at most )6(?!\.)",)
    ),
    "softsign-of-square": Said((r"softsign.*(another function|v²|v\^2|v v\b|v \* v|square)",)),
    "shifted-threshold": Said(
        (
            r"thresholded-?relu.*(v - a|alpha.*(subtracted|taken off)|less alpha|minus alpha)|result of thresholded-relu off by -|thresholded relu computed as v - alpha",
        )
    ),
    "softplus-through-zero": Said((r"result of softplus off by -0\.693",)),
    "elu-without-brackets": Said((r"\belu\b.*(e\^v - 1|bracket|off by -0\.)",)),
    "forget-bias": Said((r"update gate's pre-activation off by 1(?!\.)",)),
    "keep-factor": Said((r"both gates' part of R (and .*)?multiplied by 0\.9\b",)),
    "scaled-scores": Said(
        (
            r"(candidate's part of R.*|what the reset gate multiplies) (divided by the square root of the hidden size|multiplied by 0\.408)",
        )
    ),
    "negated-reset": Said(
        (r"reset gate's pre-activation negated",),
        also=(r"1 - rt used for rt.*where activations has sigmoid", r"rt negated.*tanh"),
    ),
    "squared-reset": Said(
        (
            r"(?<!activation of the )reset gate[^;]* applied twice|reset gate (also |too )?applied before the product (too|as well|once more|and)",
        )
    ),
    "reset-on-input": Said(
        (r"rt multiplies the input's product of the candidate too",),
        also=(r"rt multiplies the input's product and the bias .*where B is left out",),
    ),
    "blend-sign": Said((r"Ht = \(1 \+ zt\) \(\.\) ht \+ zt \(\.\) Ht-1",)),
    "old-state-whole": Said((r"Ht = \(1 - zt\) \(\.\) ht \+ Ht-1",)),
    "reset-state-blended": Said(
        (
            r"Ht = \(1 - zt\) \(\.\) ht \+ zt \(\.\) rt \(\.\) Ht-1|Ht-1 in the blend .*multiplied by rt",
        )
    ),
    "clip-from-below": Said((r"clipped from below only",)),
    "clip-as-width": Said((r"clip multiplied by 0\.5\b",)),
    "clip-as-integer": Said(
        (r"clip (ignored|left out)|clip .*integer",), r"clip is 0\.5|clip .*(below|less than) 1"
    ),
    "blend-twice": Said(
        (r"Ht = \(1 - zt\) \(\.\) \(\(1 - zt\) \(\.\) ht \+ zt \(\.\) Ht-1\) \+ zt \(\.\) Ht-1",)
    ),
}
"""By the name of the wrong GRU: mistakes in a formula."""

SAID_OF_ADDRESSING: dict[str, Said] = {
    "gate-stride-of-w": Said(
        (r"gates of R taken hidden_size · input_size elements apart",),
        also=(r"candidate's part of R used for the reset gate",),
    ),
    "state-in-place": Said(
        (r"in place, unit after unit: later units read the new state of earlier",)
    ),
    "input-one-step-late": Said(
        (r"X of the time before taken",),
        also=(
            r"X of the step after taken.*(reverse|second direction)",
            r"X of the step before taken.*(forward|first direction)",
        ),
    ),
    "backwards-from-forwards": Said(
        (r"second direction started from the last state of the first",)
    ),
    "shared-recurrence": Said((r"first direction's R used for both",)),
    "sorted-rows": Said(
        (r"rows sorted by length, and not put back in Y\b",),
        also=(r"rows sorted by length for packing.*where no Y_h is asked for",),
    ),
    "backwards-from-length": Said(
        (
            r"(reverse|backward).*start.*\b(one|behind|after|at its length)\b|reverse.*one (time|step) (too )?late",
        ),
        r"reverse|backward",
        (r"X of the time after taken.*reverse",),
    ),
    "bias-runs-on": Said(
        (
            r"bias.*(runs on|not (reset|put back)|further on|next gate|gate behind).*|\bB .*(runs on|further on)",
        ),
        r"in the rows of the batch from 1 on",
        (
            r"reset gate's part of B used for the update gate.*row 1 of",
            r"candidate's part of B used for the reset gate.*row 1 of",
            r"candidate's part of B used for the update gate.*row 2 of",
            r"update gate's part of B used for the reset gate.*row 2 of",
        ),
    ),
    "interleaved-gates": Said((r"hidden units of zt and rt taken in turns",)),
    "hoisted-recurrence": Said(
        (
            r"(recurrent (term|product)|what the reset gate multiplies|candidate's (part|recurrent|product)).*(initial_hidden_state|of the first step|initial state|before the loop)",
        ),
        place=r"from step 1 on",
    ),
    "state-before-input": Said(
        (
            r"\[h, x\]|\[Ht-1, Xt\]|(state|Ht-1) (and|before|for) (the )?(input|X)|(X|input)s? and (the )?(state|Ht-1)",
        )
    ),
    "input-bias-twice": Said(
        (r"input bias of both gates added twice, the recurrent one not at all",),
        also=(r"input bias of the (update|reset) gate added twice",),
    ),
    "reset-from-kept": Said((r"zt \(\.\) Ht-1 written over Ht-1 before",)),
    "rows-share-reset": Said((rf"{BOTH_RESETS} {FIRST_ROW}",)),
    "state-of-next-row": Said((r"what the reset gate multiplies of the next row of the batch",)),
    "candidate-bias-of-reset": Said((r"reset gate's input bias used for the candidate",)),
}
"""By the name of the wrong GRU: mistakes in an address or a moment."""
