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
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from grucible.vectors.block import Block

Array = npt.NDArray[Any]
DTYPES = ("float64", "float32", "float16", "bfloat16")
SEED = 20_251


LARGEST = {"float32": 2.0**127, "float16-state": 65504.0}
"""What classes that are narrower than their vectors can hold."""


def main() -> int:
    """Validate and print the table."""
    from validation.members import MEMBERS, MISTAKES
    from validation.real import real_runtimes

    arguments = _arguments()
    failed = False
    print(f"{'dtype':9} {'class':18} {'implementation':46} {'shipped':>15} {'random':>15}")
    for dtype in arguments.dtypes or DTYPES:
        rows = {m.about: (m.arithmetic, m.emulated) for m in MEMBERS if m.dtype == dtype}
        runs = {about: (name, _emulation(emulated)) for about, (name, emulated) in rows.items()}
        if not arguments.emulations_only:
            runs |= {r.about: (r.arithmetic, r.run) for r in real_runtimes(dtype)}
        for about, (name, shipped, drawn) in _measured(arguments, dtype, runs).items():
            bad = shipped.alarms or drawn.alarms
            failed |= bool(bad)
            print(f"{dtype:9} {name:18} {about:46} {_told(shipped)} {_told(drawn)}"
                  f"{'  FALSE ALARM' if bad else ''}")  # fmt: skip
    if "float32" in (arguments.dtypes or DTYPES):
        wrong = {about: ("float32", _emulation(one)) for about, one in MISTAKES.items()}
        print("\nmistakes in float32 operators, by the float32 tolerances:")
        for about, (_, shipped, drawn) in _measured(arguments, "float32", wrong).items():
            failed |= not shipped.alarms
            print(f"  {about:46} caught in {shipped.alarms} of {shipped.cases} shipped cases, "
                  f"{drawn.alarms} of {drawn.cases} random ones")  # fmt: skip
    return int(failed)


def _measured(arguments, dtype, runs):  # type: ignore[no-untyped-def]
    from validation.measure import Ratios, shipped_blocks
    from validation.random_cases import random_blocks

    found = {about: (name, Ratios(), Ratios()) for about, (name, _) in runs.items()}
    sources: tuple[Iterable[tuple[Block, Array]], ...] = (
        shipped_blocks(arguments.vectors, dtype),
        random_blocks(dtype, arguments.random, arguments.seed),
    )
    for place, blocks in enumerate(sources, 1):
        for block, peak in blocks:
            for about, (name, run) in runs.items():
                holds = (
                    peak < LARGEST.get(name, np.inf) / 4
                )  # a class assumes that nothing overflows
                if holds.any():
                    for part, outputs in run([block.rows(holds)]):
                        found[about][place].see(part, outputs, name)
    return found


def _emulation(emulated):  # type: ignore[no-untyped-def]
    from grucible.gen.variants.emulated import emulate

    def runs(blocks: list[Block]) -> Iterator[tuple[Block, dict[str, Array]]]:
        for block in blocks:
            yield block, emulate(emulated, block)

    return runs


def _told(ratios) -> str:  # type: ignore[no-untyped-def]
    return f"{ratios.largest:8.2g} {ratios.cases:6}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vectors", nargs="?", type=Path, metavar="VECTORS")
    parser.add_argument("--random", type=int, default=1000, help="random cases per dtype")
    parser.add_argument("--seed", type=int, default=SEED, help="of the random cases")
    parser.add_argument("--dtype", dest="dtypes", action="append", choices=DTYPES)
    parser.add_argument("--emulations-only", action="store_true", help="no real runtimes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # so that `validation` is a package
    sys.exit(main())
