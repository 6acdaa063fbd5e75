"""Statistics of the nodes of a cluster: which of them are not like the others, and why."""
