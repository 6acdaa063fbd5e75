"""Where and how an MPI program is started, watched and ended. Knows nothing of HPL."""
