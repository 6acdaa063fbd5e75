"""The base of every error that `hpl` raises on purpose."""


class HplError(Exception):
    """Something about HPL, its input or its libraries is wrong; the message is the sentence for the user."""
