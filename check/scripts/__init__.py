"""Reproducers: scripts that ask one runtime one case, without grucible."""
