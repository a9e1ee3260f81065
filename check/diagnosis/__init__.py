"""Diagnosis: the fewest misreadings that explain what failed."""
