"""Runs jobs through Slurm: a worker in one allocation takes them one after another, or each has an allocation."""
