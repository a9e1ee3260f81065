"""Known findings: what is expected of cases, whether it still holds, and lists of it."""
