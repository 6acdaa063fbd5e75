"""Names what limits the scaling: the part of the time in which most is lost."""

from collections.abc import Sequence
from dataclasses import dataclass

from .efficiency import CountResult
from .overhead import Overhead
from .runs import RunGroup, alike

LITTLE = 0.05
"""A loss up to this part is no limit."""


@dataclass(frozen=True)
class Limit:
    """What limits one kind of scaling at its largest number of nodes.

    Attributes:
        result: the efficiency there.
        part: name of the part of the time in which most is lost; None if little is lost, or HPL timed nothing.
        lost: part of the time that is lost in it.
        share: part of the time that it takes.
    """

    result: CountResult
    part: str | None = None
    lost: float = 0.0
    share: float = 0.0

    @property
    def little(self) -> bool:
        """Whether nearly nothing is lost."""
        return 1 - self.result.efficiency <= LITTLE

    @property
    def surely_little(self) -> bool:
        """Whether nearly nothing is lost wherever in its interval the efficiency is."""
        return 1 - min(self.result.interval or (self.result.efficiency,)) <= LITTLE

    @property
    def perhaps_nothing(self) -> bool:
        """Whether the interval leaves open that nothing is lost."""
        return max(self.result.interval or (self.result.efficiency,)) >= 1


def limit_of(group: RunGroup, results: Sequence[CountResult], overheads: Sequence[Overhead]) -> Limit:
    """Find what limits a group at its largest number of nodes."""
    result = next(one for one in results if alike(one, group) and one.count == group.largest)
    limit = Limit(result)
    found = next((one for one in overheads if alike(one, group) and one.count == group.largest), None)
    if limit.surely_little or limit.perhaps_nothing or found is None:
        return limit
    part = max(found.lost, key=lambda name: found.lost[name])
    return Limit(result, part, found.lost[part], found.shares[part])
