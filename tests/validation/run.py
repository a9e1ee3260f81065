"""The derived tolerances, validated: `python tests/validation/run.py [VECTORS] [--random N]`.

Runs emulations of every class of arithmetic, the real runtimes that are installed, and mistakes,
on VECTORS (without them, the core vectors) and on random cases, against the stored, rounded
answers. Prints a table: the class an implementation belongs to, the cases, and its largest ratio
of difference to tolerance. Exit status 1 if one that belongs to a class breaks it, or if a mistake
is not caught.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

sys.path[0] = str(Path(__file__).resolve().parents[1])  # so that `validation` is a package

from grucible.cases.dtypes import Array  # noqa: E402
from grucible.gen.tolerances.classes import CLASSES  # noqa: E402
from grucible.vectors.block import Block  # noqa: E402
from grucible.vectors.vector_set import open_set  # noqa: E402
from validation.members import MEMBERS, MISTAKES, Member, Ratios  # noqa: E402
from validation.random_cases import random_blocks  # noqa: E402
from validation.real import real_runtimes  # noqa: E402

LARGEST = {"float32": 2.0**127, "float16-state": 65504.0}
"""What classes that are narrower than their vectors can hold."""


def main() -> int:
    """Validate and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vectors", nargs="?", type=Path, metavar="VECTORS")
    parser.add_argument("--random", type=int, default=1000, help="random cases per dtype")
    parser.add_argument("--seed", type=int, default=20_251, help="of the random cases")
    parser.add_argument("--dtype", dest="dtypes", action="append", choices=CLASSES)
    parser.add_argument("--emulations-only", action="store_true", help="no real runtimes")
    asked = parser.parse_args()
    failed = False
    print(
        f"{'dtype':9} {'class':18} {'implementation':46} {'shipped: steps':>24} {'random: steps':>24}"
    )
    for dtype in asked.dtypes or CLASSES:
        members = [member for member in MEMBERS if member.dtype == dtype]
        members += [] if asked.emulations_only else real_runtimes(dtype)
        for member, shipped, drawn in _measured(asked, dtype, members):
            bad = any(one.alarms or one.in_steps for one in (shipped, drawn))
            failed |= bad
            both = " ".join(
                f"{max(r.worst, default=0.0):8.2g} {max(r.steps, default=0.0):8.2g} {len(r.worst):6}"
                for r in (shipped, drawn)
            )
            print(
                f"{dtype:9} {member.arithmetic:18} {member.about:46} {both}{'  FALSE ALARM' * bad}"
            )
    if "float32" in (asked.dtypes or CLASSES):
        wrong = [Member("float32", "float32", about, run) for about, run in MISTAKES.items()]
        print("\nmistakes in float32 operators, by the float32 tolerances:")
        for member, shipped, drawn in _measured(asked, "float32", wrong):
            failed |= not shipped.alarms
            print(f"  {member.about:46} caught in {shipped.alarms} of {len(shipped.worst)} shipped cases, "
                  f"{drawn.alarms} of {len(drawn.worst)} random ones; in steps in {shipped.in_steps} of "
                  f"{len(shipped.steps)}, {drawn.in_steps} of {len(drawn.steps)}")  # fmt: skip
    return int(failed)


def _measured(
    asked: argparse.Namespace, dtype: str, members: Iterable[Member]
) -> list[tuple[Member, Ratios, Ratios]]:
    found = [(member, Ratios(), Ratios()) for member in members]
    sources = (
        _shipped_blocks(asked.vectors, dtype),
        random_blocks(dtype, asked.random, asked.seed),
    )
    for place, blocks in enumerate(sources, 1):
        for block, peak in blocks:
            for member, *ratios in found:
                # a class assumes that nothing overflows
                holds = peak < LARGEST.get(member.arithmetic, np.inf) / 4
                if holds.any():
                    ratios[place - 1].see([block.rows(holds)], member.run, member.arithmetic)
    return found


def _shipped_blocks(vectors: Path | None, dtype: str) -> Iterator[tuple[Block, Array]]:
    """The deciding blocks of a dtype in vectors (None: the core vectors), as random_blocks gives them.

    Their largest intermediates are not looked at: no shipped case comes near any class's overflow.
    """
    for _, stored in open_set(vectors).blocks():
        if stored.dtype == dtype and stored.tier != "nonportable":
            yield from ((block, np.zeros(len(block))) for _, block in stored.selected())


if __name__ == "__main__":
    sys.exit(main())
