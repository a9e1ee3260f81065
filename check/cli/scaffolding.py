"""The command that begins a runtime of one's own: `grucible new`."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import click

from ...cases.console import Name, say, suggest
from ...cases.errors import GrucibleError
from ...cases.operators import operator_named
from ...cases.operators.signature import Operator, Tensor
from . import options

COLUMNS = 100
"""Maximum width of a line of the program."""
PROTOCOL = Path(__file__).parents[1] / "protocol"


class Language(NamedTuple):
    """How a program begins: its `file`, made of a template of that name, and the `protocol` beside it.

    `forms` take an input, one that may be left out, an output, an attribute that is a number, and another:
    {name}, and what it is, {about}. `dtype` is what a list of dtypes has of each.
    """

    file: str
    protocol: str
    build: str
    run: str
    forms: tuple[str, str, str, str, str]
    dtype: str = ', "dtype {}"'


_C = Language(
    "gru.c", "grucible.h", "cc -O2 -o gru gru.c -lm", "exec: ./gru",
    (
        'const gr_tensor *{name} = gr_input(q, "{name}"); // {about}',
        'const gr_tensor *{name} = gr_input(q, "{name}"); // {about}; may be NULL',
        'gr_tensor *{name} = gr_output(q, "{name}"); // {about}; may be NULL',
        'double {name} = gr_number(q, "{name}"); // {about}',
        'const char *{name} = gr_attribute(q, "{name}"); // {about}',
    ),
    ' "dtype {}\\n"',
)  # fmt: skip
LANGUAGES = {
    "python": Language(
        "gru.py", "", "", "gru.py:run",
        (
            '{name} = question.inputs["{name}"]  # {about}',
            '{name} = question.inputs.get("{name}")  # {about}; may be None',
            "# {name}: {about}",
            '{name} = question.attributes["{name}"]  # {about}',
            '{name} = question.attributes["{name}"]  # {about}',
        ),
        '"{}", ',
    ),
    "c": _C,
    "cpp": _C._replace(file="gru.cpp", build="c++ -std=c++17 -O2 -o gru gru.cpp"),
    "rust": Language(
        "gru.rs", "grucible.rs", "rustc -O -o gru gru.rs", "exec: ./gru",
        (
            'let {name} = question.input("{name}")?; // {about}',
            'let {name} = question.given("{name}"); // {about}; may be None',
            "// {name}: {about}",
            'let {name} = question.number("{name}"); // {about}',
            'let {name} = question.attribute("{name}"); // {about}',
        ),
    ),
    "js": Language(
        "gru.mjs", "grucible.mjs", "", "exec: node gru.mjs",
        (
            'const {name} = question.inputs["{name}"]; // {about}',
            'const {name} = question.inputs["{name}"]; // {about}; may be undefined',
            "// {name}: {about}",
            'const {name} = question.attributes["{name}"]; // {about}',
            'const {name} = question.attributes["{name}"]; // {about}',
        ),
    ),
}  # fmt: skip


@click.command("new")
@click.argument("language", type=Name(list(LANGUAGES)))
@click.option("-o", "--out", default=Path(), type=options.PATH, metavar="FOLDER", show_default="here",
              help="Where the files go.")  # fmt: skip
@click.option("--operator", default="openvino.GRUSequence-5", show_default=True, metavar="NAME",
              help="What the kernel computes, such as onnx.GRU-14.")  # fmt: skip
@click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE",
              help="What it computes in; repeatable.  [default: all of the operator's]")  # fmt: skip
def new_command(language: str, out: Path, operator: str, dtypes: tuple[str, ...]) -> None:
    """Begin a runtime of your own: a program that lacks nothing but the kernel.

    It speaks grucible's protocol and gives zeros. Files that are there stay as they are.
    """
    asked, how = operator_named(operator), LANGUAGES[language]
    for dtype in dtypes:
        if dtype not in asked.dtypes():
            near = suggest(dtype, asked.dtypes())
            has = ", ".join(asked.dtypes())
            raise GrucibleError(f"{operator} has no {dtype}{near}; it has {has}")
    texts = {how.file: program(language, asked, dtypes)}
    if how.protocol:
        texts[how.protocol] = (PROTOCOL / "examples" / how.protocol).read_text("utf-8")
    for path in (out / name for name in texts):
        if path.exists():
            raise GrucibleError(f"{path}: is there already; name another folder: -o FOLDER")
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (out / name).write_text(text, "utf-8")
        say(f"wrote {out / name}")
    say(f"Write your kernel into {out / how.file}, where it says so. Then:")
    commands = [f"cd {shlex.quote(str(out))}" if out != Path() else "", how.build]
    commands += [f"grucible probe {shlex.quote(how.run)}" if how.protocol else ""]
    commands += [f"grucible check --runtime {shlex.quote(how.run)} {_selecting(operator, dtypes)}"]
    for command in filter(None, commands):
        say(f"    {command}")


def _selecting(operator: str, dtypes: tuple[str, ...]) -> str:
    """Write the options of `check` that select what a program answers."""
    return " ".join([f"--select '{operator}/*'", *(f"--dtype {one}" for one in dtypes)])


def program(language: str, operator: Operator, dtypes: tuple[str, ...]) -> str:
    """Make the program in a language that answers an operator's questions in some dtypes, or in all."""
    how = LANGUAGES[language]
    ending = ".c" if how.protocol.endswith(".h") else Path(how.file).suffix
    template = Template((PROTOCOL / "new" / f"gru{ending}.txt").read_text("utf-8"))
    indent = "  " if language == "js" else "    "
    mark = "# " if language == "python" else "// "
    takes = [line for one in _taken(how, operator) for line in _fitted(one, mark, indent)]
    return template.substitute(
        operator=operator.name,
        selecting=_selecting(operator.name, dtypes),
        build=how.build,
        takes="\n".join(takes),
        dtypes="".join(map(how.dtype.format, dtypes or operator.dtypes())).removesuffix(", "),
    )


def _taken(how: Language, operator: Operator) -> Iterator[str]:
    """Make the lines that take inputs, attributes and outputs."""
    given, optional, output, number, words = how.forms
    for tensor in operator.inputs:
        form = given if tensor.required else optional
        types = operator.types[tensor.type]
        others = f"; {' or '.join(types)}" if types != operator.dtypes() else ""
        yield form.format(name=tensor.name, about=_shapes(operator, tensor) + others)
    for one in operator.attributes:
        form = number if one.kind in ("int", "float", "boolean") else words
        about = re.sub(r" \(ledger: .*?\)", "", one.about)
        if not one.required:
            about += (
                "; may be absent" if one.default is None else f"; {_spell(one.default)} if not set"
            )
        yield form.format(name=one.name, about=about)
    for tensor in operator.outputs:
        yield output.format(name=tensor.name, about=_shapes(operator, tensor))


def _fitted(line: str, mark: str, indent: str) -> Iterator[str]:
    """Yield a line with its comment behind it, or above it where both are too long."""
    code, _, about = line.partition(mark)
    if len(indent + line) <= COLUMNS:
        yield indent + line
        return
    start = indent + mark
    yield from textwrap.wrap(about, COLUMNS, initial_indent=start, subsequent_indent=start)
    if code:
        yield indent + code.rstrip()


def _spell(value: Any) -> str:
    """Spell a default: no language's own True and False."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return (
        " ".join(value)
        if isinstance(value, Sequence) and not isinstance(value, str)
        else f"{value}"
    )


def _shapes(operator: Operator, tensor: Tensor) -> str:
    """List the shapes that a tensor may have, in the specification's symbols, and what decides.

    Behind the shape of weights and biases stand the gates, or the biases, in order.
    """
    own = operator.notation
    shapes = dict[str, str]()
    for form in tensor.forms:
        parts = [own.part(p) if tensor.role == "b" else own.gate.get(p, p) for p in form.parts]
        order = f" ({', '.join(parts)})" if parts else ""
        shapes[" x ".join(form.axes) + order] = " and ".join(form.when)
    whens = " and ".join(dict.fromkeys(filter(None, shapes.values())))
    by = f", by {whens}" if len(shapes) > 1 else ""
    return " or ".join(reversed(shapes)) + by
