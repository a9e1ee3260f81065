"""A plugin of pytest: a test for each case, without a test file or in one's own suite."""

NAME = "grucible"
"""The beginning of the ids of tests without a test file, where others have a file."""
