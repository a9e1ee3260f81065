"""`grucible import` and `grucible answer`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from ...cases.console import format_command, say
from ...cases.errors import GrucibleError
from ...cases.files import FORCE

_SHOWN = 20
"""Maximum reasons shown why tests make no case."""
_ANSWER = re.compile(rb"PK\x03\x04.{26}(readings|outputs|tolerance)/", re.DOTALL)
"""What an .npz file begins with whose first array is one of an answer."""


@click.command("import")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--from", "source", type=click.Choice(["onnx", "npz", "webnn"]),
              help="The format, where DIR is no export of grucible.")  # fmt: skip
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

    Their inputs stay, the answers are grucible's own and exact. What they
    expect becomes an outputs file, to be judged: check VECTORS --outputs FILE.
    """
    from ...cases.apart import Parser
    from ...cases.console import show_progress
    from . import readers
    from .suite import check_place, outputs_place, read_suite, write_suite

    if source != "npz" and (operator or attributes):
        raise click.UsageError("--operator and --attributes go with --from npz")
    if folder is None and source != "onnx":
        raise click.UsageError(
            "expected DIR; without it, --from onnx takes the onnx package's tests"
        )
    if folder is not None and not folder.exists():
        raise GrucibleError(f"{folder}: no such file or directory")
    check_place(out)
    reading: dict[str | None, Parser] = {
        None: readers.read_export,
        "onnx": readers.read_onnx_tests,
        "npz": readers.read_npz_files,
        "webnn": readers.read_webnn_tests,
    }
    suite = read_suite(
        folder, reading[source], *((operator, attributes) if source == "npz" else ())
    )
    with show_progress("answering", len(suite.cases)) as progress:
        made = write_suite(suite, out, progress.advance)
    _print_left_out(suite.left_out.most_common())
    for one in made:
        for case_id, why in one.vectors.unanswered.items():
            say(f"not answered: {case_id}: {why}")
    for one in made:
        say(f"{one.vectors.content_sha256[:16]}  {one.vectors.path}  {one.vectors.cases} cases")
    if any(one.outputs for one in made):
        judged = format_command("check", [out], ["--outputs", outputs_place(out)])
        say(f"what they expect: {judged}")


def _print_left_out(reasons: list[tuple[str, int]]) -> None:
    """Print how many tests make no case, by the most common reasons."""
    for why, count in reasons[:_SHOWN]:
        say(f"left out: {count}: {why}")
    if others := reasons[_SHOWN:]:
        count = sum(count for _, count in others)
        say(f"left out: {count} more, for {len(others)} other reasons")


@click.command("answer")
@click.argument("inputs", metavar="INPUTS.npz", type=click.Path(dir_okay=False, path_type=Path))
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
    them; uint16 is bfloat16. With -o the outputs are written as outputs/NAME,
    tolerances as tolerance/CLASS/NAME, and answers under other readings below
    readings/READING.
    """
    import io

    import numpy as np

    from ...cases.apart import NotParsed, parse_apart
    from ...cases.files import check_replaceable, write_whole
    from ...cases.operators import operator_named
    from ...cases.question import QuestionError, pose
    from ...gen.posed import answer
    from ...vectors.exchange.export import arrays_of
    from ...vectors.exchange.manifest import stored_arrays
    from ..reports.show import case_lines
    from .readers import attributes_of, read_npz

    if not inputs.exists():
        raise GrucibleError(f"{inputs}: no such file; expected the inputs as .npz")
    if out:
        check_replaceable(out, _ANSWER)
    asked = operator_named(operator)
    given = attributes_of(f"--attributes {attributes}", asked, attributes)
    try:
        arrays = parse_apart(read_npz, str(inputs))
        question = pose(asked, given, {name: np.array(array) for name, array in arrays.items()})
    except (QuestionError, NotParsed) as error:
        raise GrucibleError(f"{inputs}: {error}") from None
    case = answer(question)
    for line in case_lines(case, full):
        say(line)
    if out:
        buffer = io.BytesIO()
        np.savez(buffer, **stored_arrays(arrays_of(case, "answers")))  # type: ignore[arg-type]
        write_whole(out, buffer.getvalue(), mark=_ANSWER)
        say()
        say(f"wrote {out}")
