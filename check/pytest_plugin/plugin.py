"""Options of `pytest --grucible`; pytest loads this in every project, so the rest is imported when needed."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from . import NAME

_DECIDED = "grucible_decided"
_OPTIONS: dict[str, dict[str, Any]] = {
    "--grucible": {"metavar": "PATH", "help": "A test for each case of these vectors: a file, a directory, "
                   "or core for those that come with grucible. Without other paths, nothing else "
                   "is run."},
    "--grucible-runtime": {"metavar": "NAME", "help": "The runtime to ask: package.module:function, "
                           "./file.py:function, a name from `grucible runtimes`, or 'exec: COMMAND'."},
    "--grucible-select": {"metavar": "GLOB", "action": "append",
                          "help": "Only cases whose id matches. Repeatable."},
    "--grucible-expect": {"metavar": "FILE", "help": "Cases that may fail, as for `grucible check --expect`: "
                          "strict xfails."},
    "--grucible-isolated": {"action": "store_true", "help": "Run the runtime in a process of its own: a "
                            "crash or a hang is one case's failure. Programs always run so."},
}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `pytest --grucible`."""
    group = parser.getgroup(NAME, "conformance vectors for GRU operators")
    for option, described in _OPTIONS.items():
        group.addoption(option, **described)


def pytest_configure(config: pytest.Config) -> None:
    """Take ids of cases for options, and what a file gives; collect nothing else where no path is given."""
    prefix = f"{NAME}::"
    ids = [arg.removeprefix(prefix) for arg in config.args if arg.startswith(prefix)]
    if ids or config.getoption("grucible"):
        _configure(config, ids)
        config.args = [arg for arg in config.args if not arg.startswith(prefix)]
    given = {name: config.getoption(name.strip("-").replace("-", "_")) for name in _OPTIONS}
    if given.pop("--grucible") is None:
        for name, value in given.items():
            if value:
                raise pytest.UsageError(f"{name} goes with --grucible PATH or core")
        return
    if not given["--grucible-runtime"]:
        raise pytest.UsageError(
            "--grucible needs --grucible-runtime NAME, the runtime to ask, or runtime in grucible.toml"
        )
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []
    config.pluginmanager.register(SessionVerdict())


def _configure(config: pytest.Config, ids: list[str]) -> None:
    """Select the cases called `ids`, if any; take from a file here what the command line does not give."""
    from ...cases.errors import GrucibleError
    from ...cases.selection import literal
    from ..cli.configuration import read_configuration

    try:
        found = read_configuration(config.invocation_params.dir)
    except GrucibleError as error:
        raise pytest.UsageError(str(error)) from None
    option, last = config.option, {key: value[0] for key, value in found.values.items()}
    option.grucible = option.grucible or "core"
    if option.grucible_runtime and "runtime" in last:
        last.pop("expect", None)  # of the file's runtime
    option.grucible_runtime = option.grucible_runtime or last.get("runtime")
    option.grucible_expect = option.grucible_expect or last.get("expect")
    option.grucible_timeout = last.get("timeout")
    ids = [literal(one) for one in ids]
    option.grucible_select = ids or found.globs(option.grucible_select or ()) or None


def pytest_report_header(config: pytest.Config) -> str | None:
    """Name the vectors and the runtime."""
    vectors = config.getoption("grucible")
    runtime = config.getoption("grucible_runtime")
    return None if vectors is None else f"grucible: {vectors}, runtime {runtime}"


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the vectors to what the session collects."""
    report = yield
    if isinstance(collector, pytest.Session) and collector.config.getoption("grucible") is not None:
        from .suite import Cases

        cases = Cases.from_parent(collector, name=NAME, nodeid=NAME)
        report.result = [*(report.result or []), cases]
    return report


class SessionVerdict:
    """The verdict of a session: status 1, as in `check`, if no deciding case passed or failed as expected."""

    def __init__(self) -> None:
        self._asked, self._decided, self._incomplete = False, False, False
        self._last: Any = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Tell the report, which xdist may make in another process, whether the case decides."""
        report = yield
        if item.nodeid.startswith(f"{NAME}::"):
            setattr(report, _DECIDED, getattr(item, "decided", False))
            self._last = item
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a case was asked, and whether it decided."""
        if report.nodeid.startswith(f"{NAME}::"):
            self._asked = True
            self._decided |= getattr(report, _DECIDED, False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """End an incomplete session with status 1 in place of 0."""
        self._incomplete = exitstatus == 0 and self._asked and not self._decided
        if self._incomplete:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any, exitstatus: int) -> None:
        """Say what explains the failures, and why the session is incomplete."""
        if self._last and exitstatus == pytest.ExitCode.TESTS_FAILED:
            for line in self._last.explain():
                terminalreporter.write_line(line)
        if self._incomplete:
            terminalreporter.write_line(
                "grucible: incomplete: no case that decides has passed: they are unsupported or skipped, "
                "or nothing decides"
            )
