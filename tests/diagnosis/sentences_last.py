"""What is to be said of the last wrong GRUs, written before they were judged."""

from __future__ import annotations

from .said import Said

SAID_OF_LAST: dict[str, Said] = {
    "last-in-place-product": Said((r"zt \(\.\) rt \(\.\) Ht-1",)),
    "last-in-place-units": Said((r"updated in place.*candidate of later units",)),
    "last-buffer-not-cleared": Said(
        (r"reset gate's pre-activation added to the candidate's pre-activation",)
    ),
    "last-one-product-for-two": Said((r"(update gate|both gates)'s? recurrent.*\brt\b",)),
    "last-reset-of-the-step-before": Said((r"reset gate.*(step before|earlier step)",)),
    "last-two-steps-back": Said((r"two steps before|state before the last",)),
    "last-state-not-sorted": Said((r"initial_h.*sorted|sorted.*initial_h",)),
    "last-complement-by-negation": Said(
        (r"1 - zt computed as|zt \+ f\(-",),
        also=(r"Ht = zt \(\.\) \(Ht-1 - ht\), where the gates' function is tanh",),  # f(-v) = -f(v)
    ),
    "last-saturated-one": Said((r"0\.992|127/128|off by -0\.0078",)),
    "last-parts-clipped": Said((r"clip.*(part|sum|apart)",)),
    "last-scale-of-the-first-gate": Said((r"\bR (multiplied|scaled) .*(largest|scale)",)),
    "last-zero-point-of-the-first-gate": Said((r"zero point|row sums",)),
    "last-line-segments": Said((r"sigmoid (approximated, off by up to 2e-02|computed as another function)",)),
    "last-state-saturates": Said((r"new state Ht limited to ±1(?!\.)",)),
    "last-accumulator-wraps": Said((r"wrap|computed as another function",), place=r"(above|below) -?4(?!\.)"),
    "last-gates-of-eight-bits": Said(
        (r"both gates zt and rt (cut off|rounded down) to multiples of 1/256",),
        also=(r"(update gate zt|reset gate rt) (cut off|rounded down) to multiples of 1/256",),
    ),
    "last-reset-twice-gates-unclipped": Said(
        (r"recurrent part of the candidate multiplied by rt again", r"only the candidate clipped"),
    ),
    "last-bias-twice-rows-go-on": Said(
        (r"Rbh.*(twice|both|too|also|multiplied by 2)", r"past a row's length holds its last state"),
    ),
    "last-fraction-for-tanh-last-of-time": Said(
        (r"tanh (computed as another function|approximated, off by up to 2e-02)", r"Ho taken from Y at the row's last valid time"),
    ),
    "last-neighbour-biases-padded": Said((r"(update gate|zt).*(neighbour|exchanged|swapped)", r"\bB\b.*(multiple of 8|padded|group)")),
    "last-biases-swapped-after-clip": Said((r"gates of B alone read in the order r, z, h", r"clip.*bias|bias.*clip")),
    "last-state-of-the-other-direction": Said((r"second direction started from the last state of the first",), place="second direction"),
    "last-chunks-of-three": Said((r"every (chunk|third step) started from",), place=r"step 3\b|every third"),
    "last-remainder-without-reset": Said(
        (r"reset gate ignored",), place=r"past the last whole group of 4|from 4 on|last 2 hidden"
    ),
}  # fmt: skip
