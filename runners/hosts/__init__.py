"""Hosts of a cluster: the file that names them, the way to them, and what they say of themselves."""
