"""Runs the program of each rank inside an image."""
