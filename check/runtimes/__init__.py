"""The runtimes grucible knows by name, one module each."""
