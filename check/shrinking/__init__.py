"""Smaller questions that fail the same way."""
