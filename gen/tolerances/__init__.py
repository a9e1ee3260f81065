"""Tolerances, derived: how far each element of a correct implementation may be off."""
