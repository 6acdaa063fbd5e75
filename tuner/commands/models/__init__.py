"""Use cases around virtual clusters: calibrate, predict, reproduce."""
