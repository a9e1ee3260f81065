"""Take the walkthrough's pictures, with Chromium installed: python tests/pictures.py."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from check.browser import browser  # noqa: E402

PICTURES = ROOT / "tests" / "walked"
CASE = "openvino.GRUSequence-5/plain/float32/bidirectional"
STATE = 'x["initial_hidden_state"][row, d]'


def main() -> None:
    """Make the report of the walkthrough's mistake, and look at it and at one case."""
    code = (ROOT / "check" / "examples" / "my_gru.py").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "my_gru.py").write_text(code.replace(STATE, STATE.replace("d]", "0]")))
        check = ("check", "--runtime", "./my_gru.py:run", "--report", "html=report.html")
        select = ("--select", "openvino.GRUSequence-5/*")
        command = [sys.executable, "-m", "grucible", *check, *select]
        subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
        with browser(folder / "profile") as tab:
            tab.look(1120, 900)
            tab.open(folder / "report.html")
            tab.picture(PICTURES / "report.png", 1120, 1500, 0.7)
            tab.open(folder / "report.html", f"#case={CASE}")
            tab.until("document.getElementById('case').open")
            tab.ask(
                "[...document.querySelectorAll('#case h3')]"
                ".find(one => one.textContent.startsWith('Where it leaves')).scrollIntoView()"
            )
            tab.picture(PICTURES / "case.png", 1120, 900, 0.7)


if __name__ == "__main__":
    main()
