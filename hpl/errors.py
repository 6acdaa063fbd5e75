"""The base of every error that `hpl` raises on purpose."""


class HplError(Exception):
    """An error in HPL, its input or its libraries; the message is the sentence for the user."""
