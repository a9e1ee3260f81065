"""WHAT is tested: operators, case specs, and their expansion into cases."""
