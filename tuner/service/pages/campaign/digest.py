"""What the page of a campaign knows of all its trials: each is read once, however often the page is shown."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappush, heappushpop

from results.record import TrialState
from results.store.study_list import RateRow, StudyLists

from ....study.names import COUNTED

MOST_POINTS, MOST_FASTEST = 400, 100
"""Full runs that are drawn, and those of the list that are the fastest."""
_COUNTED = frozenset(kind.value for kind in COUNTED)


@dataclass
class CampaignTotals:
    """The trials of one campaign, added up.

    Attributes:
        begun: number of the last one that is known.
        running: numbers of those that ran at the last look.
        counted: those that a budget of trials counts.
        full: how many full runs count.
        drawn: numbers of full runs that are drawn, in the order in which they were read; of many each so many-th.
        improvements: numbers of the first full run, and of each faster one.
        spent_s: seconds of all trials until each of these, by its number.
        fastest: rates and numbers of the fastest full runs, the slowest of them first.
    """

    begun: int = 0
    running: set[int] = field(default_factory=set)
    ended: int = 0
    failed: int = 0
    counted: int = 0
    machine_s: float = 0.0
    full: int = 0
    drawn: list[int] = field(default_factory=list)
    improvements: list[int] = field(default_factory=list)
    spent_s: dict[int, float] = field(default_factory=dict)
    fastest: list[tuple[float, int]] = field(default_factory=list)
    _best: float = 0.0
    _each: int = 1

    def read(self, lists: StudyLists, campaign: str) -> bool:
        """Read what is new; tell whether there was anything."""
        return self.take(lists.rates(campaign, self.begun, self.running))

    def take(self, rows: Iterable[RateRow]) -> bool:
        """Add trials, and the ends of those that ran; tell whether there was anything new."""
        news = False
        for row in rows:
            known = row.number <= self.begun
            self.begun = max(self.begun, row.number)
            if row.state == TrialState.RUNNING:
                self.running.add(row.number)
                news |= not known
                continue
            self.running.discard(row.number)
            self._add(row)
            news = True
        return news

    def _add(self, row: RateRow) -> None:
        self.ended += 1
        self.failed += row.state == TrialState.FAILED
        self.counted += row.kind in _COUNTED and row.seen_to_end and row.state != TrialState.CANCELLED
        self.machine_s += row.cost_s
        if not row.full or row.gflops is None:
            return
        self.full += 1
        if row.gflops > self._best:
            self._best = row.gflops
            self.improvements.append(row.number)
        if self.full % self._each == 0:
            self.drawn.append(row.number)
        self.spent_s[row.number] = self.machine_s
        if len(self.drawn) > MOST_POINTS:
            del self.drawn[::2]
            self._each *= 2
            self.spent_s = {number: self.spent_s[number] for number in self.points}
        push = heappush if len(self.fastest) < MOST_FASTEST else heappushpop
        push(self.fastest, (row.gflops, row.number))

    @property
    def all_failed(self) -> bool:
        """Whether trials have ended, and none of them well."""
        return self.ended == self.failed > 0

    @property
    def points(self) -> set[int]:
        """Numbers of the full runs that are drawn, with all that were faster than those before them."""
        return {*self.drawn, *self.improvements}

    def listed(self, newest: int) -> list[int]:
        """Numbers of the trials of the list: the newest, and the fastest of the others below them."""
        first = range(self.begun, max(0, self.begun - newest), -1)
        return [*first, *sorted({number for _, number in self.fastest} - {*first}, reverse=True)]
