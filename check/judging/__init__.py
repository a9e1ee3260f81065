"""Judging: observed outputs against the answers, element by element, and what was found."""
