"""`grucible export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..cases.console import Name, say

if TYPE_CHECKING:
    from .exchange.manifest import Contents, Layout

_LAYOUTS = ("raw", "npz", "onnx", "openvino", "webnn")


@click.command("export")
@click.argument("vectors", metavar="[VECTORS]", required=False, type=click.Path(path_type=Path))
@click.option("--to", "layout", required=True, type=Name(_LAYOUTS), help="The format.")
@click.option("-o", "--out", required=True, type=click.Path(file_okay=False, path_type=Path),
              help="A new folder for the export.")  # fmt: skip
@click.option(
    "--select", multiple=True, metavar="GLOB", help="Only cases whose id matches. Repeatable."
)
@click.option("--questions", is_flag=True, help="Leave the answers out.")
@click.option("--answers", is_flag=True, help="Leave the questions out.")
def export_command(
    vectors: Path | None,
    layout: Layout,
    out: Path,
    select: tuple[str, ...],
    questions: bool,
    answers: bool,
) -> None:
    """Export vectors to another format.

    VECTORS is a vector file or a directory of them; without it, the core vectors.

    \b
    raw       a binary file for each case
    npz       a file for each case that numpy reads
    onnx      a folder for each case, as ONNX's backend tests have it;
              needs the package onnx
    openvino  a model as OpenVINO IR for each case, and its tensors as npz;
              needs the package openvino
    webnn     JSON, as the web platform's tests of WebNN have it

    The last three also take other operators' cases that convert exactly.
    All have a manifest.json that lists the cases, and SHA256SUMS, which
    `sha256sum -c` verifies. `grucible import` reads them back.
    """
    from ..cases.console import show_progress
    from .exchange.export import check_place, export_vectors
    from .vector_set import open_set

    if questions and answers:
        raise click.UsageError("--questions does not go with --answers; leave out both for both")
    contents: Contents = "questions and answers"
    if questions or answers:
        contents = "questions" if questions else "answers"
    check_place(out)
    opened = open_set(vectors, select)
    opened.check_globs()
    with show_progress("exporting", len(opened)) as progress:
        done = export_vectors(opened, out, layout, contents=contents, advance=progress.advance)
    for (operator, reason), count in sorted(done.left_out.items()):
        say(f"left out: {count} of {operator}: {reason}")
    say(f"wrote {done.cases} cases to {out}, {contents}")
    say(f"{done.root_sha256}  {out / 'SHA256SUMS'}")
