"""Installs what is missing: through the system's package manager as root, into a private prefix otherwise."""
