"""Engines to compare with: grid, random, one at a time, TPE, Optuna's own."""
