"""What a stranger writes stands in our pages as a text: no table, link, picture or message comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from grucible.check.observed.source import FromRuntime
from grucible.check.profile import profile
from grucible.check.reports.profile import page_lines
from grucible.check.reports.suites import Suite, audit_lines
from grucible.check.reports.text import as_block, as_markdown
from grucible.check.runtimes.runtime import describe_runtime
from grucible.check.score import score
from grucible.vectors.hdf5 import CORE
from grucible.vectors.vector_set import open_set

HOSTILE = "`b`c |<img src=x>*[l](javascript:alert(1)) @octocat ##[error]x __a__"
SHOWN = (
    r"\`b\`c \|&lt;img src=x&gt;\*\[l\](javascript:alert(1)) `@octocat` \#\#\[error\]x \_\_a\_\_"
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (HOSTILE, SHOWN),
        ("linear_before_reset (3, 1) 1e+3", "linear_before_reset (3, 1) 1e+3"),
        ("_a_ a_b_ é_é", r"\_a\_ a_b\_ é_é"),
        ("a\n# b", r"a\\n\# b"),
        ("##[error]@a", r"`##\x5berror]@a`"),
        ("see https://a.b, GH-1", "see `https://a.b,` `GH-1`"),
    ],
)
def test_a_text_is_shown_as_it_is(text: str, shown: str) -> None:
    assert as_markdown(text) == shown


def test_a_block_ends_where_its_text_does() -> None:
    assert as_block("a\n```\n##[error]") == "````text\na\n```\n##\\x5berror]\n````"


def test_a_page_of_profiles_shows_what_a_program_says() -> None:
    def fails(_: object) -> None:
        raise ValueError(HOSTILE)

    runtime = describe_runtime(HOSTILE, fails)
    page = "\n".join(
        page_lines(
            [profile(FromRuntime(runtime), None, ("openvino.GRUCell-3/plain/float32/lbr",))],
            "grucible profile --select 'a\n# b'",
        )
    )
    assert f"| {SHOWN} |" in page
    assert "<img" not in page
    assert "\n# b" not in page
    assert all("[l]" not in line for line in page.splitlines())


def test_a_page_of_suites_shows_what_their_files_are_called() -> None:
    found = score(open_set(CORE / "openvino/gru_cell/plain.h5"), "bias-ignored")
    suite = Suite(Path("a|<img src=x> [l](b).h5"), None, found, None)
    table = [line for line in audit_lines([suite], "grucible audit") if line[:1] == "|"]
    assert sum(r"| a\|&lt;img src=x&gt; \[l\](b) |" in row for row in table) == 2
    assert not any("<img" in row for row in table)
