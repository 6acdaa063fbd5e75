"""Statistics of trials: rankings, noise, drift, confidence."""
