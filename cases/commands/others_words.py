"""What others say, runtimes, packages and their errors, in one line of bounded length."""

from __future__ import annotations

import json

MOST_MESSAGE = 8 << 10
"""So many bytes of a message, as JSON writes them out: a control character is 6."""
MOST_SENTENCE = 400
"""So many characters of an error that is told in a sentence, or of what a runtime says of itself."""
_LONGEST = 12
"""So many bytes JSON writes for a character at most."""


def one_line(text: str) -> str:
    """A text of someone else's as one line of printable UTF-8."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode("utf-8").split())


def bounded(message: str) -> str:
    """A message of MOST_MESSAGE bytes at most: of a longer one its head, and its tail, which often holds the
    cause."""
    if len(json.dumps(message)) <= MOST_MESSAGE:
        return message
    return shortened(message, MOST_MESSAGE // _LONGEST)


def text_of(error: BaseException) -> str:
    """What an error of someone else's says, in one line of bounded length."""
    try:
        return bounded(one_line(str(error)))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "an error that cannot be printed"


def error_sentence(error: BaseException) -> str:
    """An error of someone else's in one line of bounded length."""
    name, text = type(error).__name__, text_of(error)
    return shortened(f"{name}: {text}" if text else name)


def shortened(text: str, most: int = MOST_SENTENCE) -> str:
    """A text of someone else's in one line: where it is long its head and its tail, which often holds the
    cause."""
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most // 4]} … {line[-(most * 3 // 4) :]}"
