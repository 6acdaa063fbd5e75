"""Use cases that read or change stored studies."""
