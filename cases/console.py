"""The console: printed lines, tables, progress, and other people's texts in one bounded line.

Importing this module is cheap: it imports rich only to draw tables and bars.
"""

from __future__ import annotations

import contextlib
import difflib
import math
import os
import re
import shlex
import sys
import time
import traceback
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

OWN_ERROR = 70
"""The exit status after a defect of grucible itself; EX_SOFTWARE of sysexits.h."""
SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable in which GitHub Actions names the file of the job summary."""
WORDS = "grucible.words"
"""The key of the command line's words in what click keeps of it."""
DEFAULTS = "grucible.defaults"
"""The key of a note on each option that a file gives, there."""
MOST_SENTENCE = 400
"""Maximum characters of a text within a sentence; an error may quote a whole tensor."""
MOST_MESSAGE = 2000
"""Maximum characters of a message from an error or a runtime; a report may hold one for each result."""
FIRST_SECONDS, LOG_SECONDS = 15.0, 30.0
"""Seconds until the first line about long work where no terminal shows a bar, and between lines."""
WAIT_SECONDS = 5.0
"""Seconds after which what is waited for is named."""
_waits: dict[str, float] = {}
"""Since when each thing is waited for, by name."""
_MOVING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of Unicode that a terminal obeys or does not draw.

Control characters, marks that change the direction of writing, surrogates, line and paragraph separators.
"""
_WORKFLOW_COMMAND = re.compile(r"^(\s*):(?=:)|(?<=##)\[", re.MULTILINE)
"""The beginnings of commands to GitHub Actions: `::error::…` at a line's start, `##[error]…` anywhere."""
_SHORT = re.compile(r"^(b?)fp?(?=\d)")
"""The beginning of short names of types: fp16, f32, bf16."""
_STYLES: dict[str, dict[str, Any]] = {
    "verdict": {"bold": True},
    "right": {"fg": 33},
    "wrong": {"fg": 208},
    "finding": {"fg": 208},
    "case": {"dim": True},
}
"""The styles of what stands out in a line; the blue and the orange of the page."""
_COLOURED = re.compile(
    r"(?P<verdict>^(?:conforms|does not conform|incomplete)\b[^:]*)"
    r"|(?P<case>\b[a-z]+\.[\w-]+/[^\s:,;]+)"
    r"|(?P<right>\b[\d,]+ (?:of [\d,]+ )?(?:cases )?(?:passed|right)\b)"
    r"|(?P<wrong>\b[\d,]+ (?:failed|errors?|missing|wrong|crashed|failures?)\b)"
    r"|(?P<finding>(?<= )\[[a-z][^\]\s]*(?:, [^\]\s]+)*\])"
)
_WIDEST = 10_000
"""Maximum characters of a table's line; ids of cases are long."""


def escape(text: str) -> str:
    r"""Write out every character that a terminal would obey, such as \x1b or \u202e."""
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if unicodedata.category(character) in _MOVING
        else character
        for character in text
    )


def escape_commands(text: str) -> str:
    r"""Escape commands to GitHub Actions: `::` at a line's start becomes \x3a:, and `##[` becomes ##\x5b."""
    return _WORKFLOW_COMMAND.sub(lambda at: r"\x5b" if at[1] is None else rf"{at[1]}\x3a", text)


def suggest(word: str, known: Iterable[str], text: str = "") -> str:
    """Suggest the known word that begins with a mistaken one, or is most like it; "" where none is.

    Of a `text` that holds the mistaken word, it suggests the whole.
    """
    names = {one.lower(): one for one in known}
    some = _SHORT.sub(r"\1float", word[:MOST_SENTENCE].lower())
    near = sorted((one for one in names if some and one.startswith(some)), key=len)
    near = near or difflib.get_close_matches(some, names, 1)
    alike = [one for one in names if some and one[:2] == some[:2]]
    near = near or difflib.get_close_matches(some, alike, 1, 0.5)
    return f" (did you mean {(text or word).replace(word, names[near[0]], 1)!r}?)" if near else ""


class Name(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """The type of an option that takes one of several names, and suggests one for another word."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Find the name."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            near = suggest(str(value), map(str, self.choices))
            raise click.BadParameter(error.message.removesuffix(".") + near, ctx, param) from None


def find_page(name: str) -> str:
    """Find a page, such as cases/README.md: in the checkout one is in, or where grucible is installed."""
    return name if Path(name).is_file() else str(Path(__file__).parents[1] / name)


def say(line: str = "", *, err: bool = False) -> None:
    """Print an escaped line to standard output or, with `err`, to standard error.

    On GitHub Actions, commands in the line are escaped, too.
    """
    shown = escape(line)
    if os.environ.get(SUMMARY) or os.environ.get("GITHUB_ACTIONS"):
        shown = escape_commands(shown)
    if has_colour(sys.stderr if err else sys.stdout):
        shown = _COLOURED.sub(_colour, shown)
    put(f"{shown}\n", err=err)


def has_colour(stream: TextIO) -> bool:
    """Say whether lines have colours: by --color, NO_COLOR, FORCE_COLOR, or else on a terminal."""
    context = click.get_current_context(silent=True)
    if context and context.color is not None:
        return context.color
    if os.environ.get("NO_COLOR") or os.environ.get("FORCE_COLOR"):
        return not os.environ.get("NO_COLOR")
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _colour(found: re.Match[str]) -> str:
    return click.style(found[0], **_STYLES[found.lastgroup or ""])


def put(text: str, *, err: bool = False) -> None:
    """Print a text unchanged, for programs. Once the reader has closed the pipe, print nothing more.

    Raises OSError if standard output cannot be written, for example on a full disk.
    """
    stream = sys.stderr if err else sys.stdout
    try:
        click.echo(text, nl=False, err=err, color=has_colour(stream) or stream.isatty())
    except OSError as error:
        if not (err or isinstance(error, BrokenPipeError)):
            raise OSError(error.errno, error.strerror, "standard output") from None
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def join_lines(text: str) -> str:
    """Put someone else's text in one line of valid UTF-8."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode("utf-8").split())


def shorten(text: str, most: int = MOST_SENTENCE) -> str:
    """Put a text in one line of at most about `most` characters.

    A longer text keeps its beginning and its end; the end often names the cause.
    """
    line = join_lines(text)
    return line if len(line) <= most else f"{line[: most // 4]} … {line[-(most * 3 // 4) :]}"


def format_message(error: BaseException) -> str:
    """Put the message of someone else's error in one bounded line."""
    try:
        return shorten(click.unstyle(str(error)), MOST_MESSAGE)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "an error that cannot be printed"


def format_error(error: BaseException) -> str:
    """Put the type and message of someone else's error in one bounded line."""
    name, text = type(error).__name__, format_message(error)
    return shorten(f"{name}: {text}" if text else name)


def format_own_error(error: Exception) -> str:
    """Print a traceback of grucible's own error to standard error; return a line that asks for a report."""
    from .. import __version__

    for line in "".join(traceback.format_exception(error)).splitlines():
        say(line, err=True)
    return (
        f"{format_error(error)}. Please report it in grucible's issue tracker, with the traceback, the "
        f"whole command and version {__version__}"
    )


def format_command(
    command: str, operands: Iterable[str | Path], options: Iterable[str | Path] = ()
) -> str:
    """Write a command of grucible's for a shell, such as `grucible show v.h5 'a b'`."""
    return shlex.join(["grucible", command, *map(str, operands), *map(str, options)])


def format_own_command(*more: str) -> str:
    """Write the command that runs now for a shell, with some words more; "" where none runs."""
    context = click.get_current_context(silent=True)
    words = context.meta.get(WORDS) if context else None
    return shlex.join(["grucible", *words, *more]) if words else ""


def format_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()
) -> str:
    """Align rows of cells under a header, in columns two blanks apart; align columns in `right` right.

    An empty header is not printed. Cells are escaped; lines have no blanks at their ends.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=bool(header), header_style="")
    cells = [[Text(escape(cell)) for cell in row] for row in rows]
    for number in range(max(map(len, [header, *cells]))):
        name = Text(escape(header[number])) if number < len(header) else ""
        table.add_column(name, justify="right" if number in right else "left", no_wrap=True)
    for row in cells:
        table.add_row(*row)
    console = Console(width=_WIDEST, color_system=None)
    with console.capture() as printed:
        console.print(table)
    return "\n".join(line.rstrip() for line in printed.get().splitlines())


@contextlib.contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Let `longest_wait` name what the body of the `with` waits for."""
    _waits[what] = time.monotonic()
    try:
        yield
    finally:
        _waits.pop(what, None)


def longest_wait() -> str:
    """Say what is waited for the longest, in any thread; "" if for less than WAIT_SECONDS."""
    now = time.monotonic()
    what, since = min([*_waits.items()], key=lambda one: one[1], default=("", math.inf))
    return f"waiting {now - since:.0f} s for {shorten(what)}" * (now - since >= WAIT_SECONDS)


class Progress:
    """The number of cases that are done: a bar on a terminal; elsewhere a line now and then."""

    def __init__(self, what: str, cases: int | None, bar: Bar | None = None) -> None:
        self._bar, self._words, self._done, self._cases = bar, what, 0, cases
        self._doing = ""

    def advance(self, cases: int, words: str = "") -> None:
        """Count `cases` more as done, and show other words, if any."""
        self.tell(words or self._words, self._done + cases)

    def tell(self, words: str, cases: int) -> None:
        """Show words before the bar, and that `cases` in all are done."""
        self._words, self._done, self._doing = words, cases, ""
        if self._bar:
            self._bar.update(self._bar.task_ids[0], description=words, completed=cases)

    def begin(self, words: str) -> None:
        """Show, until more cases are done, what is done that counts none."""
        self._doing = words
        if self._bar:
            self._bar.update(self._bar.task_ids[0], description=words)

    def say(self, line: str, *, err: bool = False) -> None:
        """Print a line; the bar goes on below it."""
        if self._bar:
            put("\r\033[K", err=True)
        say(line, err=err)

    def log_until(self, ended: Event) -> None:
        """Print to standard error now and then how far it is; below a bar, what is waited for."""
        of = "" if self._cases is None else f" of {self._cases:,}"
        seconds, before = FIRST_SECONDS, 0
        while not ended.wait(seconds):
            seconds, waits = LOG_SECONDS, longest_wait()
            still = "still at work" * (self._done == before > 0 and not self._doing)
            before = self._done
            done = f"{self._done:,}{of} cases" if self._done else "nothing done yet"
            words = [self._doing or f"{self._words}: {done}", waits or still]
            if waits or not self._bar:
                self.say(f"grucible: {', and '.join(filter(None, words))}", err=True)


@contextlib.contextmanager
def show_progress(what: str, cases: int | None) -> Iterator[Progress]:
    """Show the progress of `what` through some cases (None: without end, or not counted)."""
    drawn = cases != 0 and sys.stderr.isatty()
    with _make_bar(what, cases) if drawn else contextlib.nullcontext() as bar:
        progress, ended = Progress(what, cases, bar), Event()
        log = Thread(target=progress.log_until, args=(ended,), daemon=True)
        log.start()
        try:
            yield progress
        finally:
            ended.set()
            log.join()
            progress.advance(0)


def _make_bar(what: str, cases: int | None) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn
    from rich.progress import Progress as Bar

    words, _, *counts = Bar.get_default_columns()
    columns = (words, BarColumn(bar_width=None), *counts, MofNCompleteColumn())
    console = Console(stderr=True)
    bar = Bar(*columns, console=console, redirect_stdout=False, redirect_stderr=False, expand=True)
    bar.add_task(what, total=cases)
    return bar
