"""Hosts of a cluster: the file that names them, the connection to them, and their facts."""
