"""Starts, watches and ends MPI programs, on this machine and on others. Knows nothing of HPL."""
