"""A real machine or cluster as a virtual one, and how far the simulation is off."""
