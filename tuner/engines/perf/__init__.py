"""HPL's time, worked out from the figures of a machine, before anything was measured."""
