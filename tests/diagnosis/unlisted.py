"""Wrong GRUs written without knowledge of the catalogue of misreadings, from what is known of how kernels go wrong."""

from __future__ import annotations

from .unlisted_addressing import ADDRESSING
from .unlisted_formulas import FORMULAS
from .unlisted_precision import PRECISION
from .unlisted_several import SEVERAL
from .unlisted_somewhere import SOMEWHERE
from .wrong_gru import WrongGru

UNLISTED: tuple[WrongGru, ...] = (*FORMULAS, *ADDRESSING, *SEVERAL, *SOMEWHERE, *PRECISION)
