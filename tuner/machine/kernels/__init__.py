"""BLAS kernels timed on the nodes of a cluster, once for each kind of CPU."""
