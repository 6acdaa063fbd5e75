"""Shows, applies, verifies and restores the settings of the network between nodes."""
