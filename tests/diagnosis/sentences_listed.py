"""What is to be said of the wrong GRUs whose mistakes are in the catalogue."""

from __future__ import annotations

from .said import NOTHING_LEFT, Said

FLIPPED_UPDATE = r"zt and 1 - zt exchanged"
OUTSIDE = r"Rbh added outside"
TRANSPOSED = r"(?<!'s )(?<!of )(?<!z and )\bR transposed"
SHARED = r"first direction's W, R and B used for both"


def in_order(what: str, gates: str) -> str:
    """Gates of weights and biases, read in another order."""
    return rf"gates of {what} (are )?read in the order {gates}"


SAID_OF_LISTED: dict[str, Said] = {
    # weights
    "reset-gate-first": Said((in_order("W, R and B", "r, z, h"),)),
    "recurrence-candidate-first": Said((in_order("R( alone)?", "h, r, z"),)),
    "recurrent-bias-outside": Said((OUTSIDE,)),
    "recurrence-transposed": Said((TRANSPOSED,)),
    "interleaved-biases": Said((r"B read as Wbz, Rbz, Wbr, Rbr, Wbh, Rbh",)),
    "update-without-bias": Said((rf"update gate's (bias|part of B) {NOTHING_LEFT}",)),
    "shared-weights": Said((SHARED,)),
    "last-input-left-out": Said(
        (r"last input feature left out|(?<!of )\bW without its last column",)
    ),
    # steps
    "reset-always-before": Said((r"reset gate applied before the product although",)),
    "update-flipped": Said(
        (FLIPPED_UPDATE,), also=(r"update gate's pre-activation negated.*sigmoid",)
    ),
    "clipped-afterwards": Said((r"clipped after the activations",)),
    "clipped-state": Said((r"the state clipped instead of the pre-activations",)),
    "sigmoid-and-tanh-always": Said((r"activations ignored, sigmoid and tanh used",)),
    "one-function-for-all": Said((r"activation of the gates used for the candidate",)),
    "softplus-as-relu": Said((r"softplus computed as relu",)),
    "alpha-by-position": Said(
        (r"activation_alpha taken by the position",),
        also=(r"activation_alpha ignored, defaults used, .*where",),
    ),
    # between the steps
    "one-step-short": Said((r"every row one step too short",)),
    "backwards-from-padding": Said((r"reverse started at the end of the time axis",)),
    "backwards-left-reversed": Said((r"Y of reverse left in the order of processing",)),
    "last-of-time-axis": Said((r"Y_h taken from the last step of the time axis",)),
    "first-states-exchanged": Said((r"initial_h of the two directions exchanged",)),
    "input-reshaped": Said((r"X reshaped from \(batch, time\) to \(time, batch\)",)),
    # two at once
    "reset-first-and-update-flipped": Said((in_order("W, R and B", "r, z, h"), FLIPPED_UPDATE)),
    "transposed-and-bias-outside": Said((TRANSPOSED, OUTSIDE)),
    "functions-exchanged-from-zero": Said(
        (r"two activations exchanged", rf"initial_hidden_state {NOTHING_LEFT}")
    ),
    "forward-unclipped": Said((r"reverse computed as forward", r"clip ignored")),
    "bias-twice-and-softsign": Said(
        (
            r"biases of z and r added twice|both gates' part of B multiplied by 2(?!\.)",
            r"tanh computed as softsign",
        ),
        also=(r"(update|reset) gate's part of B multiplied by 2(?!\.)",),
    ),
    "whole-rows-and-reset-flipped": Said((r"sequence_lens ignored", r"1 - rt used for rt")),
    "output-reshaped-without-input-bias": Said(
        (
            r"Y reshaped from \(batch, time, direction\) to \(batch, direction, time\)",
            r"Wbh ignored",
        )
    ),
    "recurrence-in-other-order-without-last-unit": Said(
        (
            in_order("R( alone)?", "r, h, z"),
            r"last hidden unit left out of the recurrent products|(?<!of )\bR without its last column",
        )
    ),
    "default-alphas-and-last-exchanged": Said(
        (r"activation_alpha ignored, defaults used", r"two directions exchanged in Y_h"),
        also=(r"parameters of (elu|leaky-relu|thresholded-relu) ignored, its defaults used",),
    ),
    "gates-clipped-and-reset-otherwise": Said(
        (
            r"only the gates z and r clipped, not the candidate",
            r"linear_before_reset taken the other way round",
        ),
        also=(r"reset gate applied (before|after) the product although linear_before_reset",),
    ),
    "one-step-long-without-reset": Said((r"one step too long", r"reset gate ignored")),
    "hard-sigmoid-and-shared-weights": Said(
        (r"sigmoid computed as the hard sigmoid max\(0, min\(1, v/6 \+ 1/2\)\)", SHARED)
    ),
    # three at once
    "three-of-start-candidate-softsign": Said(
        (
            rf"initial_h {NOTHING_LEFT}.*reverse",
            r"candidate's (part of )?R transposed",
            r"softsign computed as tanh",
        )
    ),
    "three-of-bias-clip-directions": Said(
        (r"(?<!and )Rbh ignored", r"clipped from above only", r"two directions exchanged in Y\b")
    ),
    "three-of-input-recurrence-reset": Said(
        (
            in_order("W( alone)?", "h, r, z"),
            r"R of z and r transposed|both gates' part of R transposed",
            r"1 - rt used for rt",
        )
    ),
    "three-of-reset-lengths-relu": Said(
        (
            r"reset gate applied before the product although",
            r"longest row's length used for every row",
            r"\brelu computed as the identity",
        )
    ),
    # somewhere
    "backwards-reset-flipped": Said(
        (r"1 - rt used for rt",),
        r"in reverse|second direction|direction is (not forward|reverse|bidirectional)",
        (r"reset gate's pre-activation negated.*reverse",),
    ),
    "clipped-update-flipped": Said(
        (FLIPPED_UPDATE,), r"(?<!no )clip is (asked for|given|set|not inf|0\.5|1)"
    ),
    "large-batch-transposed": Said((TRANSPOSED,), r"batch size is (4 or more|more than 3)"),
    "last-row-without-bias": Said(
        (rf"(?<!of )\bB {NOTHING_LEFT}",),
        r"in the last row of the batch",
        (rf"(bias|part of B) {NOTHING_LEFT}.*in the last row of the batch",),
    ),
    "later-steps-without-reset": Said(
        (r"reset gate ignored",), r"from step 1 on|all (steps )?but the first"
    ),
    "reset-after-in-other-order": Said(
        (in_order("R( alone)?", "r, h, z"),),
        r"(?<!no )linear_before_reset is (set|true|1|not 0|not false|asked for)",
    ),
}
"""By the name of the wrong GRU."""
