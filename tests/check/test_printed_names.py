"""Names, commands and messages of others as they are printed: long ones, and those a shell or a page would obey."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import h5py
import pytest

from grucible.cases.console import format_command
from grucible.cases.errors import GrucibleError, RuntimeNotUsable
from grucible.check.runtimes.runtime import load_runtime
from grucible.vectors.hdf5_writing import write_text_attribute

from .conftest import HERE, Command
from .made import make_block, write_vectors
from .pages import held

LONG = "x" * 300
PLAIN = "openvino.GRUCell-3/plain/float32/lbr"
CELL = "openvino.GRUCell-3/made/float32"
NUMPY = f"{HERE / 'numpy_gru.py'}:run"
STRANGE = "exec: sh -c 'touch PWNED'"
"""What a stranger may give as its own name."""


def other_runtime(folder: Path, name: str = "wrong", said: str = "") -> str:
    """A runtime of the user's that is wrong, or says something."""
    file = folder / f"{name}.py"
    what = f"raise ValueError({said!r})" if said else "return {k: a + 1 for k, a in gru(q).items()}"
    file.write_text(
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        f"from numpy_gru import run as gru\ndef run(q): {what}\n"
    )
    return f"{file}:run"


def sections(page: Path, runtime: int = 0) -> dict[str, list[str]]:
    """The sections of the first failing case of a page, by title."""
    told = held(page.read_text(encoding="utf-8"), f"chunk-{runtime}-0")[0]["sections"]
    return {one["title"]: one["lines"] for one in told}


@pytest.mark.usefixtures("in_this_process")
def test_what_outputs_call_their_runtime_is_put_into_no_script(
    tmp_path: Path, command: Command
) -> None:
    pytest.importorskip("jinja2")
    vectors, outputs, page = (tmp_path / name for name in ("v.h5", "o.h5", "page.html"))
    write_vectors(vectors, make_block(["a"]))
    command("run", vectors, "--runtime", other_runtime(tmp_path), "-o", outputs)
    with h5py.File(outputs, "r+") as file:
        write_text_attribute(file, "runtime", STRANGE)
    ended = command("check", vectors, "--outputs", outputs, "--report", f"html={page}")
    assert ended.status == 1
    assert list(sections(page)) == ["Where it leaves the exact states"]
    [runtime] = held(page.read_text(encoding="utf-8"))["runtimes"]
    assert (runtime["asked"], runtime["outputs"]) == ("", str(outputs))


@pytest.mark.parametrize("name", [STRANGE, "x" * 8000])
def test_a_script_of_the_page_asks_what_the_user_named(
    name: str, tmp_path: Path, command: Command
) -> None:
    """A program may call itself anything; of several, each has its own."""
    pytest.importorskip("jinja2")
    vectors, page = tmp_path / "v.h5", tmp_path / "page.html"
    write_vectors(vectors, make_block(["a"]))
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        "from programs import header, question, say, zeros\nheader()\n"
        f"say('grucible 1\\nname ' + {name!r} + '\\nend\\n')\nwhile True: zeros(question())\n"
    )
    given = (f"exec: python3 {program}", other_runtime(tmp_path))
    both = [word for one in given for word in ("--runtime", one)]
    ended = command("check", vectors, *both, "--report", f"html={page}")
    assert (ended.status, ended.err) == (1, "")
    runtimes = held(page.read_text(encoding="utf-8"))["runtimes"]
    assert [one["asked"] for one in runtimes] == [*given]
    for number, called in enumerate((str(["python3", str(program)]), other_runtime(tmp_path))):
        script = "\n".join(sections(page, number)["A script for a bug report"])
        compile(script, "script", "exec")
        assert "PWNED" not in script
        assert called.replace("'", '"') in script.replace("'", '"')


@pytest.mark.parametrize("name", [LONG, f"{LONG}.py", f"{LONG}.py:run"])
def test_no_file_has_a_runtimes_name_of_more_letters_than_a_name_may_have(name: str) -> None:
    with pytest.raises(RuntimeNotUsable, match=f"^runtime .*{LONG}.*; .*expected ") as raised:
        load_runtime(name)
    assert "\n" not in str(raised.value)
    assert "OSError" not in str(raised.value)


@pytest.mark.parametrize("line", [f"check --runtime {LONG}", f"trace {PLAIN} --runtime {LONG}",
                                  f"show {PLAIN} --script {LONG}"])  # fmt: skip
def test_a_long_name_of_a_runtime_is_an_error_of_one_line(line: str, command: Command) -> None:
    said = command(*line.split()).said_in_one_line()
    assert f"runtime '{LONG}' is unknown; expected one of " in said


def test_a_program_with_a_long_name_is_not_started(command: Command) -> None:
    for name in (LONG, f"./{LONG}.py", f"./{LONG}.c"):
        ended = command("probe", f"exec: {name}")
        assert (ended.status, ended.err) == (1, "")
        assert "cannot be started: File name too long" in ended.out


@pytest.mark.parametrize("given", [{"vectors": LONG}, {"expect": LONG}])
def test_a_long_name_of_a_file_is_an_error_of_ours(given: dict[str, str]) -> None:
    from grucible.check.pytest_plugin.suite import load

    with pytest.raises(GrucibleError, match=f"^{LONG}: "):
        load(**given)  # type: ignore[arg-type]


def words(text: str, command: str) -> list[str]:
    """What a shell makes of the command of grucible's in a text, from there to the end of its line."""
    _, begin, rest = text.partition(f"grucible {command}")
    return shlex.split((begin + rest).partition("\n")[0])


@pytest.mark.usefixtures("in_this_process")
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


def test_commands_of_messages_hold_file_names_as_one_word(tmp_path: Path, command: Command) -> None:
    place = tmp_path / "my $(vectors)"
    made = ["grucible", "gen", "-o", str(place)]
    assert words(command("check", place, "--runtime", NUMPY).err, "gen") == made
    place.mkdir()
    assert words(command("check", place, "--runtime", NUMPY).err, "gen") == made


def test_a_command_line_for_a_shell() -> None:
    assert format_command("show", ["v.h5", "a/b"]) == "grucible show v.h5 a/b"
    said = format_command("trace", [Path("v 1.h5"), "a"], ["--runtime", "exec: ./my gru"])
    assert said == "grucible trace 'v 1.h5' a --runtime 'exec: ./my gru'"
    dashed = format_command("show", ["v.h5", "--script=exec: x"], ["--full"])
    assert dashed == "grucible show --full -- v.h5 '--script=exec: x'"


def test_what_may_be_meant_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = Path("my gru")
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for name, meant in (
        (str(program), "'exec: '\"'\"'my gru'\"'\"''"),
        ("a b.py", "'./a b.py:run'"),
    ):
        with pytest.raises(RuntimeNotUsable, match=re.escape(f"did you mean {meant}? ")):
            load_runtime(name)


@pytest.mark.parametrize("name", ["my_gru:class", "./my_gru.py:None", "my_gru:a b"])
def test_there_is_no_script_of_what_no_function_can_be_called(name: str, command: Command) -> None:
    said = command("show", PLAIN, "--script", name).said_in_one_line()
    assert f"{name.rpartition(':')[2]!r} is not the name of a function" in said


@pytest.mark.usefixtures("in_this_process")
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
