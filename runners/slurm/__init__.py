"""Runs jobs through Slurm: a worker inside an allocation takes them one after another, or one allocation for each."""
