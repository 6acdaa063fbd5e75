"""Runs of HPL on groups of nodes, and which nodes are common to bad ones."""
