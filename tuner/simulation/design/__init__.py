"""Designs of clusters that do not exist yet."""
