"""Reads, changes and restores the settings of hosts around a study, and tells search spaces of them."""
