"""Sizes of a study: its pilots, the N that they pay for, and what a larger one would give."""
