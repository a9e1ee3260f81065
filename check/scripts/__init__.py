"""Reproducers: scripts that ask one case of one runtime, without grucible."""
