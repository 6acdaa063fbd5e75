"""High Performance Linpack in its own words: input, sizes, BLAS libraries, building, output."""
