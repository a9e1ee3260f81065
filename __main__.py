"""The `grucible` command: one click group that imports a command's room when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

_COMMANDS = {
    "cases": ("cases", "Count the cases and the pairs of attribute values they cover."),
    "gen": ("gen", "Generate vector files: cases with their exact answers."),
    "check": ("check", "Judge a runtime, or outputs made elsewhere, by vectors."),
    "run": ("check", "Run a runtime on vectors and keep its outputs."),
    "show": ("check", "Show one case."),
    "score": ("check", "Show which misreadings of the specification vectors would catch."),
    "runtimes": ("check", "List the runtimes grucible knows, and whether they are installed."),
}


class _Rooms(click.Group):
    """A group whose commands live in the rooms' `cli.py`, imported only when one is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        room, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(
            import_module(f".{room}.cli", __package__), f"{cmd_name}_command"
        )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in _COMMANDS.items()])


@click.group(cls=_Rooms, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="grucible")
def grucible() -> None:
    """Conformance vectors for GRU operators, and the judge that applies them.

    Exit status 0: conforms, or done. 1: does not conform. 2: bad usage or unusable input.
    """


def main(**extra: Any) -> None:
    """Run the command; whatever the user can act on is one line on stderr, exit status 2."""
    from .cases.errors import GrucibleError

    try:
        grucible(prog_name="grucible", **extra)
    except GrucibleError as error:
        click.echo(f"grucible: {' '.join(str(error).splitlines())}", err=True)
        raise SystemExit(2) from None
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"grucible: {place}{error.strerror or error}", err=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
