"""A session of `pytest --grucible` in which no case was judged."""

from __future__ import annotations

from typing import Any

import pytest

NAME = "grucible"
"""What stands before `::` in the tests' ids, where others have a file."""


class Judged:
    """Whether any case of `--grucible` was judged. Where all are unsupported, the session does not pass, as
    with `grucible check`."""

    def __init__(self) -> None:
        self._unsupported, self._others, self.nothing = 0, 0, False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what became of a case, or of a block; with xdist, of those that others ran."""
        if report.nodeid.startswith(f"{NAME}::") and report.when == "call":
            unsupported = report.skipped and not hasattr(report, "wasxfail")
            self._unsupported += unsupported
            self._others += not unsupported

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End with 1 what would end with 0."""
        self.nothing = exitstatus == 0 and self._unsupported > 0 and not self._others
        if self.nothing:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say why."""
        if self.nothing:
            terminalreporter.write_line(
                "grucible: incomplete: no case was judged, for all that were asked are unsupported"
            )
