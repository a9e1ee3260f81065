"""Variants of the GRU: other readings of a specification, misreadings, and what a kernel may do instead."""
