"""Facts as pages list them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StatedFact:
    """A fact and what it is about."""

    about: str
    text: str
