"""Programs that speak the protocol, or break it: `python programs.py NAME`.

Each behaves as its name says on every question whose id has `bad` in it, and answers zeros on others.
Nothing of grucible is imported: this is what a program of somebody else may do.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable

Lines = list[str]
Program = Callable[[Lines], None]


def header() -> Lines:
    lines: Lines = []
    for line in sys.stdin.buffer:
        if line == b"end\n":
            return lines
        lines.append(line.decode().rstrip("\n"))
    sys.exit(0)


def question() -> Lines:
    lines = header()
    for line in lines:
        if line.startswith("input "):
            sys.stdin.buffer.read(int(line.split()[-1]))
    return lines


def say(*parts: str | bytes) -> None:
    for part in parts:
        sys.stdout.buffer.write(part.encode() if isinstance(part, str) else part)
    sys.stdout.buffer.flush()


def zeros(lines: Lines) -> None:
    wanted = [line for line in lines if line.startswith("output ")]
    say("\n".join(["ok", *wanted, "end", ""]), *(bytes(int(w.split()[-1])) for w in wanted))


def forever() -> None:
    while True:
        time.sleep(60)


def close_and_sleep(_: Lines) -> None:
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    forever()


def close_output_and_sleep(_: Lines) -> None:
    os.close(1)
    forever()


def crash_after_fork(_: Lines) -> None:
    """The process that is left holds the pipes."""
    if os.fork() == 0:
        forever()
    os.abort()


def flood(_: Lines) -> None:
    while True:
        say("x" * 4096)


def flood_of_empty_lines(_: Lines) -> None:
    while True:
        say("\n" * 4096)


def flood_of_bytes(_: Lines) -> None:
    say("ok\noutput Ho float32 2x2 16\nend\n")
    while True:
        say(bytes(4096))


def flood_of_complaints(lines: Lines) -> None:
    for _ in range(1 << 12):
        os.write(2, b"complaint " * 400 + b"\n")
    zeros(lines)


def real_time_signal(_: Lines) -> None:
    os.kill(os.getpid(), signal.SIGRTMIN + 5)


def stop(_: Lines) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def shout_and_die(_: Lines) -> None:
    os.write(2, b"\x1b[2J\x1b]0;owned\x07out of cheese\n")
    os._exit(7)


HO = "output Ho float32 2x2 16"
WORDS: dict[str, str | bytes] = {
    "nothing_said": "end\n",
    "prose": "Hello, world\nend\n",
    "prose_first": f"loading weights\nok\n{HO}\nend\n" + "\0" * 16,
    "binary": bytes(range(256)) + b"\nend\n",
    "no_outputs": "ok\nend\n",
    "other_name": "ok\noutput Hq float32 2x2 16\nend\n" + "\0" * 16,
    "escape_in_name": "ok\noutput \x1b[2J float32 2x2 16\nend\n" + "\0" * 16,
    "one_more": f"ok\n{HO}\noutput Y float32 1 4\nend\n" + "\0" * 20,
    "twice": f"ok\n{HO}\n{HO}\nend\n" + "\0" * 32,
    "other_shape": "ok\noutput Ho float32 4 16\nend\n" + "\0" * 16,
    "huge": "ok\noutput Ho float32 1000000x1000000000 4000000000000000\nend\n",
    "many_lines": "ok\n" + "comment\n" * 20_000 + f"{HO}\nend\n" + "\0" * 16,
    "long_line": "error " + "x" * 100_000 + "\nend\n",
    "more_bytes": f"ok\n{HO}\nend\n" + "\0" * 17,
    "another_answer": (f"ok\n{HO}\nend\n" + "\0" * 16) * 2,
    "not_utf8": b"error \xff\xfe\x80\nend\n",
    "escape": "error \x1b[2J\x1b[1;32mconforms: 9 of 9\nend\n",
}
SHORT = {"half_a_header": f"ok\n{HO}\n", "half_the_bytes": f"ok\n{HO}\nend\n" + "\0" * 8}
ACTIONS = (
    close_and_sleep, close_output_and_sleep, crash_after_fork, flood, flood_of_empty_lines, flood_of_bytes,
    flood_of_complaints, real_time_signal, stop, shout_and_die,
)  # fmt: skip
AFTERWARDS: dict[str, Callable[[], object]] = {"gone": lambda: os._exit(0), "asleep": forever}


def writes(words: str | bytes, afterwards: Callable[[], object] = lambda: None) -> Program:
    def answer(_: Lines) -> None:
        say(words)
        afterwards()

    return answer


PROGRAMS: dict[str, Program] = {
    **{name: writes(words) for name, words in WORDS.items()},
    **{
        f"{name}_and_{end}": writes(words, then)
        for name, words in SHORT.items()
        for end, then in AFTERWARDS.items()
    },
    **{action.__name__: action for action in ACTIONS},
}


def main() -> None:
    header()
    say("grucible 1\nsomething of a later version\nend\n")
    while True:
        lines = question()
        PROGRAMS.get(lines[0].rpartition("bad-")[2], zeros)(lines)


if __name__ == "__main__":
    main()
