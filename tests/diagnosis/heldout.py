"""Wrong GRUs by somebody who had seen neither the catalogue nor the other list.

They were judged before anything was made for them; then the diagnosis was made to know more of them.
"""

from __future__ import annotations

from .heldout_addressing import ADDRESSING
from .heldout_formulas import FORMULAS
from .heldout_several import SEVERAL
from .heldout_somewhere import SOMEWHERE
from .wrong_gru import WrongGru

HELD_OUT: tuple[WrongGru, ...] = (*FORMULAS, *ADDRESSING, *SEVERAL, *SOMEWHERE)
