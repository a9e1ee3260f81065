"""Names, commands and messages of others as they are printed: long ones, and those a shell would obey."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from grucible.cases.console import format_command

from .conftest import HERE, Command
from .made import make_block, write_vectors

PLAIN = "openvino.GRUCell-3/plain/float32/lbr"
CELL = "openvino.GRUCell-3/made/float32"
pytestmark = pytest.mark.usefixtures("in_this_process")


def other_runtime(folder: Path, said: str = "") -> str:
    """A runtime of the user's that is wrong, or says something."""
    file = folder / "wrong.py"
    what = f"raise ValueError({said!r})" if said else "return {k: a + 1 for k, a in gru(q).items()}"
    file.write_text(
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        f"from numpy_gru import run as gru\ndef run(q): {what}\n"
    )
    return f"{file}:run"


def test_a_command_line_for_a_shell() -> None:
    assert format_command("show", ["v.h5", "a/b"]) == "grucible show v.h5 a/b"
    line = format_command("trace", [Path("v 1.h5"), "a"], ["--runtime", "exec: ./my gru"])
    assert line == "grucible trace 'v 1.h5' a --runtime 'exec: ./my gru'"
    dashed = format_command("show", ["v.h5", "--script=exec: x"], ["--full"])
    assert dashed == "grucible show --full -- v.h5 '--script=exec: x'"


def words(text: str, command: str) -> list[str]:
    """What a shell makes of the command of grucible's in a text, from there to the end of its line."""
    _, begin, rest = text.partition(f"grucible {command}")
    return shlex.split((begin + rest).partition("\n")[0])


@pytest.mark.parametrize("name", ["$(touch PWNED)", "`touch PWNED`; 'x", "a b"])
def test_a_command_that_shows_a_case_holds_its_id_as_one_word(
    name: str, tmp_path: Path, command: Command
) -> None:
    vectors, summary = tmp_path / "my $(vectors).h5", tmp_path / "summary.md"
    write_vectors(vectors, make_block([name]))
    ended = command(
        "check", vectors, "--runtime", other_runtime(tmp_path), "--report", f"github={summary}"
    )
    assert words(ended.out, "show") == ["grucible", "show", str(vectors), f"{CELL}/{name}"]
    [line] = [one for one in summary.read_text().splitlines() if one.startswith("Start with ")]
    [code] = re.findall(r"^Start with (`+)( ?)(.*?)\2\1$", line)
    assert words(code[2], "show") == ["grucible", "show", str(vectors), f"{CELL}/{name}"]
    assert max(map(len, re.findall("`+", code[2])), default=0) < len(code[0])


@pytest.mark.parametrize("name", ["my_gru:class", "./my_gru.py:None", "my_gru:a b"])
def test_there_is_no_script_of_what_no_function_can_be_called(name: str, command: Command) -> None:
    said = command("show", PLAIN, "--script", name).said_in_one_line()
    assert f"{name.rpartition(':')[2]!r} is not the name of a function" in said


def test_what_a_runtime_says_becomes_no_link_and_calls_nobody(
    tmp_path: Path, command: Command
) -> None:
    vectors, summary = tmp_path / "v.h5", tmp_path / "summary.md"
    write_vectors(vectors, make_block(["a"]))
    linked = ["https://x.example/?a=1|2", "www.x.example", "me@x.example", "@octocat", "(see-#12)",
              "HTTPS://y.example/<b>", "gh-7"]  # fmt: skip
    runtime = other_runtime(tmp_path, said=f"`{'` *'.join(linked)} plain * text")
    assert command("check", vectors, "--runtime", runtime, "--report", f"github={summary}").status
    told = summary.read_text().partition("<details>")[2]
    outside = re.sub(r"(?<!\\)`[^`]*`", "", told.replace(r"\`", ""))
    assert not re.search(r"://|www\.|@|#\d|gh-\d|<b>", outside, re.IGNORECASE)
    assert r" plain \* text" in outside
    for word in ("*@octocat", "*www.x.example", "*HTTPS://y.example/<b>"):
        assert f"`{word}`" in told
