"""Holds nodes of Slurm for a while, and runs commands on each of them."""
