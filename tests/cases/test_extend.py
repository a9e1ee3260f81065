"""`grucible cases --extend`: rows are added, and not a character of what is there changes."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from grucible.cases.errors import SpecError
from grucible.cases.specs.covering_arrays import extend
from grucible.cases.specs.expand import expand
from grucible.cases.specs.spec_file import load_spec

HEAD = """\
operator: openvino.GRUSequence-5
about: a theme   # why
dtypes: [float32]
sizes: {batch_size: 3,  seq_length: 4, input_size: 5, hidden_size: 6}
cases:
"""
VALUES = """\
  -   covering:   # what is covered
          clip: [0.5, 1, .inf]   # é
          direction: [forward, reverse]
          linear_before_reset: [false, true]
"""


def extended(tmp_path: Path, text: str) -> tuple[int, str]:
    file = tmp_path / "theme.yaml"
    file.write_bytes(text.encode())
    added = extend(load_spec(file, "theme"))
    return added, file.read_bytes().decode()


ROWS = {
    "some": "      rows:   # the first by hand\n        - [forward, false, 0.5]    # as published\n"
    "\n        # and this\n        -  [reverse,  true, 1]\n",
    "none": "      rows: []\n",
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("below", ["", "  # the end\n  - list: [{direction: bidirectional}]\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_all_that_is_there_stays(
    tmp_path: Path, rows: str, below: str, newline: str, start: str
) -> None:
    before = (start + HEAD + VALUES + rows + below).replace("\n", newline)
    added, after = extended(tmp_path, before)
    left = iter(after.replace(" []", "").splitlines(keepends=True))
    stays = before.replace(" []", "").splitlines(keepends=True)
    assert all(line in left for line in stays)  # in this order
    assert added >= 4
    assert after.count(newline) == after.count("\n") == before.count("\n") + added
    assert expand(load_spec(tmp_path / "theme.yaml", "theme"))
    assert extended(tmp_path, after) == (0, after)


@pytest.mark.parametrize(
    "rows",
    ["[[forward, false, 0.5]]", "\n        -   - forward\n            - false\n            - 1"],
)
def test_what_would_break_the_file_is_refused(tmp_path: Path, rows: str) -> None:
    file = tmp_path / "theme.yaml"
    file.write_text(HEAD + VALUES + f"      rows: {rows}\n")
    before = file.read_text()
    with pytest.raises(SpecError, match=r"rows cannot be added; expected `rows: \[\]`"):
        extend(load_spec(file, "theme"))
    assert file.read_text() == before


def test_what_is_excluded_in_every_row_or_in_some(tmp_path: Path) -> None:
    """clip 0.5 is first in line for (forward, true), and only the last value shows that it cannot be."""
    text = HEAD + VALUES + "      rows: []\n      exclude:\n"
    entry = "        - {clip: 0.5, direction: forward, linear_before_reset: [%s]}\n"
    added, after = extended(tmp_path, text + entry % "true")
    assert added
    assert extended(tmp_path, after) == (0, after)
    with pytest.raises(
        SpecError, match=r":6: no row can hold direction: .* with clip: 0.5; exclude"
    ):
        extended(tmp_path, text + entry % "true, false")


def test_every_triple_of_some_factors_has_a_row(tmp_path: Path) -> None:
    """But for those that are excluded; a row that is taken away is missed."""
    values = (
        "clip: [0.5, .inf], direction: [forward, reverse], hidden_size: [1, 6, 17], W_scale: [0, 3]"
    )
    text = f"""{HEAD}  - covering: {{{values}}}
    triples: [direction, hidden_size, W_scale]
    rows:
      - [forward, .inf, 1, 0]
    exclude: [{{hidden_size: 17, W_scale: 3}}]
"""
    _, after = extended(tmp_path, text)
    rows = [case.factors for case in expand(load_spec(tmp_path / "theme.yaml", "theme"))]
    for clip, direction in itertools.product((0.5, float("inf")), ("forward", "reverse")):
        assert any((row["clip"], row["direction"]) == (clip, direction) for row in rows)
    found = {(row["direction"], row["hidden_size"], row["W_scale"]) for row in rows}
    every = set(itertools.product(("forward", "reverse"), (1, 6, 17), (0, 3)))
    assert found == {one for one in every if one[1:] != (17, 3)}
    lines = after.splitlines(keepends=True)
    for line in [line for line in lines if line.startswith("      - [")]:
        (tmp_path / "less.yaml").write_text("".join(one for one in lines if one != line))
        with pytest.raises(SpecError, match=r"miss \d+ pairs and triples, such as"):
            expand(load_spec(tmp_path / "less.yaml", "less"))


def test_triples_are_of_factors_of_the_array(tmp_path: Path) -> None:
    text = HEAD + VALUES + "      triples: [clip, direction, W_scale]\n      rows: []\n"
    with pytest.raises(SpecError, match=r":\d+: cases.0.triples.2: 'W_scale' is no factor of the"):
        extended(tmp_path, text)
