"""The report as a page to look at: one file, which opens without a network."""
