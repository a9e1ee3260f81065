"""The runtimes that grucible knows by name."""
