"""How long `grucible gen` takes: against a plain numpy loop, and with two processes against one."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from benchmarks.measure import (
    Others,
    Row,
    Timed,
    in_turns,
    seconds,
    timed,
    timed_command,
    undisturbed,
    wait_until_quiet,
)
from benchmarks.numpy_gru import evaluate

from grucible import load_vectors
from grucible.cases.expansion.expand import expand_all
from grucible.cases.specs.spec_file import SHIPPED, find_specs
from grucible.gen.files import make_files, plan_files

OTHER_THEMES = ("sizes", "long", "large")


def small_specs() -> tuple[Path, ...]:
    """The shipped specs of OpenVINO's small cases, which the baseline can evaluate: all themes but those
    about size."""
    specs = sorted((SHIPPED / "openvino").rglob("*.yaml"))
    return tuple(file for file in specs if file.stem not in OTHER_THEMES)


def generate(specs: tuple[Path, ...], out: Path) -> int:
    """All of `grucible gen --jobs 1`, in this process; returns the number of cases."""
    expanded = expand_all(find_specs(specs))
    plans = plan_files(expanded, out, seed=0, dtypes=(), select=())
    return sum(outcome.cases for outcome in make_files(plans, jobs=1))


def generation(directory: Path, rounds: int) -> list[Row]:
    """Loading, drawing, exact answers, digest and file, against evaluating cases already drawn."""
    out = directory / "vectors"
    count = generate(small_specs(), out)
    cases = list(load_vectors(out))
    _confirm_baseline(out)

    def ours() -> Timed:
        shutil.rmtree(out)
        return timed(lambda: generate(small_specs(), out))

    wait_until_quiet()
    others = Others()
    pair = in_turns(ours, lambda: timed(lambda: evaluate(cases)), rounds)
    note = f"others used {others.cpus():.1f} CPUs"
    row = Row(
        f"generation, {count} small cases",
        seconds(pair.first.wall),
        f"numpy float64, case by case {seconds(pair.second.wall)}",
        pair.wall_ratio,
        "≤",
        6.0,
        pair.cpu_ratio,
        note,
    )
    return [row]


def _confirm_baseline(out: Path) -> None:
    """A baseline that computes something else would be no baseline."""
    cases = [c for c in load_vectors(out) if c.dtype == "float64" and c.tier == "required"]
    for case, outputs in zip(cases, evaluate(cases), strict=True):
        for name, expected in case.answer.outputs.items():
            np.testing.assert_allclose(outputs[name], expected, 1e-9, 1e-9, err_msg=case.id)


def jobs(directory: Path, rounds: int) -> list[Row]:
    """`gen --jobs 1` against `--jobs 2`, the whole commands."""
    rows = []
    for what, specs in (("all shipped cases", ()), ("small cases", small_specs())):

        def run(count: int, specs: tuple[Path, ...] = specs) -> Timed:
            out = directory / f"jobs{count}"
            shutil.rmtree(out, ignore_errors=True)
            names = [str(spec) for spec in specs]
            arguments = ["-m", "grucible", "gen", *names, "-o", str(out), "--jobs", str(count)]
            return timed_command(*arguments)

        pair = in_turns(
            lambda: undisturbed(lambda: run(1)), lambda: undisturbed(lambda: run(2)), rounds
        )
        rows.append(
            Row(
                f"gen --jobs 2, {what}",
                seconds(pair.second.wall),
                f"--jobs 1 {seconds(pair.first.wall)}",
                pair.wall_ratio,
                "≥",
                1.8,
                pair.cpu_ratio,
            )
        )
    return rows
