"""The owners' ledgers: where a text is ambiguous, silent or wrong, and what grucible takes it to say."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from .operators import OPERATORS

_ENTRY = re.compile(r'<a id="([^"]+)"></a>')


@cache
def ledger_entries() -> dict[str, dict[str, dict[str, str]]]:
    """Read the entries of all ledgers: by name and owner, what each column of the table says."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for owner in dict.fromkeys(operator.owner for operator in OPERATORS.values()):
        columns = list[str]()
        page = Path(__file__).with_name(owner) / "LEDGER.md"
        for line in page.read_text(encoding="utf-8").splitlines():
            cells = [one.strip() for one in re.split(r"(?<!\\)\|", line.replace("**", ""))[1:-1]]
            if cells[:1] == ["id"]:
                columns = cells
            elif cells and (entry := _ENTRY.match(cells[0])):
                texts = (cell.replace(r"\|", "|") for cell in cells[1:])
                found.setdefault(entry[1], {})[owner] = dict(zip(columns[1:], texts, strict=True))
    return found
