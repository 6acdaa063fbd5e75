"""Published tunings beside simulated ones."""
