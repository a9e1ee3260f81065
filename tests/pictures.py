"""The picture of a report as HTML that stands in README: `python tests/pictures.py`, with Chromium installed.

The report is that of README's own runtime with a mistake, the one whose text report README shows.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from check.browser import BROWSER, browser  # noqa: E402
from check.readme_bugs import RECURRENT  # noqa: E402

PICTURE = ROOT / "check" / "reports" / "html" / "page.png"
WRONG = "(r * h) @ Rh.T + (rbh[0] if rbh else 0)"
WIDTH, HEIGHT, SCALE = 1120, 2300, 0.58


def main() -> None:
    """Make the report, look at it, and write the picture."""
    if BROWSER is None:
        raise SystemExit("no Chromium is installed (Debian: apt install chromium)")
    code = (
        (ROOT / "README.md").read_text(encoding="utf-8").split("```python\n")[1].partition("```")[0]
    )
    assert code.count(RECURRENT) == 1
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        here = Path(folder)
        (here / "my_gru.py").write_text(code.replace(RECURRENT, WRONG), encoding="utf-8")
        check = ("check", "--runtime", "my_gru:run", "--report", "html=page.html")
        subprocess.run(
            [sys.executable, "-m", "grucible", *check],
            cwd=here,
            check=False,
            stdout=subprocess.DEVNULL,
        )
        with browser(here / "profile") as tab:
            tab.look(WIDTH, 900)
            tab.open(here / "page.html")
            tab.ask("document.querySelector('details.text').remove()")
            tab.picture(PICTURE, WIDTH, HEIGHT, SCALE)
    print(f"{PICTURE}: {PICTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
