"""Exports studies for other programs: CSV, JSON lines, HPL.dat, pandas."""
