"""What a theme and a case's id may be: `<operator>/<theme>/<dtype>/<what>`, printable, with no space last."""

from __future__ import annotations

from .question import INVALID


def why_no_theme(name: str) -> str:
    """What is wrong with the name of a theme whose cases have answers; "" where nothing is.

    A theme is also the name of a file, which must not be hidden.
    """
    if name == INVALID:
        return f"the theme is {INVALID!r}, that of questions without answers; expected another"
    if name.isprintable() and "/" not in name and name[:1] not in ("", "."):
        return ""
    return (
        f"the theme is {name!r}; expected a name of printable text, without / and with no dot first"
    )


def why_no_id(case_id: str, operator: str, theme: str, dtype: str) -> str:
    """What is wrong with an id, of a case of this operator, theme and dtype; "" where nothing is."""
    prefix = f"{operator}/{theme}/{dtype}/"
    if not case_id.startswith(prefix):
        return f"does not begin with {prefix}"
    if not case_id.isprintable():
        return "is not printable text"
    return "ends with a space" if case_id.endswith(" ") else ""


def names_invalid(glob: str) -> bool:
    """Whether an id, or a glob of ids, names the theme of invalid questions."""
    return f"/{INVALID}/" in glob
