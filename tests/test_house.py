"""The rules of the house: rooms import one way, and each has a budget."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("cases", "vectors", "gen", "check")
"""The rooms in the order of the imports: each may import those before it."""
LINES = {
    "top": 275,
    "cases": 6_297,
    "vectors": 2_666,
    "gen": 5_260,
    "gen/variants": 3_055,
    "check": 17_933,
    "check/diagnosis": 3_294,
    "tests": 33_095,
}
"""Maximum lines of Python below each folder; those of a folder named here count there alone."""
PACKAGE, MODULES, WORDS = 32_431, 215, 34_194
"""Maximum lines of the package without the diagnosis and its catalogue; of its modules; words of all pages."""
WORDS_OF = {"README.md": 1_264}
"""Maximum words of a page."""
FUNCTION = 60
"""Maximum lines of a function; more do not fit on a screen."""
SHORT = 30
"""A module with fewer lines and one importer is a fragment of its importer."""
SAY_NOTHING = {"utils", "util", "common", "helpers", "misc"}

BANNED = re.compile(
    r"\b(told|held|said|so many|whatever|by what|of theirs|what is to be)\b", re.IGNORECASE
)
"""Words that make a sentence hard to read: fillers, and passives of unknown persons."""
SENTENCE = 20
"""Maximum words of a docstring's first sentence."""
NAMED_TWICE = {"Tensor"}
"""Class names of two classes: of an operator's description, and as the manifest's schema was published."""

ALL = grimp.build_graph("grucible", cache_dir=None)
"""Which module imports which: at its head, in functions, for type checkers too."""


def files() -> dict[str, Path]:
    """List the modules of the package by name, without the package's own name."""
    found = [ROOT / "__init__.py", ROOT / "__main__.py"]
    found += [file for room in ROOMS for file in sorted((ROOT / room).rglob("*.py"))]
    return {_name(file): file for file in found}


def _name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = files()


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


@cache
def graph() -> dict[str, list[str]]:
    """By module, the modules that it imports, without the package itself."""
    found = {}
    for module in ALL.modules - {"grucible"}:
        others = ALL.find_modules_directly_imported_by(module) - {"grucible"}
        found[module.partition(".")[2]] = sorted(other.partition(".")[2] for other in others)
    return found


def folders() -> dict[str, list[str]]:
    """By folder, the folders it imports from; a module directly in a room is a folder of its own."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, others in graph().items():
        found[_folder(module)] |= {_folder(other) for other in others}
    return {here: sorted(there - {here}) for here, there in found.items()}


def _folder(module: str) -> str:
    return ".".join(module.split(".")[:2])


def lines(file: Path) -> int:
    return file.read_text(encoding="utf-8").count("\n")


def lines_by_budget() -> Counter[str]:
    """Count the lines of Python below each folder that has a budget."""
    found: Counter[str] = Counter()
    for file in [*FILES.values(), *(ROOT / "tests").rglob("*.py")]:
        folder = file.parent.relative_to(ROOT).as_posix()
        homes = [home for home in LINES if f"{folder}/".startswith(f"{home}/")]
        found[max(homes, key=len, default="top")] += lines(file)
    return found


def docstrings(module: str) -> Iterator[str]:
    """List the docstrings of a module, and the texts below its constants."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            yield ast.get_docstring(node) or ""
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def pages() -> list[Path]:
    own = [file for folder in (*ROOMS, "tests") for file in (ROOT / folder).rglob("*.md")]
    return [*ROOT.glob("*.md"), *own]


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def test_the_graph_has_every_module() -> None:
    beside = {*FILES} - {*graph(), ""}
    assert all(".examples." in module for module in beside), beside  # programs that readers copy
    assert "gen.gru" in graph()["gen.exact.answers"]


def test_no_circle_of_modules() -> None:
    TopologicalSorter(graph()).prepare()  # raises CycleError with the circle


def test_no_circle_of_folders() -> None:
    TopologicalSorter(folders()).prepare()


def test_a_room_takes_names_from_their_modules() -> None:
    """From the package itself it takes the version: all else that stands there comes from rooms above."""
    for module in graph():
        for one in ALL.get_import_details(importer=f"grucible.{module}", imported="grucible"):
            assert one["line_contents"].lstrip("from .") == "import __version__", (module, one)


def test_no_import_leads_up() -> None:
    order = {room: place for place, room in enumerate(ROOMS)}
    for module, others in graph().items():
        if module == "__main__":
            continue
        for other in others:
            here, there = (name.partition(".")[0] for name in (module, other))
            assert order[there] <= order[here], f"{module} imports {other}"


@pytest.mark.parametrize("folder", LINES)
def test_each_folder_keeps_its_budget(folder: str) -> None:
    assert lines_by_budget()[folder] <= LINES[folder]


def test_the_package_keeps_its_budget() -> None:
    found = lines_by_budget()
    assert sum(found[one] for one in ("top", "cases", "vectors", "gen", "check")) <= PACKAGE
    assert len(FILES) <= MODULES


def test_pages_keep_their_budget() -> None:
    assert sum(map(words, pages())) <= WORDS
    for name, most in WORDS_OF.items():
        assert words(ROOT / name) <= most, name


def test_a_function_fits_on_a_screen() -> None:
    for module in FILES:
        assert not SAY_NOTHING & set(module.split(".")), module
        for node in ast.walk(tree(module)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = (node.end_lineno or 0) - node.lineno + 1
                assert length <= FUNCTION, f"{module}: {node.name} is {length} lines long"


def test_a_class_name_is_one_class() -> None:
    """But for private names, and for programs that readers copy."""
    homes = defaultdict(set)
    for module in FILES:
        if ".examples." in module:
            continue
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(module)
    several = {name: found for name, found in homes.items() if len(found) > 1}
    assert several.keys() == NAMED_TWICE, several


def test_no_module_is_a_fragment() -> None:
    importers = defaultdict(set)
    for module, others in graph().items():
        for other in others:
            importers[other].add(module)
    short = [
        module
        for module, found in importers.items()
        if len(found) == 1 and lines(FILES[module]) < SHORT
    ]
    short = [module for module in short if FILES[module].name != "__init__.py"]
    assert not short


def test_docstrings_and_messages_are_plain() -> None:
    files = [*FILES.values()]
    files += [page for page in pages() if page.name != "LEDGER.md"]
    found = {file: BANNED.findall(file.read_text(encoding="utf-8")) for file in files}
    assert not {file: words for file, words in found.items() if words}


def test_a_docstring_begins_with_a_short_sentence() -> None:
    for module in FILES:
        for text in docstrings(module):
            first = re.split(r"(?<=[.:])\s+(?=[A-Z`])|\n\n", text.strip())[0]
            assert len(first.split()) <= SENTENCE, (module, first)
