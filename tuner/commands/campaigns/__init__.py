"""Use cases that run HPL or simulate it: tune and run."""
