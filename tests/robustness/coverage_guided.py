"""Coverage-guided fuzzing (atheris) of the YAML loader and of the reader of vector and outputs files.

    python coverage_guided.py yaml|vectors|outputs SECONDS FOLDER

Needs `pip install atheris`. What is not an error of grucible's own making ends the run with a traceback.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from robustness.measured import Row  # noqa: E402

MINUTES = {"yaml": 4.0, "vectors": 4.0, "outputs": 2.0}
"""Ten in all."""


def rows(folder: Path, minutes: dict[str, float] | None = None) -> Iterator[Row]:
    """A row for each target."""
    for target, long in (minutes or MINUTES).items():
        place = folder / f"fuzz-{target}"
        place.mkdir()
        ended = subprocess.run(
            [sys.executable, __file__, target, str(int(60 * long)), str(place)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        row = Row(f"{target}, {long:g} minutes")
        runs = re.findall(r"Done (\d+) runs", ended.stderr)
        row.tried = int(runs[0]) if runs else 0
        features = re.findall(r"cov: (\d+)", ended.stderr)
        row.ended = {f"without a finding; coverage {features[-1] if features else '?'}": row.tried}
        memory = re.findall(r"rss: (\d+)Mb", ended.stderr)
        row.megabytes = max(map(float, memory), default=0.0)
        if ended.returncode:
            row.ended = {"stopped": row.tried}
            row.findings.append(" ".join(ended.stderr.split())[-600:])
        yield row


def _yaml(folder: Path) -> Callable[[bytes], None]:
    from grucible.cases.errors import GrucibleError
    from grucible.cases.expansion.expand import expand
    from grucible.cases.specs.spec_file import load_spec
    from grucible.check.expecting import load_expectations

    path = folder / "spec.yaml"

    def one(data: bytes) -> None:
        path.write_bytes(data)
        with contextlib.suppress(GrucibleError):
            for number, _ in enumerate(expand(load_spec(path, "spec"))):
                if number > 200:
                    break
        with contextlib.suppress(GrucibleError):
            load_expectations(path)

    return one


def _files(kind: str, folder: Path) -> Callable[[bytes], None]:
    from vectors import fuzz_worker, handmade

    vectors, none = folder / "vectors.h5", folder / "none"
    handmade.write_handmade(vectors)
    none.mkdir()
    path = folder / "mutant.h5"
    other = none if kind == "vectors" else vectors

    def one(data: bytes) -> None:
        path.write_bytes(data)
        found = fuzz_worker.outcome(kind, path, other)
        assert found in ("ok", "refused"), found

    return one


def _corpus(target: str, folder: Path) -> Path:
    """Good inputs to begin with."""
    from robustness import mutants

    from vectors import handmade

    corpus = folder / "corpus"
    corpus.mkdir()
    if target == "yaml":
        cases = TESTS.parent / "cases"
        for number, spec in enumerate(sorted(cases.rglob("*.yaml"))):
            (corpus / f"{number}.yaml").write_bytes(spec.read_bytes()[:8000])
    else:
        handmade.write_handmade(corpus / "vectors.h5")
        if target == "outputs":
            mutants.write_outputs(corpus / "vectors.h5", corpus / "outputs.h5", plain=False)
            (corpus / "vectors.h5").unlink()
    return corpus


def main(target: str, seconds: str, folder: str) -> None:
    """Fuzz one target for so long."""
    import atheris  # type: ignore[import-untyped]

    corpus = _corpus(target, Path(folder))
    with atheris.instrument_imports(include=["grucible", "yaml"]):
        one = _yaml(Path(folder)) if target == "yaml" else _files(target, Path(folder))
    options = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=3000", "-max_len=200000"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/", str(corpus)], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
