"""A page in Chromium without a window: what it shows when its program has run.

Debian's package is called `chromium`. Where no browser is installed, tests that need one are skipped.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from pathlib import Path

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def browse(page: Path, fragment: str, *options: str) -> str:
    """What Chromium prints of a page; an error that the page throws is an AssertionError."""
    assert BROWSER
    ended = subprocess.run(
        [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--virtual-time-budget=4000", "--enable-logging=stderr", *options,
         f"{page.absolute().as_uri()}{fragment}"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    faults = [line for line in ended.stderr.splitlines() if "CONSOLE" in line]
    assert not faults
    return ended.stdout


class Shown:
    """The elements of a page, at an address, after its program has run."""

    def __init__(self, page: Path, fragment: str = "", *options: str) -> None:
        self.text = browse(page, fragment, "--dump-dom", *options)

    def all(self, pattern: str) -> list[str]:
        """The texts of a group of a regular expression, without elements in them."""
        return [
            html.unescape(re.sub(r"<[^>]*>", "", found))
            for found in re.findall(pattern, self.text, re.DOTALL)
        ]

    @property
    def count(self) -> int:
        """How many cases the filters leave."""
        [text] = self.all(r'id="count"[^>]*>(.*?)</output>')
        return int(text.partition(" of ")[0].replace(",", "").removesuffix(" cases"))

    @property
    def ids(self) -> list[str]:
        """The ids in the list."""
        return self.all(r'<div role="gridcell" class="id"[^>]*>(.*?)</div>')

    @property
    def case(self) -> str:
        """The dialog of a case, "" where it is closed."""
        found = re.findall(
            r'<dialog id="case"[^>]* open=[^>]*>(.*?)</dialog>', self.text, re.DOTALL
        )
        return found[0] if found else ""
