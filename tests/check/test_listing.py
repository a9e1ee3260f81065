"""`grucible check --write-expect FILE`: the list of what fails now, and what becomes of one that is there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from printed import sentence_of

from grucible import GrucibleError, verify
from grucible.check.diagnosis.finding import Diagnosis, Finding
from grucible.check.expecting.globs import covering
from grucible.check.expecting.reading import load_expectations
from grucible.check.judging.expectations import says
from grucible.check.judging.sayable import UNEXPLAINED
from grucible.check.listing import groups as grouping
from grucible.check.listing import writing
from grucible.check.listing.groups import groups, shared
from grucible.gen.variants.curves import KNOTS, with_curve

from .conftest import HERE, Command
from .numpy_gru import run

SELECT = (
    "--select",
    "openvino.GRUCell-3/plain/float32/*",
    "--select",
    "openvino.GRUCell-3/plain/float64/*",
)
PLAIN = "openvino.GRUCell-3/plain"
PLAIN_FILE = HERE.parents[1] / "vectors" / "openvino" / "gru_cell" / "plain.h5"
pytestmark = pytest.mark.usefixtures("in_this_process")

RUNTIME = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
from numpy_gru import run as answer
def run(question):
    what = question.id.rpartition("/")[2]
    if what == "noB" and RAISES:
        raise ValueError(f"no B of this operator in {{question.dtype}}")
    return answer(question, mistake="clip ignored" if "clip0.5" in what and IGNORED else "")
"""


def runtime(folder: Path, *, raises: bool = False, ignored: bool = True) -> str:
    """A runtime that ignores clip, or raises an error where B is missing."""
    name = f"runtime_{raises}_{ignored}.py"
    (folder / name).write_text(f"RAISES, IGNORED = {raises}, {ignored}\n{RUNTIME}")
    return f"{folder / name}:run"


def test_what_is_written_is_expected(tmp_path: Path, command: Command) -> None:
    """And one more failure is not; one that is repaired makes its entry stale."""
    file = tmp_path / "e.yaml"
    written = command(
        "check", PLAIN_FILE, "--runtime", runtime(tmp_path, raises=True), "--write-expect", file
    )
    assert written.status == 0
    assert "e.yaml: 2 entries: 2 new, 0 kept, 0 taken out" in written.err
    assert "all of them expected" in sentence_of(written.out)
    [error, ignored] = load_expectations(file)
    assert error.message == ("ValueError: no B of this operator in",)
    assert error.diagnosis == ()
    assert error.cases == "*/noB"
    assert (ignored.cases, ignored.diagnosis, ignored.message) == (
        "*clip0.5*",
        ("clip-ignored",),
        (),
    )
    assert ignored.reason.startswith("clip ignored")
    assert ignored.link == ""
    expect = ("--expect", file)
    assert (
        command("check", PLAIN_FILE, "--runtime", runtime(tmp_path, raises=True), *expect).status
        == 0
    )
    one_more = tmp_path / "more.py"
    one_more.write_text(
        (tmp_path / "runtime_True_True.py").read_text().replace('== "noB"', 'in ("noB", "default")')
    )
    assert command("check", PLAIN_FILE, "--runtime", f"{one_more}:run", *expect).status == 1
    repaired = command(
        "check", PLAIN_FILE, "--runtime", runtime(tmp_path, raises=False), "--expect", file
    )
    assert repaired.status == 1
    assert "*/noB: every case of it passes" in " ".join(repaired.out.split())


MINE = """\
# about this list

# of clip
- cases: "{plain}/*/clip0.5"    # the plain one
  diagnosis: clip-ignored
  reason: >-
    our clip is
    not there yet
  link: https://example.org/1

# stands by itself

# goes with it
- {{cases: "*/gone", reason: it went}}
# last
- cases: "*/noB"
  reason: B is needed
"""


def test_coarse_arithmetic_and_a_function_that_is_none_known_can_be_read_again(
    tmp_path: Path, command: Command
) -> None:
    """The names that the diagnosis has for them are no misreadings': the list says a class, and unexplained."""
    code = tmp_path / "coarse.py"
    code.write_text(
        f"import sys\nsys.path.insert(0, {str(HERE)!r})\nfrom numpy_gru import in_float32 as run\n"
    )
    file = tmp_path / "coarse.yaml"
    asked = ("check", "--runtime", f"{code}:run", *SELECT)
    assert command(*asked, "--write-expect", file).status == 0
    [coarse] = load_expectations(file)
    assert (coarse.observed, coarse.diagnosis) == (("float32",), ())
    assert command(*asked, "--expect", file).status == 0

    wrong = verify(
        runtime=lambda question: {name: array + 1 for name, array in run(question).items()},
        select=(SELECT[1],),
        diagnosis=False,
    )
    curved = with_curve("tanh", [0.125] * len(KNOTS))
    said = "tanh computed as another function: by 0.13 too large"
    finding = Finding((curved.name,), "misreading", said, 9, of=9, operator="openvino.GRUCell-3")
    found = Diagnosis([finding], by_case={result.id: finding for result in wrong.results})
    [group] = groups(wrong.results, found)
    assert (group.expected.reason, group.expected.diagnosis) == (said, (UNEXPLAINED,))


def test_writing_again_changes_only_what_changed(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(MINE.format(plain=PLAIN))
    told = command(
        "check", PLAIN_FILE, "--runtime", runtime(tmp_path, raises=True), "--write-expect", file
    )
    assert told.status == 0
    changed = file.read_text()
    mine, gone = MINE.format(plain=PLAIN).split("# goes with it\n")
    last = gone[gone.index("# last") :]
    assert changed.startswith(f"{mine}{last}\n- cases: ")
    assert "1 kept" not in told.err
    assert "2 kept, 1 taken out" in told.err
    for one in load_expectations(file)[2:]:
        assert one.diagnosis == ("clip-ignored",)
    again = command(
        "check", PLAIN_FILE, "--runtime", runtime(tmp_path, raises=True), "--write-expect", file
    )
    assert "0 new" in again.err
    assert file.read_text() == changed
    assert (
        command(
            "check", PLAIN_FILE, "--runtime", runtime(tmp_path, raises=True), "--expect", file
        ).status
        == 0
    )


def test_what_fails_otherwise_now_is_named_before_the_others(
    tmp_path: Path, command: Command
) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(f'- cases: "{PLAIN}/*"\n  diagnosis: clip-ignored\n  reason: mine\n')
    arguments = ("check", PLAIN_FILE, "--runtime", runtime(tmp_path, raises=True))
    assert command(*arguments, "--expect", file).status == 1
    assert command(*arguments, "--write-expect", file).status == 0
    [new, old] = load_expectations(file)
    assert (new.cases, old.reason) == ("*/noB", "mine")
    assert command(*arguments, "--expect", file).status == 0


def test_an_entry_of_which_nothing_holds_is_replaced(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "e.yaml"
    file.write_text('- cases: "*clip0.5*"\n  diagnosis: lbr-ignored\n  reason: mine\n')
    arguments = ("check", PLAIN_FILE, "--runtime", runtime(tmp_path))
    assert "1 new, 0 kept, 1 taken out" in command(*arguments, "--write-expect", file).err
    [one] = load_expectations(file)
    assert one.diagnosis == ("clip-ignored",)


def test_no_glob_is_wider_than_the_selection(tmp_path: Path, command: Command) -> None:
    """So that an entry of what is repaired is stale where the same cases are selected."""
    file, select = tmp_path / "e.yaml", ("--select", "openvino.GRUCell-3/plain/float32/*")
    asked = ("check", PLAIN_FILE, *select, "--quiet")
    wrong = command(*asked, "--runtime", runtime(tmp_path), "--write-expect", file)
    assert wrong.status == 0
    [one] = load_expectations(file)
    assert one.cases == "*/float32/*clip0.5*"
    repaired = command(*asked, "--runtime", runtime(tmp_path, ignored=False), "--expect", file)
    assert repaired.status == 1
    assert ", 2 passed unexpectedly, 1 expectation is stale" in repaired.out


def test_invalid_questions_are_named_no_wider_than_the_selection(
    tmp_path: Path, command: Command
) -> None:
    """Of what was accepted in one dtype, that dtype."""
    file = tmp_path / "e.yaml"
    takes = tmp_path / "takes.py"
    takes.write_text(
        "import numpy as np\n"
        "def run(question):\n"
        "    return {n: np.zeros(t.shape, t.dtype) for n, t in question.outputs.items()}\n"
    )
    asked = ("check", PLAIN_FILE, "--select", "openvino.GRUCell-3/*/float32/*", "--strict")
    assert command(*asked, "--runtime", f"{takes}:run", "--write-expect", file).status == 0
    invalid = [one.cases for one in load_expectations(file) if "/invalid/" in one.cases]
    assert invalid
    assert all("/float32/" in glob for glob in invalid)


def test_nothing_fails_any_more(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "e.yaml"
    file.write_text('# mine\n\n- cases: "*clip0.5*"\n  reason: r\n')
    arguments = ("check", PLAIN_FILE, "--runtime", runtime(tmp_path, ignored=False))
    assert command(*arguments, "--write-expect", file).status == 0
    assert file.read_text() == "# mine\n\n[]\n"
    assert command(*arguments, "--expect", file).status == 0


@pytest.mark.rows(3)
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[]\n", ""),
        ("# mine\n\n[]   # none\n# last\n", "# mine\n\n# none\n# last\n\n"),
        ("---\n[]\n...\n", "---\n\n"),
        ("[  # one\n   # two\n]\n... # end\n", "# one\n# two\n# end\n\n"),
        ("# a\r\n[]\r\n", "# a\r\n\r\n"),
        ("# mine\n  # alone", "# mine\n  # alone\n\n"),
    ],
)
def test_entries_take_the_place_of_an_empty_list(
    text: str, left: str, tmp_path: Path, command: Command
) -> None:
    """And the comments of it stay, where there is nothing else, too."""
    file = tmp_path / "e.yaml"
    file.write_bytes(text.encode())
    arguments = ("check", PLAIN_FILE, "--runtime", runtime(tmp_path))
    assert command(*arguments, "--write-expect", file).status == 0
    assert file.read_bytes().decode().startswith(f"{left}- cases: ")
    [one] = load_expectations(file)
    assert one.diagnosis == ("clip-ignored",)
    assert "0 new, 1 kept" in command(*arguments, "--write-expect", file).err


def test_an_entry_is_added_before_the_end_of_the_document(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "e.yaml"
    file.write_text('- cases: "*/noB"\n  reason: r\n...\n')
    arguments = ("check", PLAIN_FILE, "--runtime", runtime(tmp_path, raises=True))
    assert command(*arguments, "--write-expect", file).status == 0
    assert [one.diagnosis for one in load_expectations(file)] == [(), ("clip-ignored",)]


def test_an_empty_list_stays_where_nothing_fails(tmp_path: Path, command: Command) -> None:
    file = tmp_path / "e.yaml"
    arguments = ("check", PLAIN_FILE, "--runtime", runtime(tmp_path, ignored=False))
    for text, made in (("[]   # none\n", "[]   # none\n"), ("# a\n", "# a\n\n[]\n")):
        file.write_text(text)
        assert command(*arguments, "--write-expect", file).status == 0
        assert file.read_text() == made


def test_a_list_that_cannot_be_written_does_not_lose_the_report(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error comes after it, and the report is that of what was judged, with nothing expected."""
    file, xml = tmp_path / "e.yaml", tmp_path / "junit.xml"

    def fails(path: Path, *_: object) -> None:
        raise GrucibleError(f"{path}: cannot be written (no space)")

    monkeypatch.setattr("grucible.check.listing.writing.replace_text", fails)
    told = command(
        "check", PLAIN_FILE, "--runtime", runtime(tmp_path), "--write-expect", file,
        "--report", f"junit={xml}", "--quiet",
    )  # fmt: skip
    assert told.status == 2
    assert told.out.startswith("does not conform: ")
    assert re.fullmatch("grucible: .*e.yaml: cannot be written .*\\n", told.err)
    assert "expected" not in told.out
    assert "does not conform" in xml.read_text()


@pytest.mark.parametrize("first", [None, "", "[]\n", '- cases: "*/noB"\n  reason: r\n'])
def test_what_somebody_wrote_while_the_check_ran_stays(
    first: str | None, tmp_path: Path, command: Command
) -> None:
    file = tmp_path / "e.yaml"
    if first is not None:
        file.write_text(first)
    writes = tmp_path / "writes.py"
    code = Path(runtime(tmp_path).removesuffix(":run")).read_text()
    writes.write_text(f"open({str(file)!r}, 'w').write('# mine, too\\n')\n{code}")
    told = command(
        "check", PLAIN_FILE, "--runtime", f"{writes}:run", "--write-expect", file, "--quiet"
    )
    assert told.status == 2
    assert told.out.startswith("does not conform: ")
    assert re.fullmatch("grucible: .*e.yaml: was changed while the check ran, .*\\n", told.err)
    assert file.read_text() == "# mine, too\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("operator: onnx.GRU-14\n", ":1: holds a dict; expected a list"),
        ("import os\n", ":1: holds a str; expected a list"),
        ("- {issue: 7}\n", "is not a field here"),
        ("[{cases: a, reason: b}]\n", 'write each entry on a line that begins with "- "'),
    ],
)
def test_what_is_no_such_list_is_not_replaced(
    text: str, says: str, tmp_path: Path, command: Command
) -> None:
    file = tmp_path / "e.yaml"
    file.write_text(text)
    said = command(
        "check", "--runtime", runtime(tmp_path), *SELECT, "--write-expect", file
    ).said_in_one_line()
    assert says in said
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--expect", "e.yaml"), "leave --expect out"),
        (("--no-diagnose",), "leave --no-diagnose out"),
    ],
)
def test_options_that_do_not_go_together(
    more: tuple[str, ...], says: str, tmp_path: Path, command: Command
) -> None:
    (tmp_path / "e.yaml").write_text("[]\n")
    more = tuple(str(tmp_path / one) if one == "e.yaml" else one for one in more)
    file = tmp_path / "new.yaml"
    said = command(
        "check", "--runtime", runtime(tmp_path), "--write-expect", file, *more
    ).said_in_one_line()
    assert says in said
    assert not file.exists()


def test_what_messages_share() -> None:
    assert (
        shared(["E: bad shape (2, 3) at a.cpp:17", "E: bad shape (4, 5) at a.cpp:99"], [])
        == "E: bad shape ("
    )
    assert (
        shared(["E: x.cpp:7: no clip", "E: x.cpp:9: no clip"], ["E: x.cpp:7: no act"])
        == ": no clip"
    )
    assert shared(["1", "2"], []) == ""


def test_cases_that_each_say_something_else_are_listed_without_seeking_globs(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    sought: list[int] = []
    asked: list[str] = []

    def counted(ids: Sequence[str], others: Sequence[str]) -> tuple[list[str], list[str]]:
        sought.append(len(ids))
        return covering(ids, others)

    def said(message: str, parts: Sequence[str]) -> bool:
        asked.append(message)
        return says(message, parts)

    monkeypatch.setattr(grouping, "covering", counted)
    monkeypatch.setattr(grouping, "says", said)
    monkeypatch.setattr(grouping, "_MOST_OTHERS", 5)
    monkeypatch.setattr(writing, "_MOST_SOUGHT", 2)
    file = tmp_path / "each.py"
    file.write_text(
        "from hashlib import sha256\n"
        "def run(question):\n"
        "    number = int(sha256(question.id.encode()).hexdigest(), 16) % 30\n"
        "    raise ValueError('bad tensor ' + 'abcdefghijklmnopqrstuvwxyz-:;!'[number] * 9)\n"
    )
    written = command(
        "check", PLAIN_FILE, "--runtime", f"{file}:run", "--write-expect", tmp_path / "e.yaml"
    )
    assert written.status == 0
    found = load_expectations(tmp_path / "e.yaml")
    assert len(sought) == 2
    assert min(sought) > 1
    assert len(asked) < 20 * len(found)
