"""`grucible explain ledger NAME`: what the owners' pages say, from the installed package."""

from __future__ import annotations

import re

import pytest

from grucible.cases.ledger import ledger_entries
from grucible.cases.operators import OPERATORS
from grucible.vectors.hdf5 import CORE

from .conftest import Command, bad_usage

OWNERS = sorted({operator.owner for operator in OPERATORS.values()})


@pytest.mark.parametrize("owner", OWNERS)
def test_every_entry_of_every_page_is_there(owner: str) -> None:
    page = (CORE.parent / "cases" / owner / "LEDGER.md").read_text(encoding="utf-8")
    names = re.findall(r'^\| <a id="(.*?)">', page, re.MULTILINE)
    entries = {name: owners[owner] for name, owners in ledger_entries().items() if owner in owners}
    assert {*names} == {*entries}
    assert all({"the text", "basis"} <= columns.keys() for columns in entries.values())
    assert all(columns["basis"] for columns in entries.values())


def test_an_entry_is_printed_whole_for_each_owner(command: Command) -> None:
    printed = " ".join(command("explain", "ledger", "len-zero").out.split())
    assert "in the ledger of openvino the text: silent: Ho of a row of length 0 seen: Y" in printed
    assert "in the ledger of onnx the text: silent on Y_h of a row of length 0 seen: Y" in printed
    assert printed.count("len-zero.initial-state") == printed.count("basis: owner") == 2
    assert command("explain", "len-zero").out == command("explain", "ledger", "len-zero").out
    piped = command("explain", "ledger", "gate-order").out
    assert '"(W_ir|W_iz|W_in)" and so for W_h, b_i, b_h' in piped


def test_a_mistyped_entry_is_answered_with_the_nearest(command: Command) -> None:
    ended = command("explain", "ledger", "b-optinal")
    bad_usage(ended, "no entry of a ledger .did you mean 'b-optional'")
    ended = command("explain", "ledger", "len-zer")
    bad_usage(ended, "no entry of a ledger .did you mean 'len-zero'")


def test_a_word_of_reports_is_explained(command: Command) -> None:
    assert command("explain", "unexplained").out.startswith("unexplained: failures that no finding")
    for word in ("unsupported", "stale", "nonportable", "bfloat16-gemm"):
        assert command("explain", word).out.startswith(f"{word}")
    assert command("explain", "tier").out == "tier: `required`, `ambiguous` or `nonportable`\n"


def test_a_reading_is_explained_and_not_counted(command: Command) -> None:
    ended = command("explain", "len-zero.initial-state")
    assert (ended.status, ended.err) == (0, "")
    assert ended.out.endswith("see: grucible explain ledger len-zero\n")


def test_a_finding_s_name_is_still_explained(command: Command) -> None:
    ended = command("explain", "lbr-assumed", "--select", "openvino.GRUCell-3/plain/float32/*")
    assert ended.out.startswith("lbr-assumed: misreading")
