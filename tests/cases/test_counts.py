"""A spec that asks for too much is refused by its counts, before anything of it is made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grucible.cases.errors import GrucibleError, SpecError
from grucible.cases.specs.expand import expand_all
from grucible.cases.specs.spec_file import find_specs, load_spec
from grucible.gen.files import plan_files

HEAD = """\
operator: openvino.GRUSequence-5
about: too much
dtypes: [float32, float16]
sizes: {batch_size: 3, seq_length: 4, hidden_size: 6}
fixed: {direction: forward}
cases:
"""


def numbers(count: int) -> str:
    return f"[{', '.join(str(n + 1) for n in range(count))}]"


PRODUCT = "  - product: {{clip: {}, input_size: {}}}\n"
COVERING = "  - covering: {{clip: {}, input_size: {}}}\n    rows: []\n"
ASKING = {
    "combinations": (PRODUCT.format(numbers(4000), numbers(4000)),
                     r"cases.0: asks for 16,000,000 combinations; expected at most 100,000"),
    "covering": (COVERING.format(numbers(4000), numbers(4000)),
                 r"cases.0: asks for 16,000,000 combinations; expected at most 100,000"),
    "list": ("  - list:\n" + "".join(f"      - {{clip: {n}, input_size: 5}}\n" for n in range(1, 15_002)),
             r"cases.0: asks for 30,002 cases; expected at most 30,000"),
    "both": (PRODUCT.format(numbers(200), numbers(50)) + PRODUCT.format(numbers(200), numbers(26)),
             r"cases.1: asks for 30,400 cases; expected at most 30,000"),
    "exclude": (PRODUCT.format(numbers(3000), "[5]") + "    exclude:\n"
                + "".join(f"      - {{clip: {n}}}\n" for n in range(1, 3000)),
                r"cases.0: asks for 8,997,000 tests of exclude entries; expected at most 2,000,000"),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKING)
def test_too_much_is_refused_without_making_it(name: str, tmp_path: Path) -> None:
    text, says = ASKING[name]
    file = tmp_path / "much.yaml"
    file.write_text(HEAD + text)
    with pytest.raises(SpecError, match=says):
        load_spec(file, "much")


def test_a_case_that_is_too_large_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    sizes = HEAD.replace("hidden_size: 6", "hidden_size: 4096, input_size: 4096")
    file.write_text(f"{sizes}  - list: [{{}}]\n")
    with pytest.raises(GrucibleError, match=r"has tensors of \d+ MiB in float64; expected at most"):
        plan_files(expand_all(find_specs((file,))), tmp_path / "out", seed=0, dtypes=(), select=())


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(SpecError, match="is no regular file"):
        find_specs((tmp_path / "pipe.yaml",))
