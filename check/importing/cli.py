"""`grucible import` and `grucible answer`."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import click

from ...cases.console import Name, format_command, say
from ...cases.errors import GrucibleError
from ...cases.files import FORCE

_SECONDS = 600
"""Maximum CPU time to read a suite; an export of all shipped cases takes a tenth of it."""
_ANSWER = re.compile(rb"PK\x03\x04.{26}(readings|outputs|tolerance)/", re.DOTALL)
"""The beginning of an .npz file whose first array belongs to an answer."""


@click.command("import")
@click.argument("folder", metavar="[DIR]", required=False,
                type=click.Path(exists=True, path_type=Path))  # fmt: skip
@click.option("--from", "source", type=Name(["onnx", "npz", "webnn"]),
              help="The format, if DIR is no export of grucible.")  # fmt: skip
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path),
              help="The vector file (*.h5), or a directory.")  # fmt: skip
@click.option("--operator", metavar="NAME", help="With npz: the operator of all cases.")
@click.option("--attributes", metavar="JSON", help="With npz: the attributes of all cases.")
@FORCE
def import_command(
    folder: Path | None,
    source: str | None,
    out: Path,
    operator: str | None,
    attributes: str | None,
) -> None:
    """Make vectors of cases in other formats.

    DIR is an export of grucible, or with --from:

    \b
    onnx   a folder of ONNX's backend tests; without DIR, the GRU tests of
           the installed onnx package
    npz    a folder of .npz files, whose arrays are named as the operator's
           inputs and outputs; NAME.json beside NAME.npz may give operator
           and attributes
    webnn  a JSON file of the web platform's WebNN tests, or a folder of them

    The cases keep their inputs and get grucible's exact answers. The outputs
    that they expect become an outputs file: check VECTORS --outputs FILE.
    """
    from ...cases.apart import NotParsed, Parser, parse_apart
    from ...cases.console import show_progress
    from . import readers
    from .suite import outputs_place, write_suite

    if source != "npz" and (operator or attributes):
        raise click.UsageError("--operator and --attributes go with --from npz")
    if folder is None and source != "onnx":
        raise click.UsageError(
            "expected DIR; without it, --from onnx takes the onnx package's tests"
        )
    reading: dict[str | None, Parser] = {
        None: readers.read_export,
        "onnx": readers.read_onnx_tests,
        "npz": readers.read_npz_files,
        "webnn": readers.read_webnn_tests,
    }
    place = None if folder is None else str(folder)
    more = (operator, attributes) if source == "npz" else ()
    try:
        suite = parse_apart(reading[source], place, *more, seconds=_SECONDS)
    except NotParsed as error:
        raise GrucibleError(f"{folder}: cannot be read ({error})") from None
    with show_progress("answering", len(suite["cases"])) as progress:
        made = write_suite(suite, out, progress.advance)
    for why, count in Counter(suite["left_out"]).most_common():
        say(f"left out: {count}: {why}")
    for one, _ in made:
        for case_id, why in one.unanswered.items():
            say(f"not answered: {case_id}: {why}")
        say(f"{one.content_sha256[:16]}  {one.path}  {one.cases} cases")
    if any(expected for _, expected in made):
        judged = format_command("check", [out], ["--outputs", outputs_place(out)])
        say(f"what they expect: {judged}")


@click.command("answer")
@click.argument("inputs", metavar="INPUTS.npz",
                type=click.Path(exists=True, dir_okay=False, path_type=Path))  # fmt: skip
@click.option("--operator", required=True, metavar="NAME",
              help="The operator, such as openvino.GRUCell-3.")  # fmt: skip
@click.option("--attributes", default="{}", metavar="JSON",
              help='The attributes written out, such as {"hidden_size": 4}.')  # fmt: skip
@click.option("-o", "--out", type=click.Path(dir_okay=False, path_type=Path),
              help="Write outputs and tolerances to this .npz file.")  # fmt: skip
@click.option("--full", is_flag=True, help="Print every number.")
@FORCE
def answer_command(
    inputs: Path, operator: str, attributes: str, out: Path | None, full: bool
) -> None:
    """Answer one question exactly, and say how far off an element may be.

    INPUTS.npz has the inputs, named as the operator's specification names
    them; uint16 is bfloat16. With -o, outputs are written as outputs/NAME,
    tolerances as tolerance/CLASS/NAME, and answers under other readings as
    readings/READING/….
    """
    import numpy as np

    from ...cases.apart import NotParsed, parse_apart
    from ...cases.files import check_replaceable, whole_file
    from ...cases.operators import operator_named
    from ...cases.question import QuestionError, pose
    from ...gen.posed import answered_case
    from ...vectors.exchange.export import arrays_of
    from ...vectors.exchange.manifest import read_npz, stored_arrays
    from ..reports.show import case_lines
    from .readers import attributes_of

    if out:
        check_replaceable(out, _ANSWER)
    asked = operator_named(operator)
    given = attributes_of(f"--attributes {attributes}", asked, attributes)
    try:
        arrays = parse_apart(read_npz, str(inputs))
        question = pose(asked, given, {name: np.array(array) for name, array in arrays.items()})
    except (QuestionError, NotParsed) as error:
        raise GrucibleError(f"{inputs}: {error}") from None
    case = answered_case(question)
    for line in case_lines(case, full):
        say(line)
    if out:
        with whole_file(out, mark=_ANSWER) as file:
            np.savez(file, **stored_arrays(arrays_of(case, "answers")))  # type: ignore[arg-type]
        say()
        say(f"wrote {out}")
