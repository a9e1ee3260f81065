"""Points of which an owner's text says nothing, and on which cases decide all the same.

There the owner's runtime, or the one that all test against, is normative: every runtime that was asked
does the same. Each is named after its entry in the owner's `LEDGER.md`. Where runtimes differ, a point
is ambiguous instead, and has a reading (`readings`).
"""

from __future__ import annotations

from collections.abc import Mapping

SILENT: Mapping[str, frozenset[str]] = {
    "openvino": frozenset({"b-order", "y-padding", "reverse-ragged", "bidi-layout"}),
    "onnx": frozenset({"y-padding", "reverse-ragged"}),
    "bnnsgraph": frozenset(),
}
"""By owner, the entries of the ledger."""
