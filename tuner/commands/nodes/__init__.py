"""What is done with the nodes of a cluster."""
