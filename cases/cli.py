"""`grucible cases`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .console import format_table, put, say
from .selection import DTYPES, SELECT, nothing_selected
from .strict_json import format_json

if TYPE_CHECKING:
    from .specs.expand import CaseSpec
    from .specs.pairs import PairCoverage
    from .specs.spec_file import CaseSpecFile


def _mode(name: str, about: str) -> Callable[[Any], Any]:
    return click.option(f"--{name}", is_flag=True, help=about)


@click.command("cases")
@click.argument("specs", metavar="[SPEC]...", nargs=-1, type=click.Path(path_type=Path))
@DTYPES
@SELECT
@_mode("list", "Print the ids of the cases.")
@_mode("invalid", "Print the ids of the invalid questions.")
@_mode("json", "Print as JSON.")
@_mode("extend", "Write into SPEC the rows that its `covering` entries lack.")
@_mode("schema", "Print the JSON Schema of case specs, for editors.")
def cases_command(
    specs: tuple[Path, ...], dtypes: tuple[str, ...], select: tuple[str, ...], **modes: bool
) -> None:
    """Count or list the cases, and count the pairs of settings that they ask, with sizes in classes.

    SPEC is a YAML file that describes cases (cases/README.md), or a directory of such files. Without it, the
    cases that grucible publishes count.
    """
    from .specs.expand import expand_all
    from .specs.pairs import pair_coverage
    from .specs.spec_file import find_specs

    given = [name for name, on in modes.items() if on]
    if len(given) > 1:
        options = " and ".join(f"--{name}" for name in given)
        raise click.UsageError(f"{options} do not go together; give one of them")
    [mode] = given or [""]
    if mode == "schema":
        from .specs.spec_file import spec_schema

        put(spec_schema())
        return
    if mode == "invalid":
        _list_invalid(specs, dtypes, select)
        return
    found = find_specs(specs)
    if mode == "extend":
        from .specs.covering_arrays import extend

        for spec in found:
            say(f"{spec.document.name}: {extend(spec)} rows added")
        return
    expanded = expand_all(found, dtypes, select)
    cases = [case for _, members in expanded for case in members]
    if mode == "list":
        for case in cases:
            say(case.id)
        return
    coverage = pair_coverage(cases)
    if mode == "json":
        put(format_json(_summary(cases, coverage)))
        return
    _print_themes(expanded)
    say()
    _print_coverage(coverage)
    say()
    say(f"{len(cases)} cases in {len(expanded)} specs")


def _list_invalid(specs: Sequence[Path], dtypes: Sequence[str], select: Sequence[str]) -> None:
    from .invalid import invalid_questions

    if specs:
        raise click.UsageError("--invalid takes no SPEC: the questions follow from the operators")
    ids = [one.id for one in invalid_questions((), dtypes, select)]
    if not ids:
        raise nothing_selected(select, dtypes, listing="--invalid")
    for case_id in ids:
        say(case_id)


def _print_themes(expanded: list[tuple[CaseSpecFile, list[CaseSpec]]]) -> None:
    from .dtypes import FLOAT_TYPES

    totals = Counter(case.dtype for _, cases in expanded for case in cases)
    dtypes = [dtype for dtype in FLOAT_TYPES if totals[dtype]]
    rows = []
    for spec, cases in expanded:
        counts = Counter(case.dtype for case in cases)
        tiers = ", ".join(dict.fromkeys(case.tier for case in cases))
        rows.append([spec.path, *(str(counts[dtype] or "-") for dtype in dtypes), tiers])
    rows.append(["", *(str(totals[dtype]) for dtype in dtypes), ""])
    right = range(1, 1 + len(dtypes))
    for line in format_table(("spec", *dtypes, "tier"), rows, right).splitlines():
        say(line)


def _print_coverage(coverage: list[PairCoverage]) -> None:
    if not coverage:
        say("no case decides, so pairs of values are not counted")
        return
    say("pairs of values that have a case; sizes count by class")
    for found in coverage:
        share = 100 * found.covered / found.total if found.total else 100
        say(f"{found.operator}, {found.dtype}: {found.covered} of {found.total} ({share:.4g} %)")
        for pair in found.missing[:3]:
            say(f"    missing {pair}")
        if len(found.missing) > 3:
            say(f"    and {len(found.missing) - 3} more")


def _summary(cases: list[CaseSpec], coverage: list[PairCoverage]) -> dict[str, object]:
    counts: Counter[tuple[str, str, str]] = Counter((c.operator, c.dtype, c.tier) for c in cases)
    return {
        "cases": len(cases),
        "counts": [
            {"operator": operator, "dtype": dtype, "tier": tier, "cases": count}
            for (operator, dtype, tier), count in sorted(counts.items())
        ],
        "pairs": [
            {"operator": c.operator, "dtype": c.dtype, "covered": c.covered, "total": c.total,
             "missing": list(c.missing)}
            for c in coverage
        ],
    }  # fmt: skip
