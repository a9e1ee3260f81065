"""Talking to a program step by step, and saying what is wrong with its protocol."""
