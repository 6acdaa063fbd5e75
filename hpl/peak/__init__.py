"""Rpeak: cores, clock and operations per cycle."""
