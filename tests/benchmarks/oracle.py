"""Print how many random questions a CPU second answers: `python tests/benchmarks/oracle.py [OPERATOR]…`.

Each is drawn, answered exactly and bounded, and no runtime is asked. Sizes are from 1 to 4, or as built in.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import yaml
from threadpoolctl import threadpool_limits

from grucible.cases.operators import OPERATORS
from grucible.cases.specs.random_space import RandomSpace, _space, usual_space
from grucible.cases.specs.yaml_source import Document
from grucible.gen.making import make_random

QUESTIONS, CHUNK = 8192, 2048


def small_space(name: str) -> RandomSpace:
    """Take the built-in space of an operator, with sizes from 1 to 4."""
    space = usual_space(name)
    value = yaml.safe_load(space.spec.document.text)
    drawn = value["cases"][0]["random"]
    drawn |= {size: [{"from": 1, "to": 4}] for size in space.operator.sizes if size in drawn}
    return _space("fuzz", Document("fuzz", "", value, {}))


def rate_of(space: RandomSpace) -> float:
    """Measure the questions of all dtypes per CPU second, in chunks as `fuzz` makes them."""
    streams = [(space, dtype) for dtype in space.spec.model.dtypes]
    make_random(streams, 1, 0, 256)
    start = time.process_time()
    for first in range(0, QUESTIONS, CHUNK):
        make_random(streams, 0, first, first + CHUNK)
    return QUESTIONS / (time.process_time() - start)


def main() -> None:
    """Measure the operators that are named, or all."""
    print(f"{'':24} {'1 to 4':>8} {'built-in':>9}")
    with threadpool_limits(1), np.errstate(all="ignore"):
        for name in sys.argv[1:] or OPERATORS:
            print(f"{name:24} {rate_of(small_space(name)):8.0f} {rate_of(usual_space(name)):9.0f}")


if __name__ == "__main__":
    main()
