"""Whether the nodes of a cluster are ready: facts and benchmarks of each, rates between them, verdict and report."""
