"""What a study found that its nodes cannot have, kept with the facts of its machine so that no session asks again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

from search_spaces.parameters.dimension import Point

from ..session import StudyContext

FACT = "cannot have "
"""Begins the name of such a fact; each has a name of its own, so that several processes can add theirs."""


@dataclass
class UnavailableParts:
    """Parameters with values that together no node can have, as trials of the study found; from any thread."""

    context: StudyContext
    study: str
    _lock: Lock = field(default_factory=Lock, init=False)
    _parts: Sequence[Point] | None = field(default=None, init=False)

    @property
    def parts(self) -> Sequence[Point]:
        """All that is known."""
        if self._parts is None:
            self._parts = unavailable_in(self.context.store.study(self.study).host)
        return self._parts

    def rule_out(self, part: Point) -> None:
        """Ask for no configuration any more that has all these values, in later sessions neither.

        Args:
            part: parameters with their values; nothing happens where there are none.
        """
        with self._lock:
            if not part or part in self.parts:
                return
            self._parts = [*self.parts, part]
            self.context.store.note_host(self.study, fact_of(part))
        self.context.say(f"{told(part)} cannot be had on these nodes: the search leaves it out from now on.")


def told(part: Point) -> str:
    """Parameters with their values, in words."""
    return " with ".join(f"{name} = {value}" for name, value in part.items())


def fact_of(part: Point) -> dict[str, object]:
    """As it is stored."""
    return {FACT + told(part): dict(part)}


def unavailable_in(facts: Mapping[str, object]) -> Sequence[Point]:
    """The parts among the facts of a study's machine."""
    return [dict(value) for name, value in facts.items() if name.startswith(FACT) and isinstance(value, dict)]
