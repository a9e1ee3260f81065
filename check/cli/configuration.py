"""`grucible config`, and the defaults that a project's grucible.toml or pyproject.toml gives to options."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import click

from ...cases.console import format_table, say, suggest
from ...cases.dtypes import FLOAT_TYPES
from ...cases.errors import GrucibleError
from ...cases.files import read_limited
from ...cases.operators import OPERATORS
from ...cases.selection import AND

COMMANDS = ("check", "fuzz", "profile", "shrink", "trace")
"""The commands whose options have defaults in a file."""
KEYS = ("runtime", "select", "operator", "dtype", "expect", "jobs", "timeout")
"""The options that have them; each has one text or number, or a list, where the option is repeatable."""
_CHOICES: Mapping[str, Collection[str]] = {"operator": OPERATORS, "dtype": FLOAT_TYPES}
"""What is known by a key's values."""
_INSTEAD = {
    "--outputs": ("runtime", "jobs"),
    "--against": ("runtime",),
    "--write-expect": ("expect",),
}
"""By option of a command line, the keys that do not go with it."""
_NAMES = "grucible.toml", "pyproject.toml"
_MOST_BYTES = 1 << 20


class Configuration(NamedTuple):
    """The values of some KEYS, and the `place` that they were read from, None if there is none."""

    place: Path | None
    values: Mapping[str, Any]

    def globs(self, select: Sequence[str]) -> list[str]:
        """List globs that select what `select`, or the file's, does with the file's operators and dtypes."""
        select = select or self.values.get("select", [])
        narrower = [self.values.get(key, ["*"]) for key in ("operator", "dtype")]
        if not {"operator", "dtype"} & self.values.keys():
            return [*select]
        every = product(select or ["*"], *narrower)
        return [f"{glob}{AND}{operator}/*/{dtype}/*" for glob, operator, dtype in every]

    def of(self, command: click.Command, words: Sequence[str]) -> dict[str, tuple[str, Any]]:
        """Find the keys that a command's options take: for each the parameter's name, and its value.

        What the `words` of the command line give, or do not go with, is left out.
        """
        given = {word.partition("=")[0] for word in words}
        without = {key for option in given & _INSTEAD.keys() for key in _INSTEAD[option]}
        if "--runtime" in given and {"runtime", "expect"} <= self.values.keys():
            without.add("expect")
            if any("--expect" in one.opts for one in command.params) and "--expect" not in given:
                say(f"grucible: {self.place}: expect is for its runtime, and left out", err=True)
        found = {}
        for key, value in self.values.items():
            options = [one for one in command.params if f"--{key}" in one.opts]
            if options and f"--{key}" not in given and key not in without:
                several = getattr(options[0], "multiple", False)
                if len(value) > 1 and not several:
                    why = f"{command.name} takes one, not {len(value)}"
                    raise GrucibleError(f"{self.place}: {key}: {why}")
                found[key] = str(options[0].name), value if several else value[0]
        return found


def read_configuration(start: Path) -> Configuration:
    """Read the nearest grucible.toml, or pyproject.toml with [tool.grucible], in `start` or above it.

    Raises GrucibleError, with the place, for a file that cannot be read, and for unknown keys and values.
    """
    for place in (folder / name for folder in (start, *start.parents) for name in _NAMES):
        if place.is_file():
            try:
                found: Any = tomllib.loads(read_limited(place, _MOST_BYTES).decode())
            except ValueError as error:
                raise GrucibleError(f"{place}: {error}") from None
            tool = found.get("tool", {}) if place.name == _NAMES[1] else {"grucible": found}
            if "grucible" in (tool if isinstance(tool, dict) else {}):
                return Configuration(place, _checked(place, tool["grucible"]))
    return Configuration(None, {})


def _checked(place: Path, found: Any) -> dict[str, list[Any]]:
    """Make each value a list; paths in it begin where the file is."""
    if not isinstance(found, dict):
        raise GrucibleError(f"{place}: [tool.grucible]: {found!r}; expected a table")
    values = {}
    for key, value in found.items():
        if key not in KEYS:
            raise GrucibleError(
                f"{place}: {key}: is not a key here{suggest(key, KEYS)}; expected {', '.join(KEYS)}"
            )
        several = value if isinstance(value, list) else [value]
        if not several or not all(_is_value(key, one) for one in several):
            what = {"jobs": "a whole number from 1 on", "timeout": "a number above 0"}
            raise GrucibleError(f"{place}: {key}: {value!r}; expected {what.get(key, 'a text')}")
        for one in several if key in _CHOICES else ():
            if one not in _CHOICES[key]:
                near = suggest(one, _CHOICES[key])
                raise GrucibleError(f"{place}: {key}: {one!r} is unknown{near}")
        local = place.parent != Path.cwd() and key in ("expect", "runtime")
        values[key] = [
            str(place.parent / one) if local and (key == "expect" or ".py:" in one) else one
            for one in several
        ]
    return values


def _is_value(key: str, value: Any) -> bool:
    if key == "jobs":
        return type(value) is int and value > 0
    if key == "timeout":
        return type(value) in (int, float) and value > 0
    return isinstance(value, str)


@click.command("config")
def config_command() -> None:
    """Print the defaults of options that a file here gives, and where it is.

    It is the nearest grucible.toml, or pyproject.toml with a table [tool.grucible], in this directory or
    above. check, fuzz, profile, shrink, trace and pytest --grucible read it; the command line wins. Paths
    begin at the file.

    \b
    runtime = "./my_gru.py:run"
    operator = ["openvino.GRUCell-3", "onnx.GRU-14"]
    dtype = "float32"
    select = "*/core/*"
    expect = "known.yaml"
    jobs = 4
    timeout = 30
    """
    found = read_configuration(Path.cwd())
    if found.place is None:
        say("no grucible.toml, and no pyproject.toml with [tool.grucible], here or above")
        return
    say(f"{found.place}")
    rows = [(f"  {key}", repr(one)) for key, values in found.values.items() for one in values]
    for line in format_table((), rows).splitlines():
        say(line)
