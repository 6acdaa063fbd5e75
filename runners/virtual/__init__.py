"""Virtual clusters: their description, and their input files for SimGrid."""
