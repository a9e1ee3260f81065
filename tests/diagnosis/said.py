"""What a right diagnosis says of a wrong GRU, as regular expressions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """One regular expression for each mistake, in the order of WrongGru.mistakes.

    Each is searched for, without regard to case, in one sentence: of several that are said at once, joined
    by "; and ", in each by itself, with where they are said to be. It is found in what leads a reader to the line that is wrong, in whatever
    words. `place` is found in where a mistake that is not everywhere is said to be. `also` are found in
    what is true besides: half of a mistake, or the same in a part of the cases. What none is found in is wrong.
    """

    mistakes: tuple[str, ...]
    place: str = ""
    also: tuple[str, ...] = ()


NOTHING_LEFT = "(left out|ignored|multiplied by 0(?!\\.)|limited to ±0(?!\\.)|taken as zeros?)"
"""A quantity, or an input, is not there."""
FIRST_ROW = "of the first row of the batch, for all rows"


def scaled(of: str, number: str) -> str:
    """The argument of a function times a number, given as far as it must be right."""
    return f"argument of {of} multiplied by {number}"


def scaled_there(of: str, number: str) -> tuple[str, ...]:
    """The same said of pre-activations, where they are those of the function: tanh or sigmoid."""
    return (
        f"(every pre-activation|candidate's pre-activation|pre-activations of both gates|gate's pre-activation)"
        f" multiplied by {number}.*where activations has {of}",
    )
