"""The exact answer, rounded once, proven."""
