"""What a right diagnosis says of every wrong GRU."""

from __future__ import annotations

from .said import Said
from .sentences_beyond import SAID_OF_PRECISION, SAID_OF_SEVERAL, SAID_OF_SOMEWHERE
from .sentences_heldout import SAID_OF_HELD_OUT
from .sentences_last import SAID_OF_LAST
from .sentences_listed import SAID_OF_LISTED
from .sentences_unlisted import SAID_OF_ADDRESSING, SAID_OF_FORMULAS

SENTENCES: dict[str, Said] = {
    **SAID_OF_FORMULAS,
    **SAID_OF_ADDRESSING,
    **SAID_OF_SEVERAL,
    **SAID_OF_SOMEWHERE,
    **SAID_OF_PRECISION,
    **SAID_OF_LISTED,
    **SAID_OF_HELD_OUT,
    **SAID_OF_LAST,
}
"""By the name of the wrong GRU, of all lists."""
