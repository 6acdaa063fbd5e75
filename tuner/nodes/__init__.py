"""Whether the nodes of a cluster are ready: facts and benchmarks of each, and rates between them."""
