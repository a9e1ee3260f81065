"""What differs between scripts: the lines that ask, and what these need."""

from __future__ import annotations

from dataclasses import dataclass

SECONDS = 120
"""How long a program, or the process of a function, may take from its start to its end."""


@dataclass(frozen=True)
class Body:
    """The part of a script that asks one runtime.

    `needs` names the packages besides numpy. `asking` are the lines of a function that returns the outputs
    by name; `inputs` is a dict of all that the case has. `version` is an expression that says what is
    asked. `definitions` are the functions that are taken over. Where `own_bfloat16`, inputs and outputs
    of bfloat16 are arrays of ml_dtypes, else their bits, as uint16. One that does not `judges` is the
    lines alone. What asks `apart` may end its process: it has one of its own.
    """

    needs: str
    asking: tuple[str, ...]
    version: str = ""
    definitions: tuple[str, ...] = ()
    own_bfloat16: bool = False
    judges: bool = True
    apart: bool = False
    tells: str = (
        "the worst element and a verdict; exit status 0: right, 1: wrong or refused, 2: not run"
    )
