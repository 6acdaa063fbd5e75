"""Finds out what is here: CPUs, memory, MPI and BLAS of a machine, the nodes of a cluster, and what follows."""
