"""Shows, applies, verifies and restores settings of hosts; those of networks are the first."""
