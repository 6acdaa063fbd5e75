"""Studies for other programs: CSV, JSON lines, HPL.dat, pandas."""
