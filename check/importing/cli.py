"""`grucible import` and `grucible answer`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cases.console import format_command, say
from ...cases.errors import GrucibleError
from ...cases.files import FORCE

if TYPE_CHECKING:
    from .importing import Suite

_SHOWN = 20
"""Maximum reasons shown why tests make no case."""


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
    from ...cases.console import show_progress
    from .importing import check_place, outputs_place, write_suite

    check_place(out)
    suite = _suite(folder, source, operator, attributes)
    with show_progress("answering", len(suite.cases)) as progress:
        made = write_suite(suite, out, progress.advance)
    for line in _left_out(suite.left_out):
        say(line)
    for one in made:
        for case_id, why in one.vectors.unanswered.items():
            say(f"not answered: {case_id}: {why}")
    for one in made:
        say(f"{one.vectors.content_sha256[:16]}  {one.vectors.path}  {one.vectors.cases} cases")
    if any(one.outputs for one in made):
        judged = format_command("check", [out], ["--outputs", outputs_place(out)])
        say(f"what they expect: {judged}")


def _left_out(reasons: Counter[str]) -> Iterator[str]:
    """How many tests make no case, by the most common reasons, and how many have others."""
    for why, count in reasons.most_common(_SHOWN):
        yield f"left out: {count}: {why}"
    others = reasons.most_common()[_SHOWN:]
    if others:
        yield f"left out: {sum(count for _, count in others)} more, for {len(others)} other reasons"


def _suite(
    folder: Path | None, source: str | None, operator: str | None, attributes: str | None
) -> Suite:
    if source != "npz" and (operator or attributes):
        raise click.UsageError("--operator and --attributes go with --from npz")
    if folder is None and source != "onnx":
        raise click.UsageError(
            "expected DIR; without it, --from onnx takes the onnx package's tests"
        )
    if folder is not None and not folder.exists():
        raise GrucibleError(f"{folder}: no such file or directory")
    from .importing import read_export, read_suite

    if source == "onnx":
        from .onnx_tests import read_onnx_tests

        return read_suite(folder, read_onnx_tests)
    if source == "npz":
        from .npz_files import read_npz_files

        return read_suite(folder, read_npz_files, operator, attributes)
    if source == "webnn":
        from .webnn_tests import read_webnn_tests

        return read_suite(folder, read_webnn_tests)
    return read_suite(folder, read_export)


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
    from ...cases.files import check_replaceable
    from ...gen.posed import answer
    from ..reports.show import case_lines
    from .npz_files import ANSWER, question_of, write_answer

    if not inputs.exists():
        raise GrucibleError(f"{inputs}: no such file; expected the inputs as .npz")
    if out:
        check_replaceable(out, ANSWER)
    case = answer(question_of(inputs, operator, attributes))
    for line in case_lines(case, full):
        say(line)
    if out:
        write_answer(out, case)
        say()
        say(f"wrote {out}")
