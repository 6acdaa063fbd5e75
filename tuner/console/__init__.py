"""The terminal: live progress and tables."""
