"""`grucible model`."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ...cases.apart import NotParsed, Tree, parse_apart
from ...cases.console import say, show_progress
from ...cases.errors import GrucibleError
from ...cases.files import FORCE
from ...vectors.hdf5 import OUTPUTS, VECTORS
from ...vectors.vector_set import open_set
from ...vectors.writer import prepare_place
from ..cli import options
from ..cli.reporting import Writing, reporting
from ..importing.suite import outputs_place, write_suite
from ..judging.criterion import chosen_criteria
from ..observed.outputs_file import FromOutputs
from ..report import ModelSeen, Report
from ..reports.text import plural
from ..verdict import Demand, judge
from .observing import not_judged, observe_model


def _only(_: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> str | None:
    """Return the value of an option, which would else silently be the last of several."""
    if len(given) > 1:
        raise click.UsageError(f"give one {parameter.opts[0]}, not {len(given)}")
    return given[0] if given else None


def _parse_sizes(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    """Parse texts such as batch=4."""
    found = {}
    for text in given:
        name, _equals, number = text.rpartition("=")
        if not (name and "=" not in name and number.isdecimal() and int(number)):
            raise click.BadParameter(
                f"{text!r}; expected NAME=N, such as batch=4, and --size again for each more"
            )
        found[name] = int(number)
    return found


@click.command("model")
@click.argument("file")
@click.option("--runtime", required=True, multiple=True, callback=_only, metavar="NAME",
              help="onnxruntime, onnx-reference, openvino, opencv, tract, mnn or mnn-kernel; openvino or "
              "openvino-default for an IR; torch, torch-onnx or torch-onnx-legacy for a module; or "
              "package.module:function, which takes the path of a model and its inputs by name, and "
              "returns its outputs by name.")  # fmt: skip
@click.option("--module", multiple=True, callback=_only, metavar="./FILE.py:FUNCTION",
              help="Makes the nn.Module of which FILE, in ONNX, was exported: each GRU in the file is judged "
              "as the module's, and what it stores is compared with the module.")  # fmt: skip
@click.option("--inputs", type=click.Path(exists=True, dir_okay=False), metavar="FILE.npz",
              multiple=True, callback=_only,
              help="The model's inputs, by name; without it they are drawn.")  # fmt: skip
@click.option("--size", "sizes", multiple=True, callback=_parse_sizes, metavar="NAME=N",
              help="The length of a free dimension of drawn inputs, such as batch=4; one without a "
              "name is called INPUT.AXIS, such as x.0. Repeatable.")  # fmt: skip
@click.option("--save", type=options.PATH, metavar="FILE.h5",
              help="Keep the questions and exact answers as vectors, and the outputs beside.")  # fmt: skip
@options.CRITERIA
@reporting
@click.option("--timeout", default=600, show_default=True, metavar="SECONDS", type=click.IntRange(1),
              help="How much CPU time the model may take.")  # fmt: skip
@options.MEMORY
@FORCE
def model_command(
    file: str,
    runtime: str,
    module: str | None,
    inputs: str | None,
    sizes: dict[str, int],
    save: Path | None,
    writing: Writing,
    timeout: int,
    memory: int | None,
    **criteria: Any,
) -> None:
    """Judge every GRU of your own model, each by its own inputs.

    FILE is an ONNX model, an OpenVINO IR (*.xml), or package.module:function, which makes a PyTorch
    module. The whole model runs on the runtime, with what its GRUs take and give made visible. Each GRU's
    outputs are judged by the exact answers to the inputs that it got there; in a loop, those of its first
    100 rounds, or fewer of large ones. With more rounds the verdict is incomplete.

    Exit status 0: every GRU of the model conforms; 1: one does not, or one was not judged in all its runs;
    2: bad usage or input.
    """
    if inputs and sizes:
        raise click.UsageError("--size is for drawn inputs; --inputs have their own")
    if save:  # before the model runs
        for place, mark in ((save, VECTORS), (outputs_place(save), OUTPUTS)):
            prepare_place(place if save.suffix == ".h5" else place / "layers.h5", mark)
    chosen = chosen_criteria(**criteria)
    asked = file, runtime, inputs, json.dumps(sizes), module
    seen = _observe(asked, timeout, memory)
    with _place(save) as place:
        demand = Demand(chosen, layers=seen["layers"], differs=seen["differs"])
        report = _judge(seen, place, demand)
        known = {name: seen[name] for name in ("layers", "unjudged", "notes")}
        model = ModelSeen(file, **known, saved=str(save or ""))
        outputs = str(outputs_place(save)) if save else ""
        report = replace(report, vectors=str(save or file), model=model, outputs=outputs)
        writing.write([report])
        if save and not writing.quiet:
            of = " with the module's attributes and weights" if seen["differs"] else ""
            say(f"{save}: written, the questions{of} and their exact answers", err=writing.as_json)
            say(f"{outputs}: written, what the model's GRUs gave", err=writing.as_json)
    raise SystemExit(report.exit_status)


@contextlib.contextmanager
def _place(save: Path | None) -> Iterator[Path]:
    """Give the place for vectors: where they are kept, or a folder that is removed."""
    if save:
        yield save
        return
    with tempfile.TemporaryDirectory(prefix="grucible-") as folder:
        yield Path(folder) / "layers"


def _observe(asked: tuple[Any, ...], timeout: int, memory: int | None) -> Tree:
    """Run the model in a process of its own, with the arguments of observe_model. Raises GrucibleError."""
    try:
        return parse_apart(observe_model, *asked, seconds=timeout, memory=memory)
    except NotParsed as error:
        file, runtime, *_ = asked
        raise GrucibleError(f"{file}: {runtime} gave no outputs ({error})") from None


def _judge(seen: Tree, place: Path, demand: Demand) -> Report:
    """Write the layers' vectors and outputs, and judge the outputs by the vectors."""
    with show_progress("answering", len(seen["cases"])) as progress:
        written = write_suite(seen, place, progress.advance)
    layers, unjudged = seen["layers"], seen["unjudged"]
    for one, _ in written:
        for case_id, why in one.unanswered.items():
            not_judged(unjudged, layers[case_id], why)
    prefixes = {"/".join(case_id.split("/")[:2]) for case_id in layers}
    vectors = open_set(place, [f"{one}/*" for one in sorted(prefixes)])  # a folder may hold more
    with show_progress("judging", len(vectors)) as progress:
        showing = progress.advance, progress.begin
        report = judge(vectors, FromOutputs(outputs_place(place), vectors), demand, *showing)
    runs = Counter(layers.values())
    nothing: dict[str, Counter[str]] = defaultdict(Counter)
    for result in report.results:
        if not result.decides:
            nothing[layers[result.id]]["NaN, infinity, or numbers near overflow"] += 1
        elif result.judged_by == "nothing":
            nothing[layers[result.id]]["more is admitted than most values are"] += 1
    wrong = {result.id for result in report.results if result.wrong}
    for case_id, how in seen["differs"].items():
        if case_id not in wrong:
            not_judged(unjudged, layers[case_id], f"it passes, but the file's {how}")
    for name, why in seen["apart"].items() if not wrong else ():  # behind a wrong layer, others are
        not_judged(unjudged, name, f"it passes, but {why}")
    for name, whys in nothing.items():
        count = whys.total()
        share = f"{count} of {plural(runs[name], 'run')} decide{'s' * (count == 1)} nothing"
        not_judged(unjudged, name, f"{share} ({', or '.join(whys)})")
    return report
