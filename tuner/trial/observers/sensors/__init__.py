"""What measures clock, heat and energy of nodes during a run: the contract, its registry, and the sensors."""

SENSORS, SENSORS_FILE = "HPLTUNE_SENSORS", "sensors"
"""Variable that tells `native/node.c` which file of a run lists the files that it reads once a second, and its name."""
