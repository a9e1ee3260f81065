"""Makes the scripts of check/known/reproducers: python tests/check/make_reproducers.py

Each is what `grucible show CASE --script NAME` prints of a case of check/known/reproducers/cases, without what
a runtime gives where it is made.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from grucible import load_vectors
from grucible.cases.expansion.expand import expand_all
from grucible.cases.specs.spec_file import find_specs
from grucible.check.scripts.script import script
from grucible.gen.making.files import make_files, plan_files

FOLDER = Path(__file__).parents[2] / "check" / "known" / "reproducers"
MADE_BY = "grucible gen check/known/reproducers/cases -o out && grucible show out {case} --script {runtime}"


def listed() -> dict[str, dict[str, str]]:
    """The runtime and the case of each script, by its name."""
    found: dict[str, dict[str, str]] = yaml.safe_load(
        (FOLDER / "list.yaml").read_text(encoding="utf-8")
    )
    return found


def scripts() -> Iterator[tuple[str, str]]:
    """The name and the text of each script."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        expanded = expand_all(find_specs((FOLDER / "cases",)), (), ())
        plans = plan_files(expanded, out, seed=0, dtypes=(), select=())
        for _ in make_files(plans, 1):
            pass
        cases = {case.id: case for case in load_vectors(out)}
        for name, asked in listed().items():
            yield (
                name,
                script(cases[asked["case"]], asked["runtime"], made_by=MADE_BY.format(**asked)),
            )


if __name__ == "__main__":
    for name, text in scripts():
        (FOLDER / f"{name}.py").write_text(text, encoding="utf-8")
        print(name, len(text))
