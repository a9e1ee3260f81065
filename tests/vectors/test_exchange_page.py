"""The page about other formats says what there is."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from grucible.check.importing.cli import answer_command, import_command
from grucible.vectors.cli import export_command
from grucible.vectors.exchange import manifest

FOLDER = Path(manifest.__file__).parent
PAGE = (FOLDER.parent / "README.md").read_text(encoding="utf-8")


def choices(command: click.Command, name: str) -> set[str]:
    [option] = [one for one in command.params if one.name == name]
    assert isinstance(option.type, click.Choice)
    return set(option.type.choices)


def test_it_has_every_format_and_no_other() -> None:
    out, into = PAGE.split("\n## Import\n")
    assert set(re.findall(r"^\| `(\w+)` \| `cases", out, re.M)) == choices(export_command, "layout")
    assert set(re.findall(r"^\| `(\w+)` \|", into.split("## One")[0], re.M)) == choices(
        import_command, "source"
    )


def test_its_commands_have_the_options_they_are_given() -> None:
    known = {"export": export_command, "import": import_command, "answer": answer_command}
    seen = 0
    for line in re.findall(r"^    grucible (.*)$", PAGE, re.M):
        name, *words = shlex.split(line, comments=True)
        if name in known:
            seen += 1
            options = {text for one in known[name].params for text in one.opts}
            assert {word for word in words if word.startswith("-")} <= options
    assert seen == 6


WPT = """\
'use strict';
const tolerance = () => 3;

const gruTests = [
  {
    'name': 'options.activations=[\\'relu\\', \\'relu\\']; and more',
    'graph': {'inputs': {'x': {'data': [1,
        0.5], 'descriptor': {shape: [2], dataType: 'float32'}}}},
  },
];

if (navigator.ml) {
  gruTests.forEach((test) => {});
}
"""


def test_javascript_becomes_json(tmp_path: Path) -> None:
    """By the page's command, of a text that is laid out as the web platform's."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    [command] = re.findall(r"^    (node -e .*) < gru\.https\.any\.js", PAGE, re.M)
    (tmp_path / "gru.js").write_text(WPT)
    with (tmp_path / "gru.js").open() as text:
        ended = subprocess.run(shlex.split(command), stdin=text, capture_output=True, check=True)
    [test] = json.loads(ended.stdout)
    assert test["name"] == "options.activations=['relu', 'relu']; and more"
    assert test["graph"]["inputs"]["x"]["data"] == [1, 0.5]
