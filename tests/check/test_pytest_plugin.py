"""The judge in pytest: a test for each case, without a test file and in one's own suite.

Each test here runs a pytest of its own, in a process of its own, in which the plugin is installed: it is found
by the entry point that pyproject.toml has.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import grucible

from .conftest import HERE
from .made import CELL, IMPORT_ANSWER, make_block, write_vectors

PACKAGE = Path(grucible.__file__).parent
KINDS = [
    "known-raises",
    "known-right",
    "known-wrong",
    "malformed",
    "raises",
    "refused",
    "right",
    "wrong",
]
"""What becomes of a case, by its name."""
RUNTIME = f"""{IMPORT_ANSWER}
from grucible import Unsupported

def run(question):
    kind = question.id.rpartition("/")[2].rpartition("-")[2]
    outputs = answer(question)
    if kind == "raises":
        raise ValueError("no such kernel")
    if kind == "refused":
        raise Unsupported("not on this device")
    if kind == "malformed":
        return None
    if kind == "wrong":
        outputs["Ho"][1, 0] += 1
    for array in question.inputs.values():
        array[...] = 0  # what it was given is its own
    return outputs
"""
EXPECT = """
- cases: "*/known-*"
  reason: as in release 1
  link: https://example.org/1
"""
PASSED = {"right"}
FAILED = {"known-right", "malformed", "raises", "wrong"}
SKIPPED = {"refused"}
XFAILED = {"known-raises", "known-wrong", "special-wrong"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with vectors, a runtime, and expectations, and the plugin as if it were installed."""
    described = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))
    [(name, module)] = described["project"]["entry-points"]["pytest11"].items()
    installed = tmp_path / "site" / "plugin-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(f"[pytest11]\n{name} = {module}\n")
    root = tmp_path / "project"
    root.mkdir()
    special = make_block(["special-wrong"], tier="nonportable")
    write_vectors(root / "v.h5", make_block(KINDS), special)
    (root / "my_gru.py").write_text(RUNTIME)
    (root / "known.yaml").write_text(EXPECT)
    return root


def run(project: Path, *arguments: str) -> tuple[int, str]:
    """The exit status of `pytest ARGUMENTS…` in a folder, and what it printed."""
    paths = [project.parent / "site", PACKAGE.parent]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths)), "COLUMNS": "200"}
    for name in [name for name in environment if name.startswith("PYTEST_") or name == "CI"]:
        del environment[name]
    options = ["--import-mode=importlib", "-p", "no:cacheprovider", *arguments]
    command = [sys.executable, "-m", "pytest", *options]
    ended = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    return ended.returncode, ended.stdout + ended.stderr


def outcomes(printed: str) -> dict[str, set[str]]:
    """The cases by what became of them, of the lines that -rA prints."""
    found: dict[str, set[str]] = {}
    for outcome, name in re.findall(rf"^(\w+)[^\n]*?{CELL}/made/float32/([\w-]+)", printed, re.M):
        found.setdefault(outcome, set()).add(name)
    return found


ASK = ("--grucible", "v.h5", "--grucible-runtime", "my_gru:run")


def test_without_a_test_file(project: Path) -> None:
    status, printed = run(project, *ASK, "--grucible-expect", "known.yaml", "-rA")
    assert status == 1
    found = outcomes(printed)
    assert (found["PASSED"], found["FAILED"], found["XFAIL"]) == (PASSED, FAILED, XFAILED)
    assert "unsupported: not on this device" in printed
    assert "4 failed, 1 passed, 1 skipped, 3 xfailed" in printed
    wrong = printed.partition("/wrong ____")[2].partition("\n____")[0].partition("\n====")[0]
    told = wrong.splitlines()[1:]
    *worst, see = told
    assert re.fullmatch(
        r"Ho\[1, 0\]: expected \S+, got \S+; off by 1, \S+ × tolerance", " ".join(worst)
    )
    assert see == f"see: grucible trace v.h5 {CELL}/made/float32/wrong --runtime my_gru:run"
    assert "returned None; expected a dict with Ho" in printed
    assert re.search(r"File .*my_gru.py\", line \d+, in run$", printed, re.M)
    assert "check/pytest_plugin" not in printed
    assert "[XPASS(strict)] as in release 1 (https://example.org/1)" in printed
    assert f"XFAIL grucible::{CELL}/made/float32/known-wrong - as in release 1" in printed
    assert "the tier nonportable does not decide" in printed
    assert re.search(r"^diagnosis of 2 failures:\n     2  ", printed, re.M)


def test_an_id_as_printed_can_be_given_back(project: Path) -> None:
    """With what grucible.toml gives; and what failed last can be run again."""
    (project / "numpy_gru.py").write_text((HERE / "numpy_gru.py").read_text())
    wrong = (
        "def run(question):\n    return {k: a * 2 for k, a in numpy_gru.run(question).items()}\n"
    )
    (project / "doubled.py").write_text(f"import numpy_gru\n\n{wrong}")
    (project / "grucible.toml").write_text("runtime = 'doubled:run'\ndtype = ['float32']\n")
    cache = ("-p", "cacheprovider")
    case = "grucible::openvino.GRUCell-3/plain/float32/clip0.5"
    status, printed = run(project, case, *cache)
    assert (status, "1 failed" in printed, f"FAILED {case} - " in printed) == (1, True, True), (
        printed
    )
    assert "diagnosis of 1 failure:\n" in printed
    both = (case, "grucible::openvino.GRUCell-3/plain/float16/lbr")
    assert "2 failed" in run(project, *both, *cache, "-n", "2")[1]
    more = ("--grucible", "core", "--grucible-select", "openvino.GRUCell-3/plain/*/[cl]*")
    assert "1 failed" in run(project, *more, "--lf", *cache)[1]  # of the dtype in the file
    select = "select = 'openvino.GRUCell-3/plain/*/clip0.5'"
    (project / "grucible.toml").write_text(f"runtime = 'numpy_gru:run'\n{select}\n")
    assert "4 passed" in run(project, "--grucible", "core")[1]
    (project / "grucible.toml").write_text("jobs = []")
    status, printed = run(project, case)
    assert (status, "ERROR: " in printed, "jobs: []; expected a whole number" in printed) == (
        4,
        True,
        True,
    )


REFUSED = ("--grucible-select", "*/refused")
EXPECTED = ("--grucible-expect", "known.yaml", "--grucible-select", "*/known-*[!t]")
SKIPS_ALL = (
    "import pytest\n@pytest.fixture(autouse=True)\ndef no_device():\n    pytest.skip('none')\n"
)


@pytest.mark.parametrize(
    ("more", "conftest", "incomplete"),
    [
        (REFUSED, "", True),
        ((*REFUSED, "-n", "2"), "", True),
        ((*REFUSED, "--grucible-select", "*/right"), "", False),
        ((*REFUSED, "-k", "mine", "test_mine.py"), "", False),
        (("--grucible", "nonportable.h5"), "", True),
        (("--grucible", "boundless.h5"), "", True),
        (("--grucible-select", "*/right"), SKIPS_ALL, True),
        ((*EXPECTED, "-n", "2"), "", False),
        (("--co",), "", False),
    ],
)
def test_a_session_in_which_no_case_decided_does_not_pass(
    project: Path, more: Sequence[str], conftest: str, incomplete: bool
) -> None:
    """Unsupported, skipped, of no deciding tier or without limits; as expected decides, as in `check`."""
    names = ["special-right", "special-wrong"]
    write_vectors(project / "nonportable.h5", make_block(names, tier="nonportable"))
    boundless = make_block(["right"])
    for limits in boundless[1].answer.tolerances.values():
        limits["Ho"][...] = np.inf
    write_vectors(project / "boundless.h5", boundless)
    (project / "conftest.py").write_text(conftest)
    (project / "test_mine.py").write_text("def test_mine():\n    pass\n")
    status, printed = run(project, *ASK, *more)
    shown = printed.count("grucible: incomplete: no case that decides has passed")
    assert (status, shown) == (incomplete, incomplete), printed
    assert " failed" not in printed


OWN = """
import grucible
import my_gru
import numpy as np
import pytest
from grucible import Expectation

known = [Expectation("*/known-*", "as in release 1")]
vectors = grucible.pytest.load("v.h5", expect=known)
right = grucible.pytest.load("v.h5", "*/right")


@pytest.fixture
def engine():
    return my_gru.run


@vectors.parametrize
def test_returns(question, engine):
    return engine(question)


@right.parametrize
@pytest.mark.parametrize("scale", [1, 2])
def test_asserts(question, judge, scale):
    outputs = {name: array * np.float32(scale) for name, array in my_gru.run(question).items()}
    found = judge(outputs)
    assert found.passed == (scale == 1), found.text()
    assert found.passed, found.text()


class TestMethods:
    @right.parametrize
    def test_case(self, case):
        assert case.answer.outputs.keys() == {"Ho"}


def test_others():
    assert len(vectors) == 9
    assert [case.id for case in right] == right.ids


with pytest.raises(TypeError, match="test_nothing takes no question"):
    @right.parametrize
    def test_nothing(engine):
        pass
"""


def test_in_ones_own_suite(project: Path) -> None:
    (project / "test_own.py").write_text(OWN)
    status, printed = run(project, "-rA", "-W", "error")
    assert status == 1
    returned = "\n".join(line for line in printed.splitlines() if "::test_returns[" in line)
    found = outcomes(returned)
    assert (found["PASSED"], found["FAILED"], found["XFAIL"]) == (PASSED, FAILED, XFAILED)
    assert re.search(r"SKIPPED \[1\] test_own\.py:\d+: unsupported: not on this device", printed)
    assert f"PASSED test_own.py::test_asserts[1-{CELL}/made/float32/right]" in printed
    assert f"FAILED test_own.py::test_asserts[2-{CELL}/made/float32/right]" in printed
    assert re.search(
        r"AssertionError: openvino\S+/right\nE +Ho\[\d, \d\]: expected .*, got .*; off by", printed
    )
    for indent, name in (("", "wrong"), ("E +", "right")):  # returned; asserted
        see = f"see: grucible trace v.h5 {CELL}/made/float32/{name} --runtime NAME"
        assert re.search(f"^{indent}{see}$", printed, re.MULTILINE), printed
    assert f"PASSED test_own.py::TestMethods::test_case[{CELL}/made/float32/right]" in printed
    assert "5 failed, 4 passed, 1 skipped, 3 xfailed" in printed
    assert "check/pytest_plugin" not in printed


UNJUDGED = """
import grucible

known = [grucible.Expectation("*", "any failure")]
vectors = grucible.pytest.load("v.h5", "*/right", expect=known)

@vectors.parametrize
async def test_async(judge):
    assert False

@vectors.parametrize
def test_generator(case):
    yield case

@vectors.parametrize
def test_returns(question, judge):
    return judge({})

@vectors.parametrize
async def test_async_outputs(question):
    assert False

@vectors.parametrize
def test_forgets_to_judge(judge):
    pass

@vectors.parametrize
def test_forgets_to_ask(question, judge):
    judge({})

@vectors.parametrize
def test_asserts_a_text(question, judge):
    found = judge({})
    assert found.text()

@vectors.parametrize
def test_looks_at_no_answer(case):
    assert case.attributes and case.question
"""


def test_what_judges_nothing_fails_whatever_is_expected(project: Path) -> None:
    (project / "test_unjudged.py").write_text(UNJUDGED)
    status, printed = run(project, "-q", "-rA")
    assert status == 1
    assert re.search("^8 failed", printed, re.MULTILINE), printed
    for kind in ("a coroutine", "a generator", "a WatchedJudgment"):
        assert f"the test returned {kind}, which is not judged" in printed
    assert printed.count("asks for no verdict: assert judge(outputs).passed") == 3
    assert printed.count("asks for no verdict: assert grucible.judge(case, outputs).passed") == 1


def test_it_costs_nothing_where_nothing_of_it_is_asked(project: Path) -> None:
    (project / "test_free.py").write_text(
        "import sys\n\ndef test_free():\n"
        "    assert 'grucible.check.pytest_plugin.plugin' in sys.modules\n"
        "    ours = [m for m in sys.modules if m.startswith('grucible')]\n"
        "    assert len(ours) == 4, ours\n"
        "    assert not {'numpy', 'h5py', 'click', 'yaml', 'flint'} & set(sys.modules)\n"
    )
    status, printed = run(project, "-q")
    assert (status, "1 passed" in printed) == (0, True), printed


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--grucible", "core"], 4, "ERROR: --grucible needs --grucible-runtime NAME"),
        (["--grucible-isolated"], 4, "--grucible-isolated goes with --grucible PATH or core"),
        ([*ASK[:3], "ends:run"], 2, "runtime ends:run: ends does not import: SystemExit: 0"),
        (["--grucible", "v", *ASK[2:3], "ends:run"], 2, "runtime ends:run: ends does not import"),
        (
            ["--grucible", "cor", *ASK[2:]],
            2,
            "cor: no such file or directory (did you mean 'core'?)",
        ),
        ([*ASK, "--grucible-select", "x"], 2, "no case is selected by --select 'x'; see the ids"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_line(
    project: Path, arguments: list[str], status: int, says: str
) -> None:
    (project / "ends.py").write_text("import sys\nsys.exit(0)\n")
    ended, printed = run(project, *arguments, "-q")
    assert (ended, says in printed, "Traceback" in printed) == (status, True, False), printed


ENDS = f"""{IMPORT_ANSWER}
import pytest, unittest

class Later:
    def __array__(self, dtype=None, copy=None):
        pytest.importorskip("not_there")

def run(question):
    kind = question.id.rpartition("/")[2]
    if kind in ("wrong", "raises", "refused"):
        what = {{"wrong": "exit", "raises": "skip", "refused": "xfail"}}[kind]
        getattr(pytest, what)("all is well")
    if kind == "known-wrong":
        raise unittest.SkipTest("all is well")
    return dict.fromkeys(answer(question), Later()) if kind == "right" else answer(question)
"""


def test_an_outcome_of_pytest_that_a_runtime_raises_is_a_failure(project: Path) -> None:
    (project / "ends.py").write_text(ENDS)
    asked = ("--grucible", "v.h5", "--grucible-runtime", "ends:run", "-rA", "--tb=line")
    status, printed = run(project, *asked)
    assert status == 1
    assert outcomes(printed)["FAILED"] == {"known-wrong", "raises", "refused", "right", "wrong"}


def test_no_other_plugin_lets_a_test_pass_that_did_not_run(project: Path) -> None:
    (project / "conftest.py").write_text(
        "import pytest\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem):\n"
        "    return True\n"
    )
    _, printed = run(project, *ASK, "-rA")
    assert outcomes(printed)["FAILED"] >= {"malformed", "raises", "wrong"}


def test_a_crash_where_it_is_isolated_is_one_failure(project: Path) -> None:
    (project / "dies.py").write_text(
        f"{IMPORT_ANSWER}\nimport os\n\ndef run(question):\n"
        "    if question.id.endswith('/wrong'):\n        os._exit(3)\n"
        "    if question.id.endswith('/raises'):\n        raise ValueError('no such kernel')\n"
        "    return answer(question)\n"
    )
    asked = ("--grucible", "v.h5", "--grucible-runtime", "dies:run", "--grucible-isolated", "-rA")
    status, printed = run(project, *asked)
    assert status == 1
    assert outcomes(printed)["FAILED"] == {"raises", "wrong"}
    assert "exit status 3" in printed
    assert 'dies.py", line' in printed
    assert "observed/source.py" not in printed


def test_no_expectation_excuses_a_case_that_was_not_asked(project: Path) -> None:
    write_vectors(project / "many.h5", make_block([f"c{number}" for number in range(30)]))
    (project / "dies.py").write_text("import os\n\ndef run(question):\n    os._exit(3)\n")
    (project / "any.yaml").write_text("- {cases: '*', reason: any}\n")
    asked = ("--grucible", "many.h5", "--grucible-runtime", "dies:run", "--grucible-isolated")
    status, printed = run(project, *asked, "--grucible-expect", "any.yaml", "-n0")
    assert (status, "10 failed, 20 xfailed" in printed) == (1, True), printed


def test_what_fails_in_another_way_than_expected_fails(project: Path) -> None:
    (project / "my_gru.py").write_text(
        RUNTIME.replace(
            "    outputs = answer(question)\n",
            "    outputs = MISTAKES['clip ignored'](question) if kind == 'right' else answer(question)\n",
        )
        + "\nfrom numpy_gru import MISTAKES\n"
    )
    (project / "known.yaml").write_text(
        "- {cases: '*/right', reason: r, diagnosis: clip-ignored}\n"
        "- {cases: '*/wrong', reason: r, diagnosis: clip-ignored}\n"
        "- {cases: '*/known-raises', reason: r, message: no such kernel}\n"
        "- {cases: '*/raises', reason: r, message: out of memory}\n"
    )
    status, printed = run(
        project, *ASK, "--grucible-expect", "known.yaml", "-rA", "-k", "right or wrong or raises"
    )
    assert status == 1
    found = outcomes(printed)
    assert (found["XFAIL"] & {"right", "known-raises"}) == {"right", "known-raises"}
    assert {"wrong", "raises"} <= found["FAILED"]
    said = " ".join(printed.split())
    assert "expected diagnosis clip-ignored (known.yaml:2); seen instead: wrong numbers" in said
    assert 'expected message "out of memory" (known.yaml:4); seen instead: an error' in said
