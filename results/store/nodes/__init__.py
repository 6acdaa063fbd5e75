"""Checks of nodes in the store."""
