"""The search of a study: its one loop, its trials, and what they know of time, drift and other processes."""
