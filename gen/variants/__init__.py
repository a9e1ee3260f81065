"""Semantic variants of the GRU: what else a specification may be read, or misread, to say."""
