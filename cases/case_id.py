"""What a case's id may be: `<operator>/<theme>/<dtype>/<what>`, printable text that ends with no space."""

from __future__ import annotations


def is_theme(name: str) -> bool:
    """Whether cases can have a theme of this name: it is the name of a file, too, and of no hidden one."""
    return name.isprintable() and "/" not in name and name[:1] not in ("", ".")


def why_no_id(case_id: str, operator: str, theme: str, dtype: str) -> str:
    """What is wrong with an id, of a case of this operator, theme and dtype; "" where nothing is."""
    prefix = f"{operator}/{theme}/{dtype}/"
    if not case_id.startswith(prefix):
        return f"does not begin with {prefix}"
    if not case_id.isprintable():
        return "is not printable text"
    return "ends with a space" if case_id.endswith(" ") else ""
