"""Launchers of ranks: pure functions from a job to the tokens of a command line."""
