"""Vectors in other formats: exports, and reading questions from them."""
