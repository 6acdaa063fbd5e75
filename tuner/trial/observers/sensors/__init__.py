"""What measures clock, heat and energy of nodes during a run: the contract, its registry, and the sensors."""
