"""Errors of search spaces."""


class SpaceError(Exception):
    """What is wrong with a space or a point, as one sentence for the user."""
