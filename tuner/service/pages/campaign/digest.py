"""What the page of a campaign knows of all its trials: each is read once, however often the page is shown."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappush, heappushpop

from results.metrics import rate_text
from results.record import TrialState
from results.store.study_list import RateRow, StudyLists

from ....study.names import COUNTED
from ....words import counted

MOST_POINTS, MOST_FASTEST = 400, 100
"""Full runs that are drawn, and those of the list that are the fastest."""
_COUNTED = frozenset(kind.value for kind in COUNTED)


@dataclass(frozen=True)
class Improvement:
    """A full run that was faster than all before it.

    Attributes:
        machine_s: seconds of all trials until then.
    """

    number: int
    gflops: float
    machine_s: float


@dataclass
class CampaignTotals:
    """The trials of one campaign, added up.

    Attributes:
        begun: number of the last one that is known.
        running: numbers of those that ran at the last look.
        counted: those that a budget of trials counts.
        full: how many full runs count.
        drawn: seconds of all trials until each full run that is drawn, by its number; of many each so many-th.
        improvements: the first full run and each faster one, in the order in which they were read.
        fastest: rates and numbers of the fastest full runs, the slowest of them first.
    """

    begun: int = 0
    running: set[int] = field(default_factory=set)
    ended: int = 0
    failed: int = 0
    counted: int = 0
    machine_s: float = 0.0
    full: int = 0
    drawn: dict[int, float] = field(default_factory=dict)
    improvements: list[Improvement] = field(default_factory=list)
    fastest: list[tuple[float, int]] = field(default_factory=list)
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
        if not self.improvements or row.gflops > self.improvements[-1].gflops:
            self.improvements.append(Improvement(row.number, row.gflops, self.machine_s))
        if self.full % self._each == 0:
            self.drawn[row.number] = self.machine_s
        if len(self.drawn) > MOST_POINTS:
            self.drawn = dict([*self.drawn.items()][1::2])
            self._each *= 2
        push = heappush if len(self.fastest) < MOST_FASTEST else heappushpop
        push(self.fastest, (row.gflops, row.number))

    @property
    def all_failed(self) -> bool:
        """Whether trials have ended, and none of them well."""
        return self.ended == self.failed > 0

    @property
    def points(self) -> dict[int, float]:
        """What `drawn` has, with all that were faster than those before them."""
        return {**self.drawn, **{one.number: one.machine_s for one in self.improvements}}

    def listed(self, newest: int) -> list[int]:
        """Numbers of the trials of the list: the newest, and the fastest of the others below them."""
        first = range(self.begun, max(0, self.begun - newest), -1)
        return [*first, *sorted({number for _, number in self.fastest} - {*first}, reverse=True)]


WIDE, HIGH, AIR = 100, 30, 3
"""Of the small picture of a growth, and what is free above and below its line."""


GrownRate = tuple[str, str]
"""The path of a line in SVG, with machine time from 0 to `WIDE` and the rate from `HIGH` up to 0; and all in words."""


def growth_of(totals: CampaignTotals) -> GrownRate | None:
    """Draw how the best rate grew; None before the first full run."""
    steps = totals.improvements
    if not steps:
        return None
    low, high, whole_s = steps[0].gflops, steps[-1].gflops, totals.machine_s or 1.0
    corners = list[str]()
    for step in steps:
        x = round(WIDE * step.machine_s / whole_s, 1) if corners else 0
        part = (step.gflops - low) / (high - low) if high > low else 0.5
        corners += [f"H{x}", f"V{round(HIGH - AIR - (HIGH - 2 * AIR) * part, 1)}"]
    line = f"M0 {corners[1][1:]}{''.join(corners[2:])}H{WIDE}"
    grew = f"grew from {rate_text(low)} to {rate_text(high)}" if high > low else f"stayed at {rate_text(high)}"
    return line, f"The best rate {grew} GFLOPS in {counted(totals.ended, 'trial')}."
