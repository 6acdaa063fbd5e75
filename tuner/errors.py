"""Errors of the command line, of plans and of engines."""


class TunerError(Exception):
    """What is wrong, as one sentence for the user."""


class UsageError(TunerError):
    """What the user wrote cannot be used: an option's value, options that exclude each other, or a file."""
