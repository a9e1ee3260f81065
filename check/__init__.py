"""WHO agrees: runtimes, comparison, verdict and reports."""
