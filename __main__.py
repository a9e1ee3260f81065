"""The `grucible` command: one click group that imports a command's room when it is asked for."""

from __future__ import annotations

import gc
import io
import re
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

_COMMANDS = {
    "cases": ("cases.cli", "Count or list the cases, and the pairs of settings that they ask."),
    "gen": ("gen.cli", "Generate vector files: cases with their exact answers."),
    "check": ("check.cli.checking", "Judge a runtime, or outputs made elsewhere, by vectors."),
    "report": ("check.cli.checking", "Merge reports of check or fuzz, from parts or several machines."),
    "claim": ("check.cli.claiming", "Hold a published claim against its report."),
    "model": ("check.model.cli", "Judge every GRU of your own model, layer by layer."),
    "compare": ("check.cli.scoring", "Show what changed between two reports of check."),
    "fuzz": ("check.cli.fuzzing", "Ask random questions without end, and keep what fails."),
    "new": ("check.cli.scaffolding", "Begin a runtime of your own, in Python, C, C++, Rust or JS."),
    "probe": ("check.probing", "Say what is wrong with how a program speaks the protocol."),
    "profile": ("check.cli.asking", "Show what a runtime can do, feature by feature."),
    "run": ("check.cli.asking", "Run a runtime on vectors and keep its outputs."),
    "ask": ("check.cli.asking", "Write questions into files, for devices that no pipe leads to."),
    "show": ("check.cli.one_case", "Show one case: what it asks, and the exact answer."),
    "shrink": ("check.cli.one_case", "Find the smallest case that still fails the same way."),
    "trace": ("check.cli.one_case", "Show every step of one case, and where a runtime leaves it."),
    "explain": ("check.cli.scoring", "Explain a mistake that a report names, or an ambiguous point."),
    "score": ("check.cli.scoring", "Show which mistakes in reading the specification vectors catch."),
    "export": ("vectors.cli", "Export vectors to other formats: raw, npz, onnx, openvino, webnn."),
    "import": ("check.importing.cli", "Make vectors of cases in other formats: exports, ONNX's tests."),
    "answer": ("check.importing.cli", "Answer one question exactly, from inputs in an .npz file."),
    "audit": ("check.cli.scoring", "Show what other suites, imported, would never notice."),
    "config": ("check.cli.configuration", "Print the defaults that grucible.toml or pyproject.toml gives."),
    "runtimes": ("check.cli.asking", "List the runtimes grucible knows, and whether they are installed."),
}  # fmt: skip
_HYPHEN = "\u2011"
"""A hyphen at which no line ends."""
_PAGE = re.compile(r"\b(?:cases|vectors|gen|check)/[\w/]+\.md")
"""A page of grucible's in a text."""
_JARGON = re.compile(r"is not a valid (float|integer)( range)?")
"""What click says of a text that is no number."""
_THRESHOLDS = (100_000, 50, 100)
"""Thresholds of Python's garbage collector; its defaults take an eighth of a small check's time."""


class _Formatter(click.HelpFormatter):
    """Texts of help: a path or an option stays whole, and a page is named by where it is."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _HYPHEN))

    def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        whole = [(name, about.replace("-", _HYPHEN)) for name, about in rows]
        super().write_dl(whole, col_max, col_spacing)

    def getvalue(self) -> str:
        from .cases.console import find_page

        text = super().getvalue().replace(_HYPHEN, "-")
        return _PAGE.sub(lambda page: find_page(page[0]), text)


click.Context.formatter_class = _Formatter


class _Rooms(click.Group):
    """A group of commands whose modules are imported only when a command is run."""

    def list_commands(self, _: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module, _ = _COMMANDS[cmd_name]
        found = import_module(f".{module}", __package__)
        command: click.Command = getattr(found, f"{cmd_name}_command")
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command; suggest another one for a name that is none."""
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            from .cases.console import suggest

            ctx.fail(f"no command {args[0]!r}{suggest(args[0], _COMMANDS)}")
        from threadpoolctl import threadpool_limits

        name, command, words = super().resolve_command(ctx, args)
        threadpool_limits(1)  # numpy is loaded: threads of its BLAS would compete with the runtime
        if command and not (ctx.resilient_parsing or set(ctx.help_option_names) & {*words}):
            self._configure(ctx, command, words)
        return name, command, words

    def _configure(self, ctx: click.Context, command: click.Command, words: list[str]) -> None:
        """Give the options of a command the defaults that a file here has for them, and say so."""
        from .check.cli.configuration import COMMANDS, read_configuration

        if command.name in COMMANDS:
            found = read_configuration(Path.cwd())
            if taken := found.of(command, words):
                from .cases.console import DEFAULTS, WORDS, say

                say(f"grucible: defaults from {found.place}", err=True)
                note = f" (of {found.place}; the command line wins)"
                ctx.meta[DEFAULTS] = {f"--{key}": note for key in taken}
                ctx.default_map = {command.name: dict(taken.values())}
                for key in taken:
                    ctx.meta[WORDS] += [f"--{key}={value}" for value in found.values[key]]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words of the command line, for a report names them; take --color wherever it stands."""
        from .cases.console import WORDS

        ctx.meta[WORDS] = [*args]
        if at := next((place for place, word in enumerate(args) if word == "--color"), 0):
            args = [*args[at : at + 2], *args[:at], *args[at + 2 :]]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click would exit with 1, as if it were a verdict
            from .cases.console import say
            from .cases.process import interruption_status

            say("interrupted", err=True)
            raise SystemExit(interruption_status()) from None


@click.group(cls=_Rooms, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="grucible")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto",
              help="Colour what is printed; auto: on a terminal, unless NO_COLOR is set.")  # fmt: skip
@click.pass_context
def grucible(ctx: click.Context, color: str) -> None:
    """Conformance vectors for GRU operators, and the judge that applies them.

    \b
    Exit status
      0    done; check, model: it conforms, or every failure was expected
      1    check, model: it does not conform, or the verdict is incomplete, or
           an expectation is stale;
           compare: something is worse; claim verify: something differs;
           trace: the case does not pass; probe: something is wrong;
           score: too few cases catch a misreading; gen --verify: not as published
      2    bad usage, or input that cannot be used
      70   an error of grucible's own
      130  interrupted by Ctrl-C; 129: ended by SIGHUP; 143: by SIGTERM
    """
    ctx.color = None if color == "auto" else color == "always"


def main(**extra: Any) -> NoReturn:
    """Run the command, and exit with its status. `extra` goes to click.

    For an error that the user can act on, one line goes to stderr, and the status is 2. Any other exception
    prints its traceback, and the status is 70. So no error ends with the status of a verdict.
    """
    from .cases.console import MOST_MESSAGE, OWN_ERROR, format_own_error, say, shorten
    from .cases.errors import GrucibleError
    from .cases.process import catch_terminations

    gc.set_threshold(*_THRESHOLDS)
    warnings.simplefilter("ignore")  # libraries' warnings are for those who develop with them
    sys.warnoptions.append("ignore")  # in child processes, too
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    catch_terminations()
    try:
        status = grucible(prog_name="grucible", standalone_mode=False, **extra) or 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        status = error.exit_code
    except click.ClickException as error:
        problem = " ".join(error.format_message().split()).removesuffix(".")
        problem = _JARGON.sub(r"is no \1; expected a number such as 5", problem)
        context = getattr(error, "ctx", None)
        remedy = f"; see: {context.command_path} --help" if context else ""
        say(f"grucible: {problem}{remedy}", err=True)
        status = error.exit_code
    except GrucibleError as error:
        say(f"grucible: {shorten(str(error), MOST_MESSAGE)}", err=True)
        status = 2
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        say(f"grucible: {place}{error.strerror or error}", err=True)
        status = 2
    except Exception as error:
        say(f"grucible: no verdict, for an error of its own: {format_own_error(error)}", err=True)
        status = OWN_ERROR
    raise SystemExit(status)


if __name__ == "__main__":
    main()
