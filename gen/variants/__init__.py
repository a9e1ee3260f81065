"""Variants of the GRU: what else a specification may be read, or misread, to say, and what a kernel may do instead."""
