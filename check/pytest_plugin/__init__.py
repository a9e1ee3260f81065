"""A plugin of pytest: a test for each case, without a test file or in one's own suite."""
