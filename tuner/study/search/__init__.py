"""The search of a study: scheduler, workers, and what they know of time, drift and other processes."""
