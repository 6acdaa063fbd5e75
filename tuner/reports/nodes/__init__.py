"""Reports of whether the nodes of a cluster are ready."""
