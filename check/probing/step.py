"""What a step of a probe found, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Result = Literal["ok", "remark", "wrong"]


@dataclass(frozen=True)
class Step:
    """A step: its name, how it went, and what there is to say of it in a sentence.

    `sent`, `seen` and `expected` are lines for a person to read, in which nothing is a control character:
    `seen` has the bytes that came, with their offsets. `remedy` says what to change where it is not ok.
    """

    name: str
    result: Result
    said: str
    sent: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    remedy: str = ""


@dataclass(frozen=True)
class Cause:
    """What is wrong with something that a program wrote, in a sentence, and what to change."""

    what: str
    remedy: str


@dataclass(frozen=True)
class Probed:
    """The steps that were taken, and of which operators and dtypes the program is to be asked."""

    steps: tuple[Step, ...]
    operators: tuple[str, ...]
    dtypes: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether no step is wrong."""
        return all(step.result != "wrong" for step in self.steps)
