"""HPL's programs: source, compilers, MPI, and one xhpl for each BLAS."""
