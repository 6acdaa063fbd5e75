"""Use cases: one module for each command."""
