"""How HPL scales over the nodes of a cluster or the cores of a machine."""
