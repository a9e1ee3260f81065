"""Wrong GRUs whose mistakes are in the catalogue of misreadings, alone, together, or in some place."""

from __future__ import annotations

from .listed_sequence import BETWEEN
from .listed_several import LISTED_SEVERAL
from .listed_somewhere import LISTED_SOMEWHERE
from .listed_steps import STEPS
from .listed_weights import WEIGHTS
from .wrong_gru import WrongGru

LISTED: tuple[WrongGru, ...] = (*WEIGHTS, *STEPS, *BETWEEN, *LISTED_SEVERAL, *LISTED_SOMEWHERE)
"""22 single mistakes, 12 with two at once, 4 with three, 6 in some place alone."""
