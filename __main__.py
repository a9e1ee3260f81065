"""The `grucible` command: one click group that imports a command's room when it is asked for."""

from __future__ import annotations

import signal

# Ctrl-C ends the imports below as it ends a program in C: without a traceback
if _OURS := signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gc
import os
import sys
import warnings
from importlib import import_module
from typing import Any, NoReturn

import click

_COMMANDS = {
    "cases": ("cases", "Count the cases and the pairs of attribute values they cover."),
    "gen": ("gen", "Generate vector files: cases with their exact answers."),
    "check": ("check", "Judge a runtime, or outputs made elsewhere, by vectors."),
    "compare": ("check", "Show what changed between two reports of check."),
    "probe": ("check.probing", "Say what is wrong with how a program speaks the protocol."),
    "profile": ("check", "Show what a runtime can do, feature by feature."),
    "run": ("check", "Run a runtime on vectors and keep its outputs."),
    "ask": ("check", "Write questions into files, for devices that no pipe leads to."),
    "show": ("check", "Show one case."),
    "shrink": ("check", "Find the smallest case that still fails the same way."),
    "trace": ("check", "Show every step of one case, and where a runtime leaves it."),
    "score": ("check", "Show which misreadings of the specification vectors would catch."),
    "export": ("vectors", "Export vectors to other formats: raw, npz, onnx, openvino, webnn."),
    "import": ("check.importing", "Make vectors of cases in other formats: exports, ONNX's tests."),
    "answer": ("check.importing", "Answer one question exactly, from inputs in an .npz file."),
    "audit": ("check", "Show what other suites, imported, would never notice."),
    "runtimes": ("check", "List the runtimes grucible knows, and whether they are installed."),
}
MOST_SAID = 2000
"""So many characters of an error are said."""
COLLECTED = (100_000, 50, 100)
"""The collector of circles runs when there are so many new objects more than have gone, and looks at old ones
after so many times. Modules and catalogues stay: walking them is an eighth of a small check."""


class _Rooms(click.Group):
    """A group whose commands live in the rooms' `cli.py`, imported only when one is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        from .cases.commands.early_end import look_out_for_exit

        look_out_for_exit()
        room, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(
            import_module(f".{room}.cli", __package__), f"{cmd_name}_command"
        )
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click would exit with 1, as if it were a verdict
            _end_interrupted()


@click.group(cls=_Rooms, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="grucible")
def grucible() -> None:
    """Conformance vectors for GRU operators, and the judge that applies them.

    \b
    Exit status
      0    done; check: it conforms, or every failure was expected
      1    check: it does not conform, or the verdict is incomplete, or
           an expectation is stale;
           compare: something is worse; trace: the case does not pass;
           probe: something is wrong;
           score: too few cases catch something; gen --verify: not as published
      2    bad usage, or input that cannot be used
      70   an error of grucible's own
      130  interrupted by Ctrl-C; 129: ended by SIGHUP; 143: by SIGTERM
    """


def main(**extra: Any) -> None:
    """Run the command. Whatever the user can act on is one line on stderr and exit status 2; any
    other exception is grucible's own error, one line too, and exit status 70. Nothing else ends it with the
    status of a verdict.

    `extra` goes to click.
    """
    from .cases.commands.early_end import never_a_verdict

    with never_a_verdict():
        _run(extra)


def _run(extra: dict[str, Any]) -> NoReturn:
    if 0 < gc.get_threshold()[0] < COLLECTED[0]:
        gc.set_threshold(*COLLECTED)
    from .cases.commands.interrupts import acted_on, remember_interrupts, was_interrupted
    from .cases.commands.memory import lacks_memory
    from .cases.commands.own_error import uncaught, where_nothing_is
    from .cases.commands.terminal import say, stand_in
    from .cases.errors import GrucibleError

    stand_in()
    for name in ("HDF5_DRIVER", "HDF5_DRIVER_CONFIG"):  # another driver may crash the HDF5 library
        os.environ.pop(name, None)
    warnings.simplefilter("ignore")  # of libraries, for who develops with them
    sys.warnoptions.append("ignore")  # in processes that are started, too: the last one counts
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would hide how a process ended
    if _OURS:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        remember_interrupts()
    try:
        raise SystemExit(grucible(prog_name="grucible", standalone_mode=False, **extra) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        raise SystemExit(error.exit_code) from None
    except click.ClickException as error:
        say(f"grucible: {_usage_error(error)}", err=True)
        raise SystemExit(error.exit_code) from None
    except GrucibleError as error:
        said = " ".join(str(error).splitlines())
        if len(said) > MOST_SAID:
            said = f"{said[: MOST_SAID // 2]} … {said[-MOST_SAID // 2 :]}"
        say(f"grucible: {said}{where_nothing_is()}", err=True)
        raise SystemExit(2) from None
    except Exception as error:
        if was_interrupted() and not (isinstance(error, OSError) or lacks_memory(error)):
            _end_interrupted()
        acted_on()
        said, status = uncaught(error)
        say(f"grucible: {said}", err=True)
        raise SystemExit(status) from None


def _end_interrupted() -> NoReturn:
    """Say that Ctrl-C ended it, and exit with the status of that, whoever presses it again. Where OpenBLAS
    did, for lack of threads, that is said."""
    from .cases.commands.interrupts import (
        NO_THREADS,
        acted_on,
        interruption_status,
        was_for_lack_of_threads,
    )
    from .cases.commands.terminal import say

    acted_on()
    if was_for_lack_of_threads():
        say(f"grucible: {NO_THREADS}", err=True)
        raise SystemExit(2) from None
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = interruption_status()
    # where Ctrl-C arrived in a text that Python executed, as for a dataclass, it would end by the signal all
    # the same; executing another text makes it forget that
    exec("")
    say("interrupted", err=True)
    raise SystemExit(status) from None


def _usage_error(error: click.ClickException) -> str:
    """What click finds wrong with a command line, in one line that says where to read on."""
    said = " ".join(error.format_message().split()).removesuffix(".")
    context = getattr(error, "ctx", None)
    return f"{said}; see: {context.command_path} --help" if context else said


if __name__ == "__main__":
    main()
