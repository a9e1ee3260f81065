"""The derived tolerances, validated: `python tests/validation/run.py [VECTORS] [--random N]`.

Runs emulations of every class of arithmetic, the real runtimes that are installed, and mistakes,
on VECTORS (without them, the core vectors) and on random cases, against the stored, rounded
answers. Prints a table: the class an implementation belongs to, the cases, and its largest ratio
of difference to tolerance; in float16 and bfloat16 also the noise, all errors as a multiple of what
roundings make. Exit status 1 if one that belongs to a class breaks it or gets a remark upon its noise,
or if a mistake is not caught.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

sys.path[0] = str(Path(__file__).resolve().parents[1])  # so that `validation` is a package

from grucible.cases.dtypes import Array  # noqa: E402
from grucible.cases.operators import OPERATORS  # noqa: E402
from grucible.gen.tolerances.classes import CLASSES  # noqa: E402
from grucible.vectors.block import Block  # noqa: E402
from grucible.vectors.vector_set import open_set  # noqa: E402
from validation.members import MEMBERS, MISTAKES, Member, Ratios, measure  # noqa: E402
from validation.random_cases import largest_intermediates, random_blocks  # noqa: E402
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
    parser.add_argument("--scale", type=int, default=1, help="of the random cases' sizes")
    parser.add_argument("--seed", type=int, default=20_251, help="of the random cases")
    parser.add_argument("--dtype", dest="dtypes", action="append", choices=CLASSES)
    parser.add_argument("--forms", action="store_true", help="each emulated form in its own line")
    parser.add_argument("--only", choices=("emulated", "real"), help="one kind of implementation")
    asked = parser.parse_args()
    failed = False
    places = " | ".join(f"{place}: whole, steps, noise" for place in ("shipped", "random"))
    print(f"| dtype | class | implementation | elements | {places} |")
    print("| --- | --- | --- | ---: | ---: | ---: |")
    for dtype in asked.dtypes or CLASSES:
        members = [one for one in MEMBERS if one.dtype == dtype and asked.only != "real"]
        members += [] if asked.only == "emulated" else real_runtimes(dtype)
        lines: dict[tuple[str, str], list[tuple[Ratios, Ratios]]] = {}
        for member, shipped, drawn in _measured(asked, dtype, members):
            for one in (shipped, drawn):
                remarked = one.remarked(dtype)
                if one.alarms or one.in_steps or remarked:
                    failed = True
                    name = f"{dtype} {member.arithmetic} {member.about} {member.form}"
                    print(f"FALSE ALARM: {name} {remarked}", flush=True)
            about = f"{member.about}, {member.form if asked.forms else '*'}"
            name = about if member.form else member.about
            lines.setdefault((member.arithmetic, name), []).append((shipped, drawn))
        for (arithmetic, about), each in lines.items():
            about = about.replace("*", f"{len(each)} forms")
            elements = sum(one.elements for pair in each for one in pair)
            ratios = [_largest([pair[place] for pair in each]) for place in (0, 1)]
            print(
                "|",
                " | ".join([dtype, arithmetic, about, f"{elements:,}", *ratios]),
                "|",
                flush=True,
            )
    if "float32" in (asked.dtypes or CLASSES) and asked.only != "real":
        wrong = [Member("float32", "float32", about, run) for about, run in MISTAKES.items()]
        print("\nmistakes in float32 operators, by the float32 tolerances:")
        for member, shipped, drawn in _measured(asked, "float32", wrong):
            failed |= not shipped.alarms
            print(f"  {member.about:46} caught in {shipped.alarms} of {len(shipped.worst)} shipped cases, "
                  f"{drawn.alarms} of {len(drawn.worst)} random ones; in steps in {shipped.in_steps} of "
                  f"{len(shipped.steps)}, {drawn.in_steps} of {len(drawn.steps)}")  # fmt: skip
    return int(failed)


def _largest(found: Iterable[Ratios]) -> str:
    """Write the largest ratios of some implementations: of whole answers, of single steps, of noise."""
    every = [[max(one.worst, default=0.0), max(one.steps, default=0.0), one.noise] for one in found]
    whole, steps, noise = np.max(every, axis=0)
    return f"{whole:.2g}, {steps:.2g}" + (f", {noise:.2g}" if noise else "")


def _measured(
    asked: argparse.Namespace, dtype: str, members: Iterable[Member]
) -> list[tuple[Member, Ratios, Ratios]]:
    found = [(member, Ratios(), Ratios()) for member in members]
    sources = (
        _shipped_blocks(asked.vectors, dtype),
        random_blocks(dtype, asked.random, asked.seed, asked.scale),
    )
    for place, blocks in enumerate(sources):
        for block, peak in blocks:
            # a class assumes that nothing overflows
            measure(block, [
                (member, (shipped, drawn)[place], peak < LARGEST.get(member.arithmetic, np.inf) / 4)
                for member, shipped, drawn in found
            ])  # fmt: skip
    return found


def _shipped_blocks(vectors: Path | None, dtype: str) -> Iterator[tuple[Block, Array]]:
    """The deciding blocks of a dtype in vectors (None: the core vectors), as random_blocks gives them."""
    for _, stored in open_set(vectors).blocks():
        if stored.dtype == dtype and stored.tier != "nonportable":
            for _, block in stored.selected():
                operator = OPERATORS[block.operator]
                yield block, largest_intermediates(operator, block.given, block.inputs)


if __name__ == "__main__":
    sys.exit(main())
