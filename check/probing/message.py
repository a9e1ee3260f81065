"""What a program wrote, taken apart as far as that goes; and what is wrong whatever it should have been."""

from __future__ import annotations

from dataclasses import dataclass

from ..protocol.header import END
from .conversation import Heard
from .dump import dumped, is_text, line_of_text
from .step import Cause, Step

MOST_QUOTED = 60
"""So many characters of what a program wrote stand in a sentence."""
FEW = (4, 2)
"""So many rows are shown of the beginning and of the end of bytes that are not a header."""

TO_STDERR = (
    "standard output is for the protocol alone: print to standard error instead (fprintf(stderr, …), "
    "std::cerr, eprintln!, console.error, print(…, file=sys.stderr))"
)
FLUSH = (
    "flush standard output after the last byte of each message: fflush(stdout) in C and Swift, "
    "std::cout.flush() in C++, io::stdout().flush() in Rust, sys.stdout.flush() in Python"
)
BINARY = (
    "write bytes and not text. On Windows, first of all switch standard input and output to binary mode: "
    "_setmode(_fileno(stdout), _O_BINARY), and the same of stdin, from <io.h> and <fcntl.h>. Elsewhere "
    "look for what writes \\r\\n, or translates line ends"
)
ENDS = 'the header\'s last line is the word `end` alone, and a line feed: write "end\\n"'


@dataclass(frozen=True)
class Message:
    """The lines of a header without their line ends, whether `end` came after them, and what follows."""

    lines: list[bytes]
    ended: bool
    rest: bytes


def taken_apart(data: bytes) -> Message:
    """A message as far as it goes: without `end`, `rest` is what has no line feed after it."""
    lines: list[bytes] = []
    at = 0
    while (stop := data.find(b"\n", at)) >= 0:
        line = data[at:stop].removesuffix(b"\r")
        at = stop + 1
        if line == END.encode():
            return Message(lines, True, data[at:])
        lines.append(line)
    return Message(lines, False, data[at:])


def wrong_step(
    name: str, cause: Cause, heard: Heard, expected: tuple[str, ...], announced: int = 0
) -> Step:
    """The step of a message that is not as it should be, with the bytes that came: its header, the
    `announced` bytes that should follow it, and more."""
    message = taken_apart(heard.data)
    start = len(heard.data) - len(message.rest) if message.ended else len(heard.data)
    stop = start + announced
    seen = dumped(heard.data[:start]) or ("not a byte",)
    seen += dumped(heard.data[start:stop], *FEW, start)
    if heard.data[stop:]:
        seen += ("more than was announced:", *dumped(heard.data[stop:], *FEW, stop))
    if heard.afterwards:
        seen += ("and when its input had ended:", *dumped(heard.afterwards, *FEW))
    return Step(name, "wrong", cause.what, (), seen, expected, cause.remedy)


def quoted(data: bytes) -> str:
    """Some bytes within a sentence."""
    return f"'{line_of_text(data, MOST_QUOTED)}'"


def other_writing(data: bytes) -> Cause | None:
    """The cause where bytes are not the protocol's kind of text at all, from the first one on."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or data[1:2] == b"\0" < data[0:1]:
        return Cause(
            "it writes UTF-16, two bytes for each character",
            "write UTF-8, which for these words is ASCII: a byte for each character",
        )
    if data.startswith(b"\xef\xbb\xbf"):
        return Cause(
            "three bytes stand before its first line, the byte order mark ef bb bf",
            "write UTF-8 without a byte order mark",
        )
    if data.lstrip().startswith((b"{", b"[")):
        return Cause(
            "it answers in JSON",
            "a message is lines of text that end with `end`, then raw bytes, and is not JSON",
        )
    return None


def no_end(message: Message) -> Cause | None:
    """The cause where a header that began as it should has no line `end`."""
    if message.ended:
        return None
    for line in [*message.lines, message.rest]:
        if line.strip().lower() == b"end":
            return Cause(f"its header ends with {quoted(line)} instead of the line `end`", ENDS)
        if line.startswith(b"end") and not is_text(line):
            return Cause("after `end` there is no line feed before the bytes", ENDS)
    return Cause("its header has no line `end`", ENDS)


def printed(data: bytes, where: str) -> Cause:
    """The cause where text that is no message came from a program."""
    return Cause(f"it printed {quoted(data)} to standard output {where}", TO_STDERR)


def carriage_returns(data: bytes) -> Cause | None:
    r"""The cause where lines end with \r\n, which is passed over in a header, but not in bytes."""
    header = data[: data.find(b"end\r\n") + 5]
    if b"\r\n" not in header:
        return None
    return Cause(
        r"its lines end with \r\n: among the bytes of a tensor, that will be a byte too many",
        BINARY,
    )


def late_flush(what: str) -> Cause:
    """The cause where something came only when a program's input had ended."""
    return Cause(
        f"{what} came only when its input had ended: standard output is probably not flushed, or it "
        "reads to the end of its input before it answers",
        f"{FLUSH}; and read no more than was announced, never to the end of input",
    )
