"""What pytest loads at its start, in every project: options, and the way to the rest where one is given."""

from __future__ import annotations

from collections.abc import Generator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `pytest --grucible`."""
    group = parser.getgroup("grucible", "conformance vectors for GRU operators")
    group.addoption("--grucible", metavar="PATH", default=None, dest="grucible",
                    help="A test for each case of these vectors: a file, a directory, or core for those "
                    "that come with grucible. Without paths of your own, nothing else is run.")  # fmt: skip
    group.addoption("--grucible-runtime", metavar="NAME",
                    help="The runtime they ask: package.module:function, ./file.py:function, a name from "
                    "`grucible runtimes`, or 'exec: COMMAND'.")  # fmt: skip
    group.addoption("--grucible-select", metavar="GLOB", action="append", default=[],
                    help="Only cases whose id matches. Repeatable.")  # fmt: skip
    group.addoption("--grucible-expect", metavar="FILE",
                    help="Cases that may fail, as for `grucible check --expect`: strict xfails.")  # fmt: skip
    group.addoption("--grucible-isolated", action="store_true",
                    help="Run the runtime in a process of its own: a crash or a hang is one case's "
                    "failure. A program always is.")  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Check that the options go together; nothing but the vectors is collected where no path is given."""
    runtime = config.getoption("grucible_runtime")
    if config.getoption("grucible") is None:
        given = {"runtime": runtime, "expect": config.getoption("grucible_expect"),
                 "select": config.getoption("grucible_select"),
                 "isolated": config.getoption("grucible_isolated")}  # fmt: skip
        for name, value in given.items():
            if value:
                raise pytest.UsageError(f"--grucible-{name} goes with --grucible PATH or core")
    elif not runtime:
        raise pytest.UsageError("--grucible needs --grucible-runtime NAME, the runtime to ask")
    else:
        if config.args_source is not pytest.Config.ArgsSource.ARGS:
            config.args = []
        from .incomplete import Judged

        config.pluginmanager.register(Judged())


def pytest_report_header(config: pytest.Config) -> str | None:
    """What is asked, and of whom."""
    if config.getoption("grucible") is None:
        return None
    return (
        f"grucible: {config.getoption('grucible')}, runtime {config.getoption('grucible_runtime')}"
    )


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add the vectors to what the session collects."""
    report = yield
    if isinstance(collector, pytest.Session) and collector.config.getoption("grucible") is not None:
        from .collecting import Cases

        report.result = [*(report.result or []), Cases.of(collector)]
    return report
