"""Errors of search spaces."""


class SpaceError(Exception):
    """An error in a space or a point; the message is one sentence for the user."""
