"""Make the scripts that check/known/reproducers/list.yaml names: python tests/check/make_reproducers.py FOLDER

Each is what `grucible show CASE --script NAME` prints of a case of check/known/reproducers/cases, without what
a runtime gives where it is made.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from grucible import load_vectors
from grucible.cases.specs.expand import expand_all
from grucible.cases.specs.spec_file import find_specs
from grucible.check.scripts.script import script
from grucible.gen.files import make_files, plan_files

FOLDER = Path(__file__).parents[2] / "check" / "known" / "reproducers"
MADE_BY = "grucible gen check/known/reproducers/cases -o out && grucible show out {case} --script {runtime}"


def listed() -> dict[str, dict[str, str]]:
    """Return the runtime and the case of each script, by its name."""
    text = (FOLDER / "list.yaml").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = yaml.safe_load(text)
    return found


def scripts() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each script."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        expanded = expand_all(find_specs((FOLDER / "cases",)), (), ())
        plans = plan_files(expanded, out, seed=0, dtypes=(), select=())
        for _ in make_files(plans, 1):
            pass
        cases = {case.id: case for case in load_vectors(out)}
        for name, asked in listed().items():
            made_by = MADE_BY.format(**asked)
            yield name, script(cases[asked["case"]], asked["runtime"], made_by=made_by)


def write_scripts(folder: Path) -> None:
    """Write each script into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in scripts():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_scripts(Path(sys.argv[1]))
