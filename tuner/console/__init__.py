"""The terminal: what it shows while a command works."""
