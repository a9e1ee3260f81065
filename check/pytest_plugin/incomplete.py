"""A session of `pytest --grucible` in which no case that decides has passed, or failed as expected."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

NAME = "grucible"
"""What stands before `::` in the tests' ids, where others have a file."""
_DECIDED = "decided"
"""What says of a test, and of its report, that by then a case that decides has passed, or failed as
expected."""


class Judged:
    """Whether any case of `--grucible` that decides has passed, or failed as expected. Where none has, the
    session does not pass, as with `grucible check`."""

    def __init__(self) -> None:
        self._asked, self._decided, self.nothing = False, False, False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Give the report what is known of its test, for it may be made in another process."""
        report = yield
        setattr(report, _DECIDED, getattr(item, _DECIDED, False))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """See what became of a case, or of a block; with xdist, of those that others ran."""
        if report.nodeid.startswith(f"{NAME}::"):
            self._asked = True
            self._decided |= getattr(report, _DECIDED, False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End with 1 what would end with 0."""
        self.nothing = exitstatus == 0 and self._asked and not self._decided
        if self.nothing:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say why."""
        if self.nothing:
            terminalreporter.write_line(
                "grucible: incomplete: no case that decides has passed: they are unsupported or skipped, "
                "or nothing decides"
            )
