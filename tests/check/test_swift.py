"""The Swift example for Apple's BNNSGraph, and the page that shows it.

No Apple machine is here. Where a `swiftc` is installed (Debian 13 has it as swiftlang), the example runs with
Accelerate.swift, beside this file, in the place of Apple's module.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from printed import sentence_of
from shipped import core_cases

from grucible.cases.expansion.expand import expand_all
from grucible.cases.operators.bnnsgraph import GRU
from grucible.cases.specs.spec_file import find_specs
from grucible.check.probing import conversation

from .conftest import HERE, Command

ROOT = HERE.parent.parent
SOURCE = (ROOT / "check/protocol/examples/gru.swift").read_text(encoding="utf-8")
PAGE = (ROOT / "cases/bnnsgraph/SWIFT.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (.+)", PAGE, re.M)
"""What the page has one type, in order."""
SELECT = ("--select", "bnnsgraph.*")


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module named Accelerate."""
    if not shutil.which("swiftc"):
        pytest.skip("no swiftc here")
    folder = tmp_path_factory.mktemp("accelerate")
    words = "-O -parse-as-library -module-name Accelerate -emit-module -emit-object -o Accelerate.o"
    swiftc(folder, *words.split(), HERE / "Accelerate.swift")
    return folder


def swiftc(folder: Path, *words: str | Path) -> None:
    subprocess.run(["swiftc", "-warnings-as-errors", *words], cwd=folder, check=True)


def built(stand_in: Path, source: str, folder: Path, *options: str) -> Path:
    """The program of some Swift."""
    (folder / "gru.swift").write_text(source, encoding="utf-8")
    module = ("-I", stand_in, stand_in / "Accelerate.o")
    swiftc(folder, "-O", *options, "gru.swift", *module, "-o", "gru")
    return folder / "gru"


@pytest.fixture(scope="module")
def gru(stand_in: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as it is."""
    return built(stand_in, SOURCE, tmp_path_factory.mktemp("gru"))


def first_line(command: Command, program: Path) -> str:
    ended = command("check", "--runtime", f"exec: {program}", *SELECT)
    assert ended.err == ""
    return sentence_of(ended.out)


def test_it_conforms(gru: Path, command: Command) -> None:
    probed = command("probe", f"exec: {gru}")
    assert (probed.status, probed.err) == (0, "")
    assert {
        line.split()[0] for line in probed.out.splitlines() if re.match(r"\w+ +[\w ]+: ", line)
    } == {"ok"}
    ended = command("check", "--runtime", f"exec: {gru}", "--require", "bnnsgraph.*")
    assert (ended.status, ended.err) == (0, "")
    assert sentence_of(ended.out) == (
        "conforms where supported: 327 of 1905 cases passed, 1578 unsupported"
    )


def test_files_are_answered_as_pipes_are(gru: Path, tmp_path: Path, command: Command) -> None:
    """They hold what its hello does not name, and it says so."""
    assert command("ask", "-o", tmp_path).status == 0
    for questions in tmp_path.rglob("*.questions"):
        with questions.open("rb") as asked, questions.with_suffix(".answers").open("wb") as answers:
            subprocess.run([gru], stdin=asked, stdout=answers, check=True)
        said = questions.with_suffix(".answers").read_bytes().partition(b"end\n")[2]
        nothing = {*said.splitlines()} == {b"unsupported", b"end"}
        assert nothing == ("bnnsgraph" not in questions.parts)
    through_files = command("check", "--outputs", tmp_path, "--json").report
    through_pipes = command("check", "--runtime", f"exec: {gru}", "--json").report
    assert through_files["summary"]["passed"] == 327
    assert through_files == through_pipes


def test_input_that_ends_too_early_is_said_in_one_line(gru: Path) -> None:
    asked = "grucible 1\nend\nquestion a\ninput x float32 2 8\nend\n1234"
    ended = subprocess.run([gru], input=asked, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "gru: the input ended within a tensor\n")


@pytest.mark.parametrize("order", ["exchanged", "arguments-first", "exchanged arguments-first"])
def test_the_order_of_arguments_is_bnns_s_own(
    order: str, gru: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", order)
    assert first_line(command, gru) == "conforms: 327 of 327 cases passed"


def test_the_report_names_readings_as_the_page_shows(
    gru: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", "before time")
    said = command("check", "--runtime", f"exec: {gru}", *SELECT).out
    [shown] = re.findall(r"```text\n(.*?)```", PAGE, re.S)
    assert shown in said
    assert "reset-false.before: " in said
    assert said.startswith("conforms: ")


@pytest.mark.parametrize(
    ("fault", "says"),
    [("padded", "bytes; expected"), ("unnamed", "the graph's arguments are"), ("throws", "unable")],
)
def test_what_bnns_does_otherwise_is_an_error_of_the_case(
    fault: str, says: str, gru: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", fault)
    report = command("check", "--runtime", f"exec: {gru}", *SELECT, "--json").report
    assert report["summary"]["errors"] == 327
    assert all(says in case["message"] for case in report["cases"])


def test_weights_can_be_arguments(stand_in: Path, tmp_path: Path, command: Command) -> None:
    """The change that the page gives, in Swift 6's mode too, which Xcode's projects may have."""
    assert "`argument(…)` for the four `constant(…)`" in PAGE
    assert "all six tensors in `let arguments = […]`" in PAGE
    source, count = re.subn(r": constant\(", ": argument(", SOURCE)
    assert count == 4
    ours = "let arguments = [x, initialHiddenStates]"
    assert source.count(ours) == 1
    every = ", ".join(tensor.name for tensor in GRU.inputs)
    source = source.replace(ours, f"let arguments = [{every}]")
    program = built(stand_in, source, tmp_path, "-swift-version", "6")
    assert first_line(command, program) == "conforms: 327 of 327 cases passed"


def test_an_app_answers_the_files_of_its_folder(
    stand_in: Path, tmp_path: Path, command: Command
) -> None:
    [code] = re.findall(r"```swift\n(.*?)```", PAGE, re.S)
    program = built(stand_in, SOURCE[: SOURCE.index("\ndo {\n    try serve")] + code, tmp_path)
    asked, documents = tmp_path / "asked", tmp_path / "Documents"
    assert command("ask", *SELECT, "-o", asked).status == 0
    shutil.copytree(asked / "bnnsgraph/gru", documents)
    subprocess.run([program], env=os.environ | {"CFFIXED_USER_HOME": str(tmp_path)}, check=True)
    for answers in documents.glob("*.answers"):
        shutil.copy(answers, asked / "bnnsgraph/gru")
    judged = command("check", "--outputs", asked, *SELECT)
    assert judged.out.startswith("conforms: 327 of 327 cases passed")


def test_the_page_s_commands_run(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a program of ours in the place of the Swift one, and the core's files for those of `gen`."""
    monkeypatch.setattr(conversation, "QUIET_SECONDS", 0.001)  # it names no operator: all are asked
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "vectors/bnnsgraph", "out")
    Path("gru").write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT.parent)!r})\n"
        f"from grucible.check.observed.serve import serve\nserve('{HERE / 'bnns_page.py'}:run')\n"
    )
    Path("gru").chmod(0o700)
    ran = []
    for line in COMMANDS:
        if line.startswith("for "):
            subprocess.run(["sh", "-ec", line], check=True)
        elif line.startswith("grucible ") and " gen " not in line:
            ended = command(*shlex.split(line)[1:])
            assert (ended.status, ended.err) == (0, ""), line
            ran.append(shlex.split(line)[1])
            conforms = ended.out.startswith("conforms: 327 of 327 cases passed\n")
            assert conforms == (ran[-1] == "check"), line
    assert ran == ["probe", "check", "check", "ask", "check"]
    assert Path("report.json").is_file()


def test_the_page_s_counts_are_those_of_today() -> None:
    tiers: list[str] = []
    for spec, cases in expand_all(find_specs((ROOT / "cases/bnnsgraph",))):
        tiers += [spec.model.tier or "deciding"] * len(cases)
    assert f"All {len(tiers)} of this" in PAGE
    [(asked, decided)] = re.findall(
        r"(\d+) of these cases were asked, .* the (\d+) that decide", PAGE
    )
    assert int(decided) < int(asked) <= len(tiers)
    core = sum(1 for case in core_cases() if case.operator == GRU.name)
    assert f"the {core} core cases" in PAGE


def test_the_page_s_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", PAGE)
    assert len(links) >= 4
    for target in links:
        assert (ROOT / "cases/bnnsgraph" / target).exists(), target


def test_the_page_compiles_the_example_that_is_there() -> None:
    [compiles] = [one.split() for one in COMMANDS if one.startswith("xcrun swiftc ")]
    [source] = [word for word in compiles if word.endswith(".swift")]
    assert (ROOT / source).read_text(encoding="utf-8") == SOURCE
    [said] = re.findall(r"^//     xcrun (.*)", SOURCE, re.M)
    assert compiles[1:] == [source if word == "gru.swift" else word for word in said.split()]


def test_both_say_what_nobody_has_done() -> None:
    said = (
        "Nobody here has compiled it with Apple's SDK or run it on an Apple machine: we have none."
    )
    assert said in PAGE
    assert said.upper() in " ".join(SOURCE[:900].replace("//", "").split()).upper()


def test_it_names_what_the_operator_has() -> None:
    """Where there is no compiler, too."""

    def names(pattern: str) -> set[str]:
        return set(re.findall(pattern, SOURCE, re.M))

    assert names(r'question\.input\("(\w+)"\)') == {tensor.name for tensor in GRU.inputs}
    assert names(r'question\.attribute\("(\w+)"\)') == {one.name for one in GRU.attributes}
    assert names(r'^ +"(\w+)": tensors\[\1\]') == {tensor.name for tensor in GRU.outputs}
    direction, activation, recurrent = (dict(one.choices or {}) for one in GRU.attributes[:3])
    assert names(r'case "(\w+)": return \.\1$') == {*activation} == {*recurrent}
    assert names(r'== "(reverse)"') | names(r"reverse \? \.reverse : \.(\w+)") == {*direction}
    assert names(r'"operator (.*?)"') | names(r"operator ([\w.]+)\\n") == {GRU.name}
    assert names(r'"(float\d\d)"') == {*GRU.types["T"]}


def test_it_calls_gru_as_apple_declares_it() -> None:
    """The labels of the call are those in the address of Apple's page, in their order."""
    [call] = re.findall(r"\.gru\(\n(.*?)\)\n *return", SOURCE, re.S)
    labels = re.findall(r"(\w+): ", call)
    declared = GRU.source.partition("/gru(")[2].removesuffix(":)").split(":")
    assert [label.lower() for label in labels] == declared
