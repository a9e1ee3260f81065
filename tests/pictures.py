"""Take the walkthrough's pictures, with Chromium installed: python tests/pictures.py."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from check.browser import take_picture  # noqa: E402

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
        report = folder / "report.html"
        take_picture(report, PICTURES / "report.png", size="1120,1500")
        take_picture(report, PICTURES / "case.png", f"#case={CASE}", "1120,1900")


if __name__ == "__main__":
    main()
