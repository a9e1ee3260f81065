"""A plugin of pytest: a test for each case, without a test file or in the user's own suite."""

NAME = "grucible"
"""The beginning of the ids of tests that have no test file; other ids begin with the file."""
