"""The errors a user can act on: one sentence naming the place and the remedy."""

from __future__ import annotations


class GrucibleError(Exception):
    """Something the user gave cannot be used; the message is the one line they see (exit status 2)."""


class SpecError(GrucibleError):
    """A case spec (or another YAML file of the user's) is wrong; names file, line and field."""


class VectorFileError(GrucibleError):
    """A vector or outputs file cannot be used; names the file and the place in it."""


class RuntimeNotUsable(GrucibleError):
    """The runtime asked for is not installed, does not import, or is not callable."""
