"""Cases that no attempt can draw: all are named, and nothing that was good is lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from grucible import load_vectors
from grucible.__main__ import main
from grucible.cases.specs.expand import expand
from grucible.cases.specs.spec_file import load_spec

GOOD = """\
operator: openvino.GRUCell-3
about: nothing is wrong with this one
dtypes: [float32]
sizes: {batch_size: 1, input_size: 2, hidden_size: 2}
cases:
  - list: [{}]
"""
# no float16 number is as large as alpha
LARGE = """\
operator: onnx.GRU-14
about: a large alpha
dtypes: [float16, float32]
sizes: {batch_size: 2, seq_length: 1, input_size: 2, hidden_size: 1}
cases:
  - product:
      activations: [[Sigmoid, ScaledTanh]]
      activation_alpha: [[1.0e+5], [1.0]]
      activation_beta: [[1.0e-3]]
      linear_before_reset: [0, 1]
"""


class Ended(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Gen = Callable[..., Ended]


@pytest.fixture
def gen(capsys: pytest.CaptureFixture[str]) -> Gen:
    """Run `grucible gen ARGUMENTS…` in this process."""

    def run(*arguments: str, jobs: str = "1") -> Ended:
        with pytest.raises(SystemExit) as ended:
            main(args=["gen", *arguments, "--jobs", jobs])
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the specs."""
    for name, text in (("a", LARGE), ("b", GOOD), ("none", LARGE.replace(", [1.0]]", "]"))):
        (tmp_path / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ids_in(file: Path) -> list[str]:
    return sorted(case.id for case in load_vectors(file))


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_all_are_named_and_the_others_kept(jobs: str, specs: Path, gen: Gen) -> None:
    asked = ["a.yaml", "b.yaml", "-o", "out", "--digests", "digests.txt"]
    ended = gen(*asked, jobs=jobs)
    assert ended.returncode == 2
    first, second, last = ended.stderr.splitlines()
    for line, reset in ((first, 0), (second, 1)):
        assert re.fullmatch(
            rf"onnx\.GRU-14/a/float16/nodir-lbr{reset}-Sigmoid_ScaledTanh-alpha100000-beta0\.001: "
            r"24 draws with seed 0 failed; the last: an intermediate of 1(\.\d+)?e\+05 is too near "
            r"float16's overflow; take smaller sizes, parameters or a smaller draw",
            line,
        ), line
    assert last == "grucible: 2 cases could not be drawn (above); the 7 others were"
    [spec] = [load_spec(specs / "a.yaml", "a")]
    lost = {first.partition(":")[0], second.partition(":")[0]}
    assert ids_in(specs / "out" / "a.h5") == sorted({case.id for case in expand(spec)} - lost)
    assert len(ids_in(specs / "out" / "b.h5")) == 1
    assert not (specs / "digests.txt").exists()
    again = gen(*asked, jobs=jobs)  # what lacks cases is not taken for what was asked for
    assert again.returncode == 2
    assert "made 1 file with 6 cases in out; 1 was up to date" in again.stdout


MARKED = """\
operator: openvino.GRUCell-3
about: one case holds NaN, the others nothing that is nonportable
tier: nonportable
dtypes: [float32]
sizes: {batch_size: 2, input_size: 3, hidden_size: 4}
cases:
  - list: [{clip: 0.5}, {draw: nan}, {}]
"""


def test_ordinary_cases_of_tier_nonportable_are_not_made(specs: Path, gen: Gen) -> None:
    """They would decide nothing, and `check --recompute` would call the file a stranger's."""
    (specs / "c.yaml").write_text(MARKED)
    ended = gen("c.yaml", "-o", "out")
    assert ended.returncode == 2
    *named, last = ended.stderr.splitlines()
    assert [line.partition(": ")[0] for line in named] == [
        "openvino.GRUCell-3/c/float32/noact",
        "openvino.GRUCell-3/c/float32/noact-clip0.5",
    ]
    assert all(line.endswith(": tier nonportable is of cases that hang on NaN, infinity, overflow, "
                             "subnormal numbers or the sign of a zero, and it does not; leave the tier out")
               for line in named)  # fmt: skip
    assert last == "grucible: 2 cases could not be drawn (above); the other was"
    [made] = load_vectors(specs / "out/c.h5")
    assert (made.id, made.tier) == ("openvino.GRUCell-3/c/float32/noact-nan", "nonportable")
    (specs / "c.yaml").write_text(MARKED.replace("{draw: nan}, ", ""))
    assert gen("c.yaml", "-o", "none").stderr.endswith(
        "grucible: 2 cases could not be drawn (above)\n"
    )


def test_a_whole_file_is_not_replaced_by_one_that_lacks_cases(specs: Path, gen: Gen) -> None:
    """Nor are the digests that stand."""
    asked = ["a.yaml", "-o", "out", "--digests", "digests.txt"]
    (specs / "a.yaml").write_text(LARGE.replace("1.0e+5", "1.5"))
    assert gen(*asked).returncode == 0
    before = [(specs / name).read_bytes() for name in ("out/a.h5", "digests.txt")]
    (specs / "a.yaml").write_text(LARGE)
    ended = gen(*asked)
    assert ended.returncode == 2
    assert "out/a.h5: stays as it was" in ended.stderr
    assert [(specs / name).read_bytes() for name in ("out/a.h5", "digests.txt")] == before
