"""Errors of the command line, of plans and of engines."""


class TunerError(Exception):
    """What is wrong, as one sentence for the user."""
