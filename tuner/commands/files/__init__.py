"""Use cases around files: HPL.dat and search spaces."""
