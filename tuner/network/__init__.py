"""Reads, changes and restores the network settings of hosts around a study."""
