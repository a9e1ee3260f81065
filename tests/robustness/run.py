"""All campaigns: python tests/robustness/run.py [NAME ...] writes what they found to tests/ROBUSTNESS.md.

Without names all of them, which takes about an hour; with names those, and the rest of the page stays.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from robustness.measured import Row  # noqa: E402

PAGE, KEPT = TESTS / "ROBUSTNESS.md", TESTS / "robustness" / "results.json"
CAMPAIGNS = {
    "mutants": "Mutants of files: bytes changed, and objects, types, links and attributes",
    "coverage_guided": "Coverage-guided fuzzing",
    "flips": "Single flipped bytes",
    "bombs": "Bombs: check, show and score of a file; cases, gen and --expect of a text",
    "kills": "Kills",
    "hostile": "Hostile runtimes",
}
HEAD = """# What was tried to break it

The promise: whatever a file, a runtime or a command line holds, `grucible` says one clear line, or judges rightly. No traceback, no hang, no crash, nothing lost.

`python tests/robustness/run.py` makes this page; `python tests/robustness/run.py NAME` makes one part of it again. The tests run a sample of each
(tests/vectors, tests/check). *Seconds* and *MB* are the largest of a row, of one input: of bombs, kills and environments the whole process, of mutants the reading alone.
"""


def main(names: Sequence[str]) -> None:
    """Run the campaigns and write the page."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in names or CAMPAIGNS:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            found = [_told(row) for row in import_module(f"robustness.{name}").rows(Path(folder))]
        kept[name] = {
            "rows": [asdict(row) for row in found],
            "minutes": (time.monotonic() - start) / 60,
            "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
            "day": time.strftime("%Y-%m-%d"),
        }
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
        PAGE.write_text(_page(kept))


def _told(row: Row) -> Row:
    print(
        row.what, row.tried, row.ended, f"{row.seconds:.2f} s, {row.megabytes:.0f} MB", flush=True
    )
    for finding in row.findings:
        print("   ", finding, flush=True)
    return row


def _page(kept: dict[str, dict[str, object]]) -> str:
    parts = [HEAD]
    for name, title in CAMPAIGNS.items():
        if name in kept:
            parts.append(_section(name, title, kept[name]))
    return "\n".join(parts)


def _section(name: str, title: str, found: dict[str, object]) -> str:
    rows = [Row(**row) for row in found["rows"]]  # type: ignore[attr-defined]
    lines = [
        f"## {title}",
        "",
        f"`python tests/robustness/run.py {name}`: {found['minutes']:.0f} min on {found['day']}, {found['machine']}.",
        "",
        "| | tried | ended | seconds | MB | findings |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for row in rows:
        ended = ", ".join(f"{count:,} {how}" for how, count in sorted(row.ended.items()))
        seconds, memory = f"{row.seconds:.3g}", f"{row.megabytes:.0f}" if row.megabytes else ""
        lines.append(
            f"| {row.what} | {row.tried:,} | {ended} | {seconds} | {memory} | {len(row.findings)} |"
        )
    lines += ["", f"In all {sum(row.tried for row in rows):,}.", ""]
    lines += [f"- {finding}" for row in rows for finding in row.findings]
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
