"""A case as a script of its own, to be attached to a bug report: `grucible show CASE --script NAME`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from ...cases.commands.no_command import no_command_in_source
from ...cases.commands.terminal import escaped
from ...cases.dtypes import Array
from ...cases.errors import GrucibleError
from ...cases.operators.known import OPERATORS
from ...cases.operators.readings import STORED, about
from ...gen.asked_for import attribute_lines, equation_lines
from ...vectors.case import REQUIRED, Case
from .asked_case import AskedCase, asked_by
from .bodies import body_of
from .body import SECONDS, Body
from .numbers import WIDTH, array_text
from .verbatim import Verbatim

MOST_NUMBERS = 20_000
"""A script of more numbers is nothing that anybody reads: it has some 300 kB."""
_COMPARING = "check/scripts/comparing.py"
_APART = "GRUCIBLE_ASKED"
"""What is in the environment of the process that asks, where it is one of its own."""


def script(case: Case, name: str, observed: Sequence[str] = (), made_by: str = "") -> str:
    """A script that asks `case` of the runtime called `name`, compares, prints a verdict and exits 0, 1 or 2.

    It needs numpy and what the runtime needs. `name` may also be `onnx`: then it saves a test of ONNX's
    in a folder. `observed` are lines about what came when the script was made, `made_by` the command that
    made it. Raises GrucibleError where the case is too large or is not asked of this runtime,
    RuntimeNotUsable where there is none.
    """
    refuse_large(case)
    asked = asked_by(case, name)
    verbatim = Verbatim()
    body = body_of(asked, name, verbatim)
    data = list(_data(asked, body, verbatim))
    parts = [*body.definitions, *_asking(asked, body, verbatim)]
    head = [f"# {line}".rstrip() for line in _head(asked, body, observed, made_by)]
    whole = ["\n".join([*head, "", *_imports(verbatim), "", *data]), *parts]
    return no_command_in_source("\n\n\n".join(whole) + "\n")


def _imports(verbatim: Verbatim) -> Iterator[str]:
    """The imports; where one that is not Python's own fails, the script ends with status 2."""
    verbatim.uses("import sys")
    own, others = verbatim.import_groups()
    yield from (own, "", "try:")
    yield textwrap.indent(others, "    ")
    yield from ("except ImportError as error:", '    print(f"not run: {error}")', "    sys.exit(2)")


def refuse_large(case: Case) -> None:
    """Raise GrucibleError where a script of the case would be too long to be read."""
    arrays = list(case.inputs.values())
    for answer in case.answers.values():
        arrays += 2 * list(answer.outputs.values())  # each with its tolerance
    size = sum(array.size for array in arrays)
    if size > MOST_NUMBERS:
        raise GrucibleError(
            f"a script of {case.id} would hold {size} numbers, of at most {MOST_NUMBERS}; "
            "for a smaller case see: grucible shrink; for files: grucible export"
        )


def _head(asked: AskedCase, body: Body, observed: Sequence[str], made_by: str) -> Iterator[str]:
    """What is asked, as a person reads it."""
    case, question = asked.case, asked.question
    yield from _told("case", case.id)
    yield from _told("operator", f"{case.operator}, {OPERATORS[case.operator].source}")
    if asked.converted:
        yield from _told("asked as", f"{question.operator}, which can ask the same")
    yield from _told("needs", f"numpy, {body.needs}")
    yield from _told("tells", body.tells)
    if made_by:
        yield from _told("made by", made_by)
    yield ""
    yield "It asks for"
    yield from (f"  {line}" for line in equation_lines(question))
    yield ""
    yield "Attributes"
    yield from (f"  {escaped(line)}" for line in attribute_lines(question))
    yield ""
    yield from textwrap.wrap(
        f"Expected is the exact result, rounded once to {case.dtype}. An element may be off by what "
        f"{REQUIRED[case.dtype]} arithmetic may lose there.", WIDTH
    )  # fmt: skip
    if case.tier == "nonportable":
        yield "It is not portable: another result is no fault."
    if observed:
        yield ""
        yield from (escaped(line) for line in observed)


def _told(word: str, text: str) -> list[str]:
    """A word and what is said of it, indented."""
    return textwrap.wrap(
        escaped(text), WIDTH, initial_indent=f"{word:10}", subsequent_indent=" " * 10,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _data(asked: AskedCase, body: Body, verbatim: Verbatim) -> Iterator[str]:
    """The inputs, and what is accepted."""
    verbatim.uses("import numpy as np")
    if asked.case.dtype == "bfloat16":
        yield ""
        yield "\n\n\n".join(verbatim.definitions(_COMPARING, "bfloat16"))
        yield ""
        yield ""
    yield from _dict("inputs", asked.question.inputs)
    if asked.case.dtype == "bfloat16" and body.own_bfloat16:
        verbatim.uses("import ml_dtypes")
        for name, array in asked.question.inputs.items():
            if array.dtype.itemsize == 2:
                yield f'inputs["{name}"] = inputs["{name}"].view(ml_dtypes.bfloat16)'
    for number, (reading, one) in enumerate(asked.accepted.items(), 1):
        if reading != STORED:
            yield f"# also accepted: {escaped(about(reading))}"
        yield from _dict(_numbered("expected", number), one.outputs)
        if body.judges:
            yield from _dict(_numbered("tolerance", number), one.tolerances)


def _numbered(word: str, number: int) -> str:
    return word if number == 1 else f"{word}_{number}"


def _dict(name: str, arrays: Mapping[str, Array]) -> Iterator[str]:
    yield f"{name} = {{"
    yield from (f'    "{key}": {array_text(array, "    ")},' for key, array in arrays.items())
    yield "}"


def _asking(asked: AskedCase, body: Body, verbatim: Verbatim) -> list[str]:
    """The function that asks and, where it judges, the verdict; else the lines alone."""
    if not body.judges:
        return ["\n".join(body.asking)]
    lines = [f"    {line}".rstrip() for line in body.asking]
    ask = "\n".join(["def ask():", '    """The outputs by name."""', *lines])
    pairs = [
        f"({_numbered('expected', number)}, {_numbered('tolerance', number)})"
        for number in range(1, len(asked.accepted) + 1)
    ]
    signed = ", signed_zero=True" if asked.case.tier == "nonportable" else ""
    judged = f"verdict(ask, [{', '.join(pairs)}]{signed}"
    definitions = verbatim.definitions(_COMPARING, "named", "verdict")
    if not body.apart:
        return [*definitions, ask, f"print({body.version})\nsys.exit({judged}))"]
    verbatim.uses("import atexit", "import os")
    definitions += verbatim.definitions("check/scripts/own_process.py", "asked_apart", "hand_over")
    last = [
        'if __name__ == "__main__":',
        f'    place = os.environ.pop("{_APART}", "")',
        "    if not place and os.path.isfile(sys.argv[0]):  # what came through a pipe cannot be read again",
        f'        sys.exit(asked_apart("{_APART}", {SECONDS}))',
        f"    print({body.version})",
        "    found = []",
        "    if place:",
        "        atexit.register(hand_over, place, found, os.getpid())",
        f"    found.append({judged}, say=found.append if place else print))",
        "    if not place:",
        "        sys.exit(found[0])",
    ]
    return [*definitions, ask, "\n".join(last)]
