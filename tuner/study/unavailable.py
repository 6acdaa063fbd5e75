"""What a study found that its nodes cannot have, kept with the facts of its machine so that no sitting asks again."""

from collections.abc import Mapping, Sequence

from search_spaces.dimension import Point

FACT = "cannot have "
"""Begins the name of such a fact; each has a name of its own, so that several processes can add theirs."""


def told(part: Point) -> str:
    """Parameters with their values, in words."""
    return " with ".join(f"{name} = {value}" for name, value in part.items())


def fact_of(part: Point) -> dict[str, object]:
    """As it is stored."""
    return {FACT + told(part): dict(part)}


def unavailable_in(facts: Mapping[str, object]) -> Sequence[Point]:
    """The parts among the facts of a study's machine."""
    return [dict(value) for name, value in facts.items() if name.startswith(FACT) and isinstance(value, dict)]
