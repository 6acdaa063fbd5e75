"""Figures of a study, each in a file of its own; registry.py lists them."""
