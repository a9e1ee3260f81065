"""Operators as their owners specify them, and the one vocabulary in which they are described."""
